"""Who takes part: every mechanism of the registry, rivals, references, and methods of a reader's own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from discreet.accounting.privacy_maps import MOMENTS
from discreet.errors import SpecError
from discreet.mechanisms.registry import AUTO, HOMES, mechanism_named
from discreet.papers.methods import Regressor, reader_method, reader_model
from discreet.papers.rivals.registry import RIVALS

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

REFERENCE: Final = "ols"
BASELINE: Final = "adassp-published"
# for few columns, and slow with many; by name it takes part
_ON_REQUEST: Final = ("dpme", "ridge")
# of a mechanism of moments that is named alone
_MOMENTS_PENALTY: Final = "adaptive"
# penalties whose strength is then chosen from the release
_WITH_STRENGTH: Final = ("ridge", "lasso", "elastic-net")


def default_methods() -> tuple[str, ...]:
    """Every method that uses delta, and so is at its best under the protocol; references and rivals first.

    >>> {"ols", "tukey-em", "gaussian"} <= set(default_methods())
    True
    """
    ours = [name for name in HOMES if mechanism_named(name).info.notion != "pure"]
    return tuple(name for name in (*RIVALS, *ours) if name not in _ON_REQUEST)


def all_methods() -> tuple[dict[str, str], ...]:
    """Every method by name: kind, and what it is."""
    found = [{"name": name, "kind": one.kind, "about": one.about} for name, one in RIVALS.items()]
    found.append({"name": AUTO, "kind": "mechanism", "about": "what PrivateLinearRegression takes unless given"})
    found += [{"name": name, "kind": "mechanism", "about": mechanism_named(name).info.summary} for name in HOMES]
    return tuple(found)


def kind_of(method: str) -> str:
    """Whether a name is a `mechanism`, a `rival`, a `reference`, or the reader's `own`.

    >>> kind_of("ols"), kind_of("gaussian/ridge"), kind_of("module:factory")
    ('reference', 'mechanism', 'own')
    """
    if ":" in method:
        return "own"
    return RIVALS[method].kind if method in RIVALS else "mechanism"


def check_methods(methods: Sequence[str]) -> None:
    """Refuse a name that nobody has, before any work."""
    for method in methods:
        if not isinstance(method, str):
            raise SpecError(f"expected names of methods, got one of type {type(method).__name__}")
        if kind_of(method) == "own":
            reader_method(method)
        elif method not in RIVALS and method.partition("/")[0] not in (AUTO, *HOMES):
            raise SpecError.unknown_name("method", method, (*RIVALS, AUTO, *HOMES, "module:factory"))


def trained(
    method: str,
    x: FloatArray,
    y: FloatArray,
    *,
    epsilon: float,
    delta: float,
    bounds: list[tuple[float, float]],
    target_bounds: tuple[float, float],
    seed: int,
) -> Regressor:
    """A method trained on rows under a budget; mechanisms through the public estimator, whose noise has no seed."""
    if method in RIVALS:
        made = RIVALS[method].load()
        rival = made(epsilon=epsilon, delta=delta, bounds=bounds, target_bounds=target_bounds, seed=seed)
        return rival.fit(x, y)
    if kind_of(method) == "own":
        return reader_model(method, x, y, epsilon=epsilon, delta=delta, bounds=bounds, target_bounds=target_bounds)
    from discreet.estimator import PrivateLinearRegression

    name, _, penalty = method.partition("/")
    # Any: keywords of an estimator have many types
    given: dict[str, Any] = {"penalty": penalty} if penalty else {}
    if not penalty and name in MOMENTS:
        given["penalty"] = _MOMENTS_PENALTY
    if penalty in _WITH_STRENGTH:
        given["strength"] = "criterion"
    lows, highs = np.array(bounds).T
    model = PrivateLinearRegression(
        epsilon=epsilon, delta=delta, bounds=(lows, highs), target_bounds=target_bounds, mechanism=name,
        allow_weak_privacy=True, **given,
    )  # fmt: skip
    with warnings.catch_warnings():
        # notices about budgets are for people whose data needs one
        warnings.simplefilter("ignore")
        return cast("Regressor", model.fit(x, y))
