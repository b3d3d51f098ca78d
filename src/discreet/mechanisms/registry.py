"""Look up mechanisms by name, choose one for `auto`, and list them all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from types import MappingProxyType
from typing import Final, cast, get_args

import numpy as np

from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.settings import MECHANISMS, Setting, checked_settings
from discreet.design.design import SAMPLING, Design
from discreet.design.domain import RowDomain
from discreet.design.model_columns import declared_models
from discreet.errors import GridTooFineError, SpecError, UnsupportedError
from discreet.mechanisms.gaussian import GaussianMoments
from discreet.mechanisms.protocol import Mechanism
from discreet.options import (
    AUTO,
    DEFAULT_MECHANISM,
    DEFAULT_OPTIONS,
    MIN_GRID_BITS,
    ONE_PASS,
    ReleaseOptions,
    RobustErrors,
)
from discreet.privacy.budget import Neighbours, PrivacyBudget, PrivacyUnit
from discreet.wording import LeaveOut, Message, Option

# -- registry ----------------------------------------------------------------------------------------------------------
# All mechanisms by name. Their modules are imported on first use.

# names of all mechanisms; the module of that name defines `MECHANISM`
HOMES: Final = tuple(MECHANISMS)

# published methods that are not offered, with the reason and an alternative
NOT_OFFERED: Final[Mapping[str, str]] = MappingProxyType({
    "posterior": "the mechanism 'posterior' is not offered, because no fast and exact sampler is known for a posterior "
    "inside a ball, and without the ball it is noisier than 'objective'; use 'objective' with loss = 'squared', or "
    "'gaussian'",
})  # fmt: skip


def mechanism_named(name: str) -> Mechanism:
    """Return the mechanism with this name, without importing others.

    >>> mechanism_named("gaussian").kind
    'moments'
    """
    if isinstance(name, str) and name.casefold() in NOT_OFFERED:
        raise SpecError(NOT_OFFERED[name.casefold()])
    if not isinstance(name, str) or name not in HOMES:
        raise SpecError.unknown_name("mechanism", name, ("auto", *HOMES), option="mechanism")
    return cast("Mechanism", import_module(f"discreet.mechanisms.{name.replace('-', '_')}").MECHANISM)


def mechanisms() -> Mapping[str, Mechanism]:
    """Return all mechanisms by name."""
    return {name: mechanism_named(name) for name in HOMES}


# -- choice ------------------------------------------------------------------------------------------------------------
# The choice of `auto`, from public quantities only.

# best for predictions if bounds are wider than the data; publishes a single model
_PREDICTS: Final = "refined"
# general-purpose mechanisms under pure DP
_PURE: Final = ("laplace", "k-norm")
# mechanisms with a specific error about delta = 0
_SAY_WHY: Final = ("wishart",)


def chosen_mechanism(
    design: Design, budget: PrivacyBudget, options: ReleaseOptions = DEFAULT_OPTIONS
) -> tuple[Mechanism, Settings, NoiseDistribution]:
    """Return the mechanism for these options with its settings and noise.

    With delta, `auto` selects `staged`, or `gaussian` where `staged` does not support an option or the design. Without
    delta it selects the least predicted error. Only `gaussian` supports weights, and only `gaussian` and `staged`
    support robust standard errors. Clip counts need a mechanism whose `MechanismInfo` has `clip_counts`.
    """
    name, settings, domain = options.mechanism, options.settings, RowDomain.of(design, options.grid_bits)
    if not isinstance(name, str):
        raise SpecError.unknown_name("mechanism", name, (AUTO, *HOMES), option="mechanism")
    robust = options.robust_errors is not None
    models = () if options.robust_errors is None else declared_models(design, options.robust_errors.models)
    if design.weights is not None:
        _check_weighted(design, budget, options)
        return _prepared(GaussianMoments(robust=robust, models=models), design, domain, budget, settings)
    if robust:
        if name not in (AUTO, "gaussian", "staged"):
            raise SpecError(f"robust standard errors need the mechanism 'gaussian' or 'staged', got {name!r}")
        if _without_delta(budget):
            raise SpecError("robust standard errors need delta above 0, for instance delta = 1e-6; got delta = 0")
        if name == "gaussian" or (name == AUTO and not _staged_is_robust(design, options)):
            return _prepared(GaussianMoments(True, options.clip_counts, models), design, domain, budget, settings)
        return _prepared(_robust_staged(design, budget, options), design, domain, budget, settings)
    if options.clip_counts:
        return _prepared(_counting(name, budget), design, domain, budget, settings)
    if name != AUTO:
        return _prepared(mechanism_named(name), design, domain, budget, settings)
    candidates = _PURE if budget.delta == 0 else (_with_delta(design),)
    prepared = [_prepared(mechanism_named(candidate), design, domain, budget, settings) for candidate in candidates]
    return min(prepared, key=lambda each: predicted_error(each[2], len(design.released)))


def _with_delta(design: Design) -> str:
    """Return the mechanism that `auto` selects with delta above 0 and no option that needs `gaussian`.

    >>> columns = {"y": (0, 1), "x": (0, 1)}
    >>> _with_delta(Design("y", columns)), _with_delta(Design("y", columns, radius=1.0))
    ('staged', 'gaussian')
    """
    return DEFAULT_MECHANISM if design.radius is None else ONE_PASS


def predicting_mechanism(design: Design, delta: float) -> str:
    """Return the mechanism for a single predictive model, or `auto` if none is better than a mechanism for moments.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> predicting_mechanism(design, 1e-6), predicting_mechanism(design, 0.0)
    ('refined', 'auto')
    """
    return _PREDICTS if delta > 0 and _fits_its_line(design) else AUTO


def _fits_its_line(design: Design) -> bool:
    """Return whether a linear model in scaled columns can represent the declared model.

    Without an intercept the line must pass through the origin, so scaling must not move the origin.
    """
    return design.intercept or design.centred


def _check_weighted(design: Design, budget: PrivacyBudget, options: ReleaseOptions) -> None:
    """Reject options that are not proved for rows with weights, and plain standard errors with sampling weights."""
    name = options.mechanism
    if name not in (AUTO, "gaussian"):
        if name not in HOMES:
            raise SpecError.unknown_name("mechanism", name, (AUTO, *HOMES), option="mechanism")
        raise SpecError(
            f'a design with weights needs mechanism="gaussian", got mechanism={name!r}; use mechanism="gaussian", or '
            "leave out the weights"
        )
    if _without_delta(budget):
        raise SpecError("a design with weights needs delta above 0, for instance delta = 1e-6; got delta = 0")
    if options.clip_counts:
        raise SpecError("a design with weights takes no clip_counts; leave out clip_counts or the weights")
    if design.searched:
        raise SpecError(
            f"a design with weights needs declared bounds, but the bounds of {design.searched[0]!r} are private; "
            "declare these bounds, or leave out the weights"
        )
    if design.weights_are == SAMPLING and options.robust_errors is None:
        raise UnsupportedError(
            'weights_are = "sampling" needs robust standard errors: plain standard errors would treat a row of weight '
            "2 as a row whose error has half the variance",
            code="sampling-weights-need-robust",
            option="robust",
            remedy=Message("release with ", Option("robust", True)),
        )


def _staged_is_robust(design: Design, options: ReleaseOptions) -> bool:
    """Return whether `staged` has robust standard errors for a design without weights, under these options."""
    plain = design.radius is None and design.unit.max_rows == 1
    return plain and not options.clip_counts and options.robust_errors == RobustErrors()


def _robust_staged(design: Design, budget: PrivacyBudget, options: ReleaseOptions) -> Mechanism:
    """Return `staged` with robust standard errors, or raise an error that says what it does not support."""
    from discreet.mechanisms.staged import StagedMoments

    if options.clip_counts:
        return _counting(StagedMoments.name, budget)
    errors, rows = options.robust_errors, design.unit.max_rows
    if rows > 1:
        raise UnsupportedError(
            "robust standard errors by 'staged' treat all rows as independent, but an individual may have up to "
            f"{rows} rows",
            option="mechanism",
            remedy="use mechanism 'gaussian', whose robust standard errors are clustered by individual",
        )
    if errors is not None and errors.models:
        raise UnsupportedError(
            "a release by 'staged' has robust standard errors for every model of the declared target that has an "
            "intercept, and takes no additional models",
            option="robust_models",
            remedy=(LeaveOut("robust_models"), "use mechanism 'gaussian' for models of another target"),
        )
    if errors is not None and errors.residual_bound is not None:
        raise UnsupportedError(
            "'staged' finds the bound of the scores from released numbers, and takes no bound of residuals",
            option="residual_bound",
            remedy=(LeaveOut("residual_bound"), "use mechanism 'gaussian'"),
        )
    return StagedMoments(robust=True)


def _counting(name: str, budget: PrivacyBudget) -> Mechanism:
    """Return the named mechanism with counts of clipped rows. With `auto`, the budget decides which."""
    chosen = ("laplace" if budget.delta == 0 else "gaussian") if name == AUTO else mechanism_named(name).name
    if chosen == "gaussian":
        return GaussianMoments(clip_counts=True)
    if chosen == "laplace":
        from discreet.mechanisms.laplace import LaplaceMoments

        return LaplaceMoments(clip_counts=True)
    able = " and ".join(repr(mechanism.name) for mechanism in mechanisms().values() if mechanism.info.clip_counts)
    raise UnsupportedError(
        Message(Option("clip_counts"), f" needs one of the mechanisms {able}, got {chosen!r}"), option="clip_counts"
    )


def _prepared(
    mechanism: Mechanism, design: Design, domain: RowDomain, budget: PrivacyBudget, chosen: Mapping[str, object] | None
) -> tuple[Mechanism, Settings, NoiseDistribution]:
    settings = checked_settings(mechanism.name, mechanism.info.settings, chosen)
    if _without_delta(budget) and mechanism.info.notion == "approximate" and mechanism.name not in _SAY_WHY:
        others = [
            f"{other.name!r}"
            for other in mechanisms().values()
            if other.kind == mechanism.kind and other.info.notion != "approximate"
        ]
        raise UnsupportedError(
            f"the mechanism {mechanism.name!r} needs delta above 0, for instance delta = 1e-6; got delta = 0. These "
            f"mechanisms publish {mechanism.kind} with delta = 0: {', '.join(others)}",
            code="delta-needed",
            option="mechanism",
            given=mechanism.name,
        )
    if mechanism.kind == "coefficients" and not _fits_its_line(design):
        raise SpecError(
            f"intercept = false with the mechanism {mechanism.name!r} needs bounds symmetric around 0, because "
            "the fitted line would otherwise miss the origin; declare bounds such as (-90, 90), keep the intercept, or "
            "choose a mechanism that publishes moments"
        )
    try:
        return mechanism, settings, mechanism.noise_model(design, domain, budget, settings)
    except GridTooFineError as error:
        raise _with_what_works(error, mechanism, design, domain, budget, settings) from None


def _with_what_works(
    error: GridTooFineError,
    mechanism: Mechanism,
    design: Design,
    domain: RowDomain,
    budget: PrivacyBudget,
    settings: Settings,
) -> SpecError:
    """Add the finest grid on which this noise can be drawn to the error, found by trial."""
    for grid_bits in range(domain.grid_bits - 1, MIN_GRID_BITS - 1, -1):
        with suppress(GridTooFineError):
            mechanism.noise_model(design, replace(domain, grid_bits=grid_bits), budget, settings)
            return GridTooFineError(
                error.problem, f"choose grid_bits from {MIN_GRID_BITS} to {grid_bits}, or raise epsilon"
            )
    return GridTooFineError(
        error.problem, "raise epsilon, because no value of grid_bits is small enough for this noise"
    )


def _without_delta(budget: PrivacyBudget) -> bool:
    return budget.currency == "approximate" and budget.delta == 0


def predicted_error(distribution: NoiseDistribution, size: int) -> float:
    """Return the mean noise variance in the normal equations, for scaled slopes of norm 1 and an intercept of 1/2.

    It only serves to rank mechanisms. `size` is the number of released columns: constant, regressors and target.

    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> weak, strong = (discreet.planning.noise_distribution_for(design, epsilon, 1e-6) for epsilon in (2.0, 0.5))
    >>> discreet.planning.predicted_error(weak, 3) < discreet.planning.predicted_error(strong, 3)
    True
    """
    variance = distribution.entry_sd(size) ** 2
    slopes = slice(1, size - 1)
    gram = variance[slopes, slopes].sum(axis=1) / (size - 2)
    return float(np.mean(variance[slopes, -1] + gram + variance[slopes, 0] / 4))


# -- catalogue ---------------------------------------------------------------------------------------------------------
# The table of all mechanisms, with their descriptions and noise.

SIZES: Final = (5, 20)
_BUDGETS: Final = {
    "pure": PrivacyBudget(1.0),
    "approximate": PrivacyBudget(1.0, 1e-6),
    "both": PrivacyBudget(1.0, 1e-6),
}


@dataclass(frozen=True, slots=True)
class TableRow:
    """Row of the mechanism table.

    Attributes
    ----------
    name, kind, summary, document, notion, domain, needs, numerics, references, settings, clip_counts
        From the description of the mechanism.
    status
        What is proved about the guarantee, and for which arithmetic.
    neighbours
        Neighbouring relations for which the guarantee is proved.
    persons
        Whether a person may have several rows.
    noise
        By number of regressors: noise standard deviation of each statistic, in scaled units, at epsilon = 1 and
        delta = 1e-6 (0 under pure DP), for numeric columns in a box under `add-remove`. `equation` is the noise of one
        normal equation. The error message if the mechanism rejects such a design.
    main
        Statistic whose noise is printed: `equation` for moments, and the one with the largest effect for coefficients.
    """

    name: str
    kind: str
    summary: str
    document: str
    notion: str
    domain: str
    needs: tuple[str, ...]
    numerics: str
    status: str
    neighbours: tuple[str, ...]
    persons: bool
    clip_counts: bool
    noise: Mapping[int, Mapping[str, float] | str]
    references: tuple[str, ...]
    settings: Mapping[str, Setting]
    main: str

    def main_noise(self, size: int) -> float | None:
        """Return the printed noise for this number of regressors, or None if the mechanism rejects such a design."""
        noise = self.noise[size]
        if isinstance(noise, str):
            return None
        return noise[self.main]

    def to_dict(self) -> dict[str, object]:
        """Return the row as plain values for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "summary": self.summary,
            "document": self.document,
            "notion": self.notion,
            "domain": self.domain,
            "needs": list(self.needs),
            "numerics": self.numerics,
            "status": self.status,
            "neighbours": list(self.neighbours),
            "persons": self.persons,
            "clip_counts": self.clip_counts,
            "noise": {
                str(size): {"refused": noise} if isinstance(noise, str) else dict(noise)
                for size, noise in self.noise.items()
            },
            "main": self.main,
            "references": list(self.references),
            "settings": [
                {
                    "name": name,
                    "default": setting.default,
                    "about": setting.about,
                    "low": setting.low if math.isfinite(setting.low) else None,
                    "high": setting.high if math.isfinite(setting.high) else None,
                    "choices": list(setting.choices),
                    "only_with": None if setting.only_with is None else dict([setting.only_with]),
                }
                for name, setting in self.settings.items()
            ],
        }


