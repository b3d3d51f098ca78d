"""Which mechanisms are audited, with which public settings and extra parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Final, Literal

from discreet.design.columns import Numeric
from discreet.design.model import Design
from discreet.design.submodels import formula_name
from discreet.mechanisms.registry import HOMES, mechanism_named


@dataclass(frozen=True)
class MechanismEntry:
    """A mechanism with public settings.

    Attributes
    ----------
    name
        Name of the entry.
    mechanism
        Name of the mechanism.
    delta
        Of its claim.
    settings
        Public settings; those that make a draw cheap leave the code that runs the same.
    moments, clip_counts, guard
        As in `discreet.release`: further parts that are published beside the moments.
    further
        Whether models beside the full one have sums over residuals too.
    scaling
        As in `discreet.release`.
    weights
        Whether rows have weights, in a column beside those of the design.
    estimator
        Whether the whole path is that of `discreet.PrivateLinearRegression`.
    most_draws
        For each table, where a draw takes milliseconds.
    """

    name: str
    mechanism: str
    delta: float
    settings: Mapping[str, object] = field(default_factory=dict)
    moments: Literal["plain", "robust"] = "plain"
    further: bool = False
    clip_counts: bool = False
    guard: bool = False
    scaling: Literal["declared", "private"] = "declared"
    weights: bool = False
    estimator: bool = False
    most_draws: int = 10_000

    def of(self, design: Design) -> Design:
        """The design that is audited: with weights where the entry has them.

        >>> mechanism_entries()["gaussian weights"].of(Design("y", {"y": (0, 1), "x": (0, 1)})).weights
        'weight'
        """
        if not self.weights or design.weights is not None:
            return design
        columns = {**design.columns, _WEIGHT: Numeric(_WEIGHTS)}
        return Design(design.target, columns, design.intercept, design.radius, design.unit, weights=_WEIGHT)

    def robust_models(self, design: Design) -> list[str] | None:
        """Models beside the full one: without features, and with the first of several.

        >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "b": bool})
        >>> mechanism_entries()["gaussian robust models"].robust_models(design)
        ['y ~ 1', 'y ~ x']
        """
        if not self.further:
            return None
        first, *others = design.regressors
        target = formula_name(design.target)
        return [f"{target} ~ 1", *([f"{target} ~ {formula_name(first)}"] if others else [])]

    def serves(self, design: Design) -> bool:
        """Whether the entry takes a design of this shape: a ball, or columns that are all booleans.

        >>> mechanism_entries()["dpme"].serves(Design("y", {"y": (0, 1), "x": (0, 1)}, radius=0.5))
        False
        """
        if design.radius is not None and mechanism_named(self.mechanism).info.domain == "box":
            return False
        if self.scaling == "private" and (design.radius is not None or not design.intercept):
            return False
        if self.estimator and not (design.radius is None and isinstance(design.columns[design.target], Numeric)):
            return False
        return bool(design.clippable) or not self.clip_counts


def mechanism_entries() -> dict[str, MechanismEntry]:
    """Every registered mechanism by name, then other noise and further parts; the estimator where it is installed.

    >>> mechanism_entries()["gradient"].settings, mechanism_entries()["gaussian robust"].moments
    ({'iterations': 3}, 'robust')
    """
    entries = []
    for name in HOMES:
        delta = _DELTA if mechanism_named(name).info.notion == "approximate" else 0.0
        draws = _MOST_DRAWS.get(name, MechanismEntry.most_draws)
        entries.append(MechanismEntry(name, name, delta, _SETTINGS.get(name, {}), most_draws=draws))
    entries += _VARIANTS
    if find_spec("sklearn") is not None:
        entries.append(_ESTIMATOR)
    return {entry.name: entry for entry in entries}


_DELTA: Final = 1e-6
_WEIGHT: Final = "weight"
_WEIGHTS: Final = (0.0, 3.0)
_SETTINGS: Final[Mapping[str, Mapping[str, object]]] = {
    "wishart": {"degrees": 200},
    "dpme": {"bins": 2},
    "frank-wolfe": {"iterations": 3},
    "irls": {"iterations": 3},
    "gradient": {"iterations": 3},
}
# many passes, which no setting makes fewer
_MOST_DRAWS: Final[Mapping[str, int]] = {"refined": 500, "objective": 6000, "frank-wolfe": 6000}
_BY_MOMENTS: Final = {"iterations": 3, "form": "moment"}
_VARIANTS: Final = (
    MechanismEntry("dpme gaussian", "dpme", _DELTA, {"bins": 2, "noise": "gaussian"}),
    MechanismEntry("irls gaussian", "irls", _DELTA, {"iterations": 3}, most_draws=5000),
    MechanismEntry("irls moment", "irls", _DELTA, _BY_MOMENTS, most_draws=2000),
    MechanismEntry(
        "irls wishart", "irls", _DELTA, {**_BY_MOMENTS, "iterations": 1, "noise": "wishart"}, most_draws=500
    ),
    MechanismEntry("gaussian robust", "gaussian", _DELTA, moments="robust", most_draws=2000),
    MechanismEntry("gaussian robust models", "gaussian", _DELTA, moments="robust", further=True, most_draws=200),
    MechanismEntry("gaussian clip counts", "gaussian", _DELTA, clip_counts=True, most_draws=5000),
    MechanismEntry("laplace clip counts", "laplace", 0.0, clip_counts=True, most_draws=5000),
    MechanismEntry("gaussian guard", "gaussian", _DELTA, guard=True, most_draws=5000),
    MechanismEntry("gaussian scaled", "gaussian", _DELTA, scaling="private", most_draws=500),
    MechanismEntry("laplace guard", "laplace", 0.0, guard=True, most_draws=5000),
    MechanismEntry("gaussian weights", "gaussian", _DELTA, weights=True, most_draws=2000),
)
_ESTIMATOR: Final = MechanismEntry("gaussian estimator", "gaussian", _DELTA, estimator=True, most_draws=2000)
