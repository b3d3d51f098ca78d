"""How a release was made, as plain values: mechanism, noise by block and declarations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.accounting.noise_distribution import Calibration, NoiseFamily, model_blocks
from discreet.analyst.bound_costs import ClippedShare, clipped_shares
from discreet.analyst.equations.normal import counted_rows
from discreet.analyst.summary import settings_used
from discreet.design.columns import Categorical, Column, Fill, Interaction, Missing, Numeric, SplineBasis
from discreet.design.dates import date_text
from discreet.design.design import Design
from discreet.ledger.account import anchor_words
from discreet.releases.reference_law import known
from discreet.releases.release import Release

_CALIBRATIONS: Final[dict[Calibration, str]] = {
    "gaussian": "exact Gaussian accounting; the step to integers is paid from delta",
    "discrete-zcdp": "concentrated privacy of the discrete Gaussian law itself",
    "pure": "epsilon alone: the largest ratio of probabilities, no delta",
    "chi-square": "the exact loss of Wishart noise, from one chi-square variate",
    "composed": "several pieces, added up by an accountant",
    "bound": "a proved upper bound on delta",
    "none": "none: NOT PRIVATE",
}
_FAMILIES: Final[dict[NoiseFamily, str]] = {
    "discrete-gaussian": "discrete Gaussian: each number has independent noise",
    "discrete-laplace": "discrete Laplace: each number has independent noise",
    "k-norm": "K-norm: one random direction and length for all numbers; they are uncorrelated, not independent",
    "wishart": "Wishart, less its mean: a random matrix; its entries are uncorrelated, not independent",
}
_NUMERICS: Final = {
    "exact": "exact: noise and sums are integers, and the proof covers what is published to the last digit",
    "idealised": "idealised: the proof is for real numbers, and what is published comes from floating-point arithmetic",
}
_STATISTICS: Final = {
    "count": "number of rows",
    "sum_x": "sums of regressors",
    "gram_diagonal": "squares of regressors",
    "gram_off_diagonal": "products of regressors",
    "sum_y": "sum of the target",
    "cross": "regressors times target",
    "target_square": "square of the target",
    "residual_diagonal": "squared residuals times squares",
    "residual_off_diagonal": "squared residuals times products",
    "clipped": "numbers of clipped rows",
    "residual_ratio": "spread of squared residuals, for R²",
    "guard": "numbers of rows that fit and of those left out (guard)",
    "discovery": "counts that bounds were found from",
}
_WITH_WEIGHTS: Final = {
    "count": "sum of weights",
    "rows": "number of rows",
    "sum_x": "weighted sums of regressors",
    "gram_diagonal": "weighted squares of regressors",
    "gram_off_diagonal": "weighted products of regressors",
    "sum_y": "weighted sum of the target",
    "cross": "weighted regressors times target",
    "target_square": "weighted square of the target",
}
# rows are multiplied by their weights, so products of two columns have squared weights
_SCALED: Final = {
    **_WITH_WEIGHTS,
    "count": "sum of squared weights",
    "centre": "comparisons in the search for centres of regressors",
    "spread": "comparisons in the search for scales of regressors",
    "zoomed_centre": "comparisons in the second search for centres",
    "zoomed_spread": "comparisons in the second search for scales",
    "size": "squared distances of regressors from their centres",
    "target_centre": "comparisons in the search for the centre of the target",
    "target_spread": "comparisons in the search for the scale of the target",
    "target_size": "squared distances of the target from its centre",
    "radius": "comparisons in the search for the radius",
    "target_clipped": "numbers of rows with a clipped target",
    "fourth_diagonal": "squares of regressors times fourth powers of weights",
    "fourth_off_diagonal": "products of regressors times fourth powers of weights",
}


@dataclass(frozen=True, slots=True)
class KindWords:
    """What a page says of a kind of release: what is published, and how its table of noise is called and read."""

    publishes: str
    noise_title: str
    noisy: str
    left_out: str = ""


_KINDS: Final = {
    "moments": KindWords(
        "noisy sums of products",
        "Noise added to the sums of products",
        "sum",
        " A sum that is not listed here was not released.",
    ),
    "coefficients": KindWords("the coefficients of one model", "Noise inside the mechanism, by statistic", "statistic"),
}


@dataclass(frozen=True, slots=True)
class NoiseLine:
    """Noise of one statistic: its standard deviation in scaled units, and the same over the number of rows."""

    block: str
    sd: float
    per_row: float | None


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """One declared column in words."""

    name: str
    role: str
    kind: str
    declared: str
    missing: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """Everything that was fixed before or while the release was made.

    Attributes
    ----------
    kind
        `moments` or `coefficients`.
    family, numerics
        Law of the noise and arithmetic of the mechanism, in words.
    settings
        Public settings of the mechanism, as name and value; an automatic one with what it stood for.
    grid_bits
        A scaled value is an integer number of steps of 2**-grid_bits.
    anchor
        Where the spend is recorded; `untracked` without a ledger.
    radius
        Ball to which rows were shrunk, if any.
    units_public
        Number of rows or persons, where it is public.
    clipped
        Shares of clipped rows by column, where they were counted.
    scaled
        Whether rows were scaled by released numbers and weighted.
    found
        Whether some bounds were found privately.
    """

    kind: str
    mechanism: str
    version: str
    settings: tuple[tuple[str, str], ...]
    numerics: str
    family: str
    calibration: str
    grid_bits: int
    anchor: str
    made_by: str
    digest: str
    target: str
    intercept: bool
    radius: float | None
    units_public: int | None
    noise: tuple[NoiseLine, ...]
    columns: tuple[DeclaredColumn, ...]
    clipped: tuple[ClippedShare, ...] = ()
    scaled: bool = False
    found: bool = False

    @property
    def words(self) -> KindWords:
        """What the page says of this kind of release."""
        return _KINDS[self.kind]


def provenance(release: Release) -> Provenance:
    """Read from a release how it was made."""
    design = release.design
    return Provenance(
        kind=release.kind,
        mechanism=release.mechanism,
        version=release.mechanism_version,
        settings=settings_used(release),
        numerics=_NUMERICS[release.numerics],
        family=_family(release),
        calibration=_CALIBRATIONS[release.noise.calibration],
        grid_bits=release.noise.grid_bits,
        anchor=anchor_words(release.anchor),
        made_by=release.made_by,
        digest=release.digest,
        target=design.target,
        intercept=design.intercept,
        radius=design.radius,
        units_public=release.units_public,
        noise=_noise_lines(release),
        columns=tuple(_declared(design, name) for name in design.columns),
        clipped=clipped_shares(release),
        scaled=release.scaling is not None,
        found=release.discovery is not None,
    )


def _family(release: Release) -> str:
    words = _FAMILIES[release.noise.family]
    terms = release.curators
    if terms is not None and terms.noise == "shares":
        words += f", the sum of {terms.parts} shares, one of each curator"
    # a known number, which every reader takes away
    return words if release.settings.get("debiased", True) else words.replace("less its mean", "its mean left in")


def _noise_lines(release: Release) -> tuple[NoiseLine, ...]:
    """One line for each statistic with noise, blocks of sums in the order of the file format."""
    counted = known(counted_rows(release)[0])
    rows = None if counted is None or counted <= 0 else counted
    law = release.full_noise
    known_names = _STATISTICS | _weighted_statistics(release)
    known_names |= _indicator_statistics(release) | _further_statistics(release)
    names = [name for name in known_names if name in law.sigma and known_names[name]]
    names += [name for name in sorted(law.sigma) if name not in known_names]
    found = [(known_names.get(name, name.replace("_", " ")), law.sd(name)) for name in names]
    return tuple(NoiseLine(words, sd, None if rows is None else sd / rows) for words, sd in found)


def _weighted_statistics(release: Release) -> dict[str, str]:
    """Names of sums over weighted rows, and of what private scaling releases before them."""
    if release.scaling is not None:
        return _SCALED
    return {} if release.design.weights is None else _WITH_WEIGHTS


def _indicator_statistics(release: Release) -> dict[str, str]:
    """Names of sums and squares where those of an indicator are one number; empty for squares if no other has any."""
    copied = len(release.noise.indicator_columns)
    if not copied:
        return {}
    others = len(release.columns) - 2 - copied
    return {
        "sum_x": "sums of regressors, of indicators also their squares",
        "gram_diagonal": "squares of regressors that are not indicators" if others else "",
    }


def _further_statistics(release: Release) -> dict[str, str]:
    """Names of the sums over residuals of models that were declared beside the full one."""
    return {
        block: f"{_STATISTICS[full]}, {model}"
        for number, model in enumerate(release.robust_models, start=1)
        for full, block in zip(model_blocks(0), model_blocks(number), strict=True)
    }


def _declared(design: Design, name: str) -> DeclaredColumn:
    column = design.columns[name]
    role = "target" if name == design.target else "regressor" if name in design.offered else "not released"
    role = "weights" if name == design.weights else role
    return DeclaredColumn(name, role, _kind(column), _range(column), _missing(column))


def _kind(column: Column) -> str:
    formula = "" if column.formula is None else f", by the formula {column.formula.text}"
    if isinstance(column, SplineBasis | Interaction):
        return f"{'spline' if isinstance(column, SplineBasis) else 'interaction'}{formula}"
    if isinstance(column, Numeric):
        return "date" if column.is_date else f"number{formula}"
    return f"levels{formula}" if isinstance(column, Categorical) else f"yes or no{formula}"


def _range(column: Column) -> str:
    if isinstance(column, Numeric):
        return f"{' to '.join(map(column.value_text, column.bounds))}{', found privately' if column.found else ''}"
    if isinstance(column, Categorical):
        rest = ", ".join(str(level) for level in column.levels if level != column.reference)
        return f"{column.reference} (reference), {rest}"
    if isinstance(column, Interaction):
        least = "0 and" if column.bounds is None else f"{column.bounds[0]:g} to {column.bounds[1]:g}, and 0"
        return f"{least} {'1' if column.bounds is None else 'in other rows'}, {len(column.codes)} columns"
    return "0 or 1" if not isinstance(column, SplineBasis) else f"{column.formula.width} basis functions"


def _missing(column: Column) -> str:
    if isinstance(column, SplineBasis | Interaction) or column.formula is not None:
        return "follows the columns it uses"
    rule: Missing = column.missing
    if isinstance(rule, Fill):
        dated = isinstance(column, Numeric) and column.is_date
        return f"filled with {date_text(float(rule.value)) if dated else rule.value}"
    return "row dropped" if rule == "drop" else "table refused"
