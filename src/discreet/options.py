"""Define the options of a release, check their values, and describe them for front ends."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, TypeAlias

from discreet.errors import OptionError
from discreet.privacy.checks import check_flag, is_integer, is_number, listed

Scaling: TypeAlias = Literal["declared", "private"]

AUTO: Final = "auto"
DECLARED: Final = "declared"
PRIVATE: Final = "private"
SCALINGS: Final = (DECLARED, PRIVATE)
DEFAULT_GRID_BITS: Final = 16
MIN_GRID_BITS: Final = 8
MAX_GRID_BITS: Final = 26
# each additional model takes its share of the budget
MOST_MODELS: Final = 10

_ROLE: Final = "front end"


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """How the command line and the studio offer an option.

    Attributes
    ----------
    flag
        Option of the command line.
    label
        Label of the field in a form.
    help
        One-sentence description.
    metavar
        Placeholder of the value; none for a switch.
    kind
        Type of the value: a switch, text, an integer, a number, or several texts.
    choices
        Allowed values, if there are few.
    needs
        Name of the option without which this one has no effect, if there is one.
    """

    flag: str
    label: str
    help: str
    metavar: str | None = None
    kind: Literal["switch", "text", "integer", "number", "texts"] = "switch"
    choices: tuple[str, ...] = ()
    needs: str | None = None


def offered(*front_end: Any, **more: Any) -> dict[str, FrontEnd]:  # noqa: ANN401  # the fields of `FrontEnd`
    """Return the metadata of a field that front ends offer."""
    return {_ROLE: FrontEnd(*front_end, **more)}


def front_ends(options: type) -> dict[str, FrontEnd]:
    """Return how each field of an options class is offered, in the order of the fields.

    >>> front_ends(RobustErrors)["residual_bound"].flag
    '--residual-bound'
    """
    return {one.name: one.metadata[_ROLE] for one in fields(options) if _ROLE in one.metadata}


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustErrors:
    """Robust standard errors (HC1) of a release, which a second pass over the table provides.

    Parameters
    ----------
    models
        Up to 10 additional models with robust standard errors, as formulas such as `"income ~ age"`. The full model
        always has them. With additional models the sums over residuals take 40% of the budget instead of 30%.
    residual_bound
        Public bound at which residuals are clipped, in units of the target. If omitted, twenty residual standard
        deviations, computed from the noisy moments, and at most the width of the target's bounds.

    Examples
    --------
    >>> RobustErrors(models=["income ~ age"]).models
    ('income ~ age',)
    """

    models: Sequence[str] = field(
        default=(),
        metadata=offered(
            "--robust-model",
            "Additional robust models",
            "An additional model with robust standard errors, such as 'y ~ a + b'; can be repeated. "
            "Robust standard errors then take 40% of the budget.",
            "FORMULA",
            "texts",
            needs="robust",
        ),
    )
    residual_bound: float | None = field(
        default=None,
        metadata=offered(
            "--residual-bound",
            "Residual bound",
            "Clip residuals at this number, in the units of the target. Otherwise the noisy sums set it.",
            "B",
            "number",
            needs="robust",
        ),
    )

    def __post_init__(self) -> None:
        formulas = listed(self.models)
        if formulas is None:
            raise OptionError(
                option="robust_models", given=self.models, allowed="a list of formulas such as ['y ~ a', 'y ~ a + b']"
            )
        if len(formulas) > MOST_MODELS:
            raise OptionError(
                f"expected at most {MOST_MODELS} additional robust models, got {len(formulas)}",
                option="robust_models",
                remedy="keep those that need robust standard errors, because each takes a share of the budget",
            )
        for formula in formulas:
            if not isinstance(formula, str):
                raise OptionError(option="robust_models", given=formula, allowed="a formula such as 'y ~ a + b'")
        object.__setattr__(self, "models", tuple(map(str, formulas)))
        bound: object = self.residual_bound
        if bound is not None and (not is_number(bound) or not 0 < bound < math.inf):
            raise OptionError(option="residual_bound", given=bound, allowed="a number above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOptions:
    """Options of a release besides its design and budget, the same for `release`, `cost` and `plan`.

    Parameters
    ----------
    mechanism
        Name of the mechanism. `auto`: the joint Gaussian release, or without delta the pure one of least error.
    settings
        Public settings of the mechanism by name. `discreet mechanisms` lists them.
    robust
        True to release also what heteroskedasticity-consistent standard errors (HC1) of the full model need, from a
        second pass over the table, for 30% of the budget. With an id in the unit they are clustered by it. Pass
        `RobustErrors` for additional models or a public bound of residuals.
    clip_counts
        True to release also, for each numeric column, a noisy count of the rows that were clipped to its bounds.
    scaling
        `declared`: scale columns by their declared bounds. `private`: find centre and scale of each column by noisy
        searches.
    guard
        True to release first noisy counts of rows that fit the design and of rows that do not, for 1% of the budget,
        and to stop if far more rows do not fit.
    grid_bits
        Scaled values are rounded to multiples of 2**-grid_bits, 8 to 26.
    allow_weak_privacy
        True to accept epsilon above 20 or delta above 1e-3.

    Examples
    --------
    >>> ReleaseOptions(robust=True) == ReleaseOptions(robust=RobustErrors())
    True
    """

    mechanism: str = field(
        default=AUTO, metadata=offered("--mechanism", "Mechanism", "One of `discreet mechanisms`.", "NAME", "text")
    )
    settings: Mapping[str, object] | None = field(
        default=None,
        hash=False,
        metadata=offered("--setting", "Settings", "Public setting of the mechanism.", "NAME=VALUE", "texts"),
    )
    robust: bool | RobustErrors = field(
        default=False,
        metadata=offered(
            "--robust", "Robust standard errors", "Also spend 30% of the budget on robust standard errors (HC1)."
        ),
    )
    clip_counts: bool = field(
        default=False,
        metadata=offered(
            "--clip-counts",
            "Clip counts",
            "Also publish noisy counts of clipped rows by column; adds 2% to 3% noise elsewhere.",
        ),
    )
    scaling: Scaling = field(
        default=DECLARED,
        metadata=offered(
            "--scaling",
            "Scaling",
            "`private`: find centre and scale of each column with noise, for bounds that are far too wide.",
            "HOW",
            "text",
            SCALINGS,
        ),
    )
    guard: bool = field(
        default=False,
        metadata=offered(
            "--guard",
            "Guard",
            "Spend 1% of the budget on noisy counts of the rows that fit the design and of those that do not, and stop "
            "if far more do not fit.",
        ),
    )
    grid_bits: int = field(
        default=DEFAULT_GRID_BITS,
        metadata=offered(
            "--grid-bits",
            "Grid bits",
            f"Round scaled values to multiples of 2^-BITS, from {MIN_GRID_BITS} to {MAX_GRID_BITS}, as far as the "
            "noise allows.",
            "BITS",
            "integer",
        ),
    )
    allow_weak_privacy: bool = field(
        default=False,
        metadata=offered("--allow-weak-privacy", "Allow weak privacy", "Accept epsilon above 20 or delta above 1e-3."),
    )

    def __post_init__(self) -> None:
        robust: object = self.robust
        if not isinstance(robust, bool | RobustErrors):
            raise OptionError(option="robust", given=robust, allowed="True, False or RobustErrors(...)")
        if robust is True:
            object.__setattr__(self, "robust", RobustErrors())
        for name in ("clip_counts", "guard", "allow_weak_privacy"):
            check_flag(name, getattr(self, name))
        if not isinstance(self.scaling, str) or self.scaling not in SCALINGS:
            raise OptionError.unknown_name("scaling", self.scaling, SCALINGS, option="scaling")
        check_grid_bits(self.grid_bits)

    @property
    def robust_errors(self) -> RobustErrors | None:
        """Settings of the released robust standard errors; None for a release without them."""
        return self.robust if isinstance(self.robust, RobustErrors) else None

    def keywords(self) -> dict[str, Any]:
        """Return the options by name, as arguments of the public functions."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


def check_grid_bits(grid_bits: object) -> None:
    """Refuse an invalid number of grid bits."""
    if not is_integer(grid_bits) or not MIN_GRID_BITS <= grid_bits <= MAX_GRID_BITS:
        raise OptionError(
            option="grid_bits", given=grid_bits, allowed=f"an integer from {MIN_GRID_BITS} to {MAX_GRID_BITS}"
        )


DEFAULT_OPTIONS: Final = ReleaseOptions()
