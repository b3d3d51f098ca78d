"""Define the options of a release, check their values, and describe them for front ends."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal

from discreet.errors import OptionError
from discreet.privacy.checks import check_flag, is_integer, is_number, listed

AUTO: Final = "auto"
# the default with delta above 0, and the mechanism that supports every option, in one pass over the declared columns
DEFAULT_MECHANISM: Final = "staged"
ONE_PASS: Final = "gaussian"
DEFAULT_GRID_BITS: Final = 16
MIN_GRID_BITS: Final = 8
MAX_GRID_BITS: Final = 26
MOST_MODELS: Final = 10  # each additional model takes a share of the budget

_ROLE: Final = "front end"


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """Description of an option for the command line (`flag`, `metavar`) and the studio (`label`).

    `needs` names the option without which this one has no effect.
    """

    flag: str
    label: str
    help: str
    metavar: str | None = None
    kind: Literal["switch", "text", "integer", "number", "texts"] = "switch"
    needs: str | None = None


def offered(*front_end: Any, **more: Any) -> dict[str, FrontEnd]:  # noqa: ANN401  # the fields of `FrontEnd`
    """Return the dataclass field metadata that describes an option for front ends."""
    return {_ROLE: FrontEnd(*front_end, **more)}


def front_ends(options: type) -> dict[str, FrontEnd]:
    """Return the front-end description of each field of an options class, in field order.

    >>> front_ends(RobustErrors)["residual_bound"].flag
    '--residual-bound'
    """
    return {one.name: one.metadata[_ROLE] for one in fields(options) if _ROLE in one.metadata}


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustErrors:
    """Settings of robust standard errors (HC1) by the mechanism `gaussian`.

    Parameters
    ----------
    models
        Up to 10 additional models with robust standard errors, as formulas such as `"income ~ age"`. The full model is
        always included. With additional models, robust standard errors take 40% of the budget instead of 30%.
    residual_bound
        Public bound at which residuals are clipped, in units of the target. The default is twenty residual standard
        deviations, computed from the noisy moments, but at most the width of the target's bounds.

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
            "Clip residuals at this number, in units of the target. The default is computed from the noisy sums.",
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
                remedy="list only models that need robust standard errors, because each takes a share of the budget",
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
    """All options of a release except its design and budget. `release`, `cost` and `plan` accept the same options.

    Parameters
    ----------
    mechanism
        Name of the mechanism. With delta, `auto` selects `staged`, or `gaussian` if the request has weights, robust
        errors, clip counts, private scaling or a declared radius. Without delta it selects the pure mechanism with the
        smallest error.
    settings
        Public settings of the mechanism by name. `discreet mechanisms` lists them.
    robust
        True to also release the sums for heteroskedasticity-consistent standard errors (HC1). `auto` then selects
        `staged` where it can, which spends 10% of mu^2 on them and serves every model of the target. `gaussian` spends
        30% and serves the full model. If an individual may have several rows, its errors are clustered by individual.
        Pass `RobustErrors` for additional models or a public bound on residuals, which only `gaussian` supports.
    clip_counts
        True to also release, for each numeric column, a noisy count of the rows that were clipped to its bounds.
    guard
        True to first spend 1% of the budget on noisy counts of rows that fit the design and of rows that do not. The
        release stops if far more rows do not fit.
    grid_bits
        Scaled values are rounded to multiples of 2**-grid_bits, where grid_bits is from 8 to 26.
    allow_weak_privacy
        True to accept epsilon above 20 or delta above 1e-3.

    Examples
    --------
    >>> ReleaseOptions(robust=True) == ReleaseOptions(robust=RobustErrors())
    True
    """

    mechanism: str = field(
        default=AUTO,
        metadata=offered(
            "--mechanism",
            "Mechanism",
            "A mechanism listed by `discreet mechanisms`. With delta, auto selects staged, or gaussian if an option "
            "needs it.",
            "NAME",
            "text",
        ),
    )
    settings: Mapping[str, object] | None = field(
        default=None,
        hash=False,
        metadata=offered(
            "--setting", "Settings", "A public setting of the mechanism; can be repeated.", "NAME=VALUE", "texts"
        ),
    )
    robust: bool | RobustErrors = field(
        default=False,
        metadata=offered(
            "--robust",
            "Robust standard errors",
            "Also spend 10% (staged) or 30% (gaussian) of the budget on robust standard errors (HC1).",
        ),
    )
    clip_counts: bool = field(
        default=False,
        metadata=offered(
            "--clip-counts",
            "Clip counts",
            "Also publish a noisy count of clipped rows for each column; all other noise grows by 2% to 3%.",
        ),
    )
    guard: bool = field(
        default=False,
        metadata=offered(
            "--guard",
            "Guard",
            "First spend 1% of the budget on noisy counts of rows that fit the design and rows that do not, and stop "
            "if far more do not fit.",
        ),
    )
    grid_bits: int = field(
        default=DEFAULT_GRID_BITS,
        metadata=offered(
            "--grid-bits",
            "Grid bits",
            f"Round scaled values to multiples of 2^-BITS, with BITS from {MIN_GRID_BITS} to {MAX_GRID_BITS}. Large "
            "noise lowers the maximum.",
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
        check_grid_bits(self.grid_bits)

    @property
    def robust_errors(self) -> RobustErrors | None:
        """Settings of robust standard errors, or None if they are not released."""
        return self.robust if isinstance(self.robust, RobustErrors) else None

    def keywords(self) -> dict[str, Any]:
        """Return the options as keyword arguments of the public functions."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


def check_grid_bits(grid_bits: object) -> None:
    """Refuse an invalid number of grid bits."""
    if not is_integer(grid_bits) or not MIN_GRID_BITS <= grid_bits <= MAX_GRID_BITS:
        raise OptionError(
            option="grid_bits", given=grid_bits, allowed=f"an integer from {MIN_GRID_BITS} to {MAX_GRID_BITS}"
        )


DEFAULT_OPTIONS: Final = ReleaseOptions()
