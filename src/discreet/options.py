"""Define the options of a release, check their values, and describe them for public functions and front ends."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Final, Literal, TypedDict, TypeVar

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
_ADDS: Final = "adds to the release"


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


def offered(*front_end: Any, adds: bool = False, **more: Any) -> dict[str, object]:  # noqa: ANN401  # the fields of `FrontEnd`
    """Return the dataclass field metadata that describes an option for front ends.

    `adds` marks a switch that adds numbers to the release, which only some mechanisms can do.
    """
    return {_ROLE: FrontEnd(*front_end, **more), _ADDS: adds}


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
        Name of the mechanism. With delta, `auto` selects `staged`, which estimates least squares on the clipped table
        in several passes. It selects `gaussian`, one pass with noise set by the declared bounds, if `staged` does not
        support the request: weights, counts of clipped rows, clustered standard errors or a declared radius. Without
        delta it selects the pure mechanism with the smallest error.
    settings
        Public settings of the mechanism by name; `discreet mechanisms` lists them.
    robust
        True to also release the sums for heteroskedasticity-consistent standard errors (HC1). `auto` then selects
        `staged` where it can, which spends 10% of mu^2 on them and serves every model of the target. `gaussian` spends
        30% and serves the full model. If an individual may have several rows, its errors are clustered by individual.
        Pass `discreet.RobustErrors(models=..., residual_bound=...)` for additional models or a public bound on
        residuals, which only `gaussian` supports.
    clip_counts
        True to also release, for each numeric column, a noisy count of the rows that were clipped to its bounds. All
        other noise grows by 2%, or by 3% with `robust`. Requires `gaussian` or `laplace`, so without delta `auto`
        selects `laplace` instead of `k-norm`.
    guard
        True to first spend 1% of the budget on noisy counts of the rows that fit the design and of the rows that its
        rules drop. If far more rows do not fit, the release stops with a `GuardStop`, and the ledger refunds the rest
        of the budget. Otherwise the release includes both counts. Requires a ledger, which records the counts before
        they are used.
    grid_bits
        Scaled values are rounded to multiples of 2**-grid_bits, where grid_bits is from 8 to 26. Large noise lowers the
        maximum.
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
            adds=True,
        ),
    )
    clip_counts: bool = field(
        default=False,
        metadata=offered(
            "--clip-counts",
            "Clip counts",
            "Also publish a noisy count of clipped rows for each column; all other noise grows by 2% to 3%.",
            adds=True,
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
        for each in fields(self):
            if each.default is False and each.name != "robust":
                check_flag(each.name, getattr(self, each.name))
        check_grid_bits(self.grid_bits)

    @property
    def robust_errors(self) -> RobustErrors | None:
        """Settings of robust standard errors, or None if they are not released."""
        return self.robust if isinstance(self.robust, RobustErrors) else None

    @property
    def additions(self) -> tuple[str, ...]:
        """Names of the options in use that add numbers to the release."""
        return tuple(name for name in ADDITIONS if getattr(self, name))

    def keywords(self) -> dict[str, Any]:
        """Return the options as keyword arguments of the public functions."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


class ReleaseKeywords(TypedDict, total=False):
    """Fields of `ReleaseOptions`, as keyword arguments of a public function."""

    mechanism: str
    settings: Mapping[str, object] | None
    robust: bool | RobustErrors
    clip_counts: bool
    guard: bool
    grid_bits: int
    allow_weak_privacy: bool


def check_grid_bits(grid_bits: object) -> None:
    """Refuse an invalid number of grid bits."""
    if not is_integer(grid_bits) or not MIN_GRID_BITS <= grid_bits <= MAX_GRID_BITS:
        raise OptionError(
            option="grid_bits", given=grid_bits, allowed=f"an integer from {MIN_GRID_BITS} to {MAX_GRID_BITS}"
        )


DEFAULT_OPTIONS: Final = ReleaseOptions()
# names of the options that add numbers to a release, which only some mechanisms can do
ADDITIONS: Final = tuple(each.name for each in fields(ReleaseOptions) if each.metadata[_ADDS])


# -- keywords of public functions --------------------------------------------------------------------------------------
# Public functions take the options as `**options`. What `help` shows of them is written from `ReleaseOptions`.

Public = TypeVar("Public", bound=Callable[..., Any])

_KEYWORDS: Final = re.compile(r"^\*\*options\n((?: +.*\n?)+)", re.MULTILINE)


def takes_options(*, without: Sequence[str] = (), after: str = "delta") -> Callable[[Public], Public]:
    """Show the options of a release in the signature and the docstring of a function or class that takes `**options`.

    The item `**options` of the docstring becomes a list of the names of the options, or, if its text is
    `{ReleaseOptions}`, the documentation of every option. The function reads the keywords with `options_of`.

    Parameters
    ----------
    without
        Options that the function does not take.
    after
        Parameter after which the signature lists the options.
    """

    def shown(public: Public) -> Public:
        function: Any = _function(public)
        names = [each.name for each in fields(ReleaseOptions) if each.name not in without]
        signature = inspect.signature(function)
        given = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        place = 1 + [one.name for one in given].index(after)
        keywords = [_keyword(each) for each in fields(ReleaseOptions) if each.name in names]
        function.__signature__ = signature.replace(parameters=[*given[:place], *keywords, *given[place:]])
        public.__doc__ = documented(public.__doc__, names)
        return public

    return shown


def _function(public: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function, or the constructor of a class."""
    return public.__init__ if isinstance(public, type) else public  # type: ignore[misc]


def documented(doc: str | None, names: Iterable[str]) -> str | None:
    """Write the options of a release into a docstring, in place of its item `**options`.

    Options that the docstring documents itself are left out.

    >>> item = '''**options
    ...     As for `discreet.release`.'''
    >>> print(documented(item, ["guard", "grid_bits"]))
    guard, grid_bits
        As for `discreet.release`.
    """
    if doc is None or ReleaseOptions.__doc__ is None:  # python -OO
        return doc
    _, _, section = inspect.cleandoc(ReleaseOptions.__doc__).partition("Parameters\n----------\n")
    items = dict(re.findall(r"^(\w+)\n((?: +.*\n)+)", section, re.MULTILINE))

    doc = inspect.cleandoc(doc)
    left = [name for name in names if not re.search(rf"^{name}$", doc, re.MULTILINE)]

    def written(item: re.Match[str]) -> str:
        if "{ReleaseOptions}" in item[1]:
            return "".join(f"{name}\n{items[name]}" for name in left)
        return f"{', '.join(left)}\n{item[1]}"

    return _KEYWORDS.sub(written, doc)


def _keyword(option: Field[Any]) -> inspect.Parameter:
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=option.type
    )


def options_of(public: Callable[..., Any], keywords: Mapping[str, Any]) -> ReleaseOptions:
    """Return the options in the keyword arguments of a function. A wrong name is a TypeError, as for any function."""
    check_keywords(public, keywords)
    return ReleaseOptions(**keywords)


def check_keywords(public: Callable[..., Any], keywords: Mapping[str, Any]) -> None:
    """Raise the TypeError of Python for a keyword that is not in the signature of a function or class."""
    function = _function(public)
    names = inspect.signature(function).parameters
    for name in keywords:
        if name not in names:
            near = get_close_matches(name, names, 1)
            hint = f". Did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}{hint}")