def mechanism_table() -> tuple[TableRow, ...]:
    """Return one row for every mechanism.

    >>> [row.kind for row in mechanism_table() if row.name == "gaussian"]
    ['moments']
    """
    return tuple(table_row(name) for name in mechanisms())


def table_row(name: str) -> TableRow:
    """Return the row of one mechanism."""
    mechanism = mechanism_named(name)
    info = mechanism.info
    several = PrivacyUnit(id="person", max_rows=2)
    return TableRow(
        name=mechanism.name,
        kind=mechanism.kind,
        summary=info.summary,
        document=info.document,
        notion=info.notion,
        domain=info.domain,
        needs=info.needs,
        numerics=info.numerics,
        status="proved" if info.numerics == "exact" else "proved for real numbers, floating point not covered",
        neighbours=tuple(
            relation
            for relation in get_args(Neighbours)
            if _noise(mechanism, 3, PrivacyUnit(neighbours=relation)) is not None
        ),
        persons=_noise(mechanism, 3, several) is not None,
        clip_counts=info.clip_counts,
        noise={size: _cost(mechanism, size) for size in SIZES},
        references=info.references,
        settings=info.settings,
        main="equation" if mechanism.kind == "moments" else info.main or _only_statistic(mechanism),
    )


def _standard(size: int, unit: PrivacyUnit) -> Design:
    return Design("y", {**{f"x{j}": (-1, 1) for j in range(size)}, "y": (-1, 1)}, unit=unit)


def _distribution(mechanism: Mechanism, size: int, unit: PrivacyUnit) -> NoiseDistribution:
    design = _standard(size, unit)
    settings = checked_settings(mechanism.name, mechanism.info.settings, None)
    return mechanism.noise_model(design, RowDomain.of(design), _BUDGETS[mechanism.info.notion], settings)


def _noise(mechanism: Mechanism, size: int, unit: PrivacyUnit) -> NoiseDistribution | None:
    try:
        return _distribution(mechanism, size, unit)
    except SpecError:
        return None


def _only_statistic(mechanism: Mechanism) -> str:
    (statistic,) = _distribution(mechanism, 3, PrivacyUnit()).sigma
    return statistic


def _cost(mechanism: Mechanism, size: int) -> Mapping[str, float] | str:
    try:
        distribution = _distribution(mechanism, size, PrivacyUnit())
    except SpecError as refusal:
        return str(refusal)
    by_statistic = {statistic: distribution.sd(statistic) for statistic in distribution.sigma}
    if mechanism.kind == "moments":
        by_statistic["equation"] = math.sqrt(predicted_error(distribution, size + 2))
    return by_statistic
