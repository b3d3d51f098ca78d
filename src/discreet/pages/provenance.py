"""Description of how a release was made: mechanism, noise and declarations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.accounting.moment_queries import released_queries
from discreet.accounting.noise_distribution import Calibration, NoiseFamily
from discreet.accounting.preliminary_counts import preliminary_queries
from discreet.accounting.queries import Query
from discreet.accounting.staged_queries import staged_queries
from discreet.analyst.bound_costs import ClippedShare, clipped_shares
from discreet.analyst.equations.normal import counted_rows
from discreet.analyst.summary import settings_used
from discreet.design.columns import Categorical, Column, Fill, Interaction, Missing, Numeric, SplineBasis
from discreet.design.dates import date_text
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.releases.reference_distribution import known
from discreet.releases.release import Release
from discreet.releases.release_summary import describe_column, describe_ledger

_CALIBRATIONS: Final[dict[Calibration, str]] = {
    "gaussian": "exact Gaussian accounting; rounding to integers is covered by delta",
    "discrete-zcdp": "zero-concentrated differential privacy of the discrete Gaussian",
    "pure": "pure differential privacy: delta is 0",
    "chi-square": "exact privacy loss of Wishart noise, from a chi-square variable",
    "composed": "several mechanisms, composed by an accountant",
    "bound": "a proven upper bound on delta",
    "none": "none: NOT PRIVATE",
}
_FAMILIES: Final[dict[NoiseFamily, str]] = {
    "discrete-gaussian": "discrete Gaussian: each number has independent noise",
    "discrete-laplace": "discrete Laplace: each number has independent noise",
    "k-norm": "K-norm: one random vector for all numbers; the noise of different numbers is uncorrelated but dependent",
    "wishart": "Wishart minus its mean: a random matrix whose entries are uncorrelated but dependent",
}
_NUMERICS: Final = {
    "exact": "exact: noise and sums are integers, and the proof covers every published digit",
    "idealised": "idealised: the proof is for real numbers, but the computation uses floating-point arithmetic",
}


@dataclass(frozen=True, slots=True)
class KindWords:
    """Texts of the report for one kind of release."""

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
    """Noise standard deviation of one statistic in scaled units, in total and per row."""

    block: str
    sd: float
    per_row: float | None


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """Description of one declared column, as text."""

    name: str
    role: str
    kind: str
    declared: str
    missing: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a release was made."""

    kind: str  # `moments` or `coefficients`
    mechanism: str
    version: str
    settings: tuple[tuple[str, str], ...]  # name and value of each setting, with the chosen values of automatic ones
    numerics: str  # arithmetic of the mechanism as text
    family: str  # noise distribution as text
    calibration: str
    grid_bits: int  # scaled values are multiples of 2**-grid_bits
    anchor: str  # where the spend is recorded
    made_by: str
    digest: str
    target: str
    intercept: bool
    radius: float | None  # radius to which rows were shrunk
    units_public: int | None  # public number of rows or individuals
    noise: tuple[NoiseLine, ...]
    columns: tuple[DeclaredColumn, ...]
    clipped: tuple[ClippedShare, ...] = ()  # fractions of clipped rows by column, if counted
    staged: bool = False  # whether the release is by `staged`
    found: bool = False  # whether some bounds were estimated privately

    @property
    def words(self) -> KindWords:
        """Texts of the report for this kind of release."""
        return _KINDS[self.kind]


def provenance(release: Release) -> Provenance:
    """Describe how a release was made."""
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
        anchor=describe_ledger(release.anchor),
        made_by=release.made_by,
        digest=release.digest,
        target=design.target,
        intercept=design.intercept,
        radius=design.radius,
        units_public=release.units_public,
        noise=_noise_lines(release),
        columns=tuple(_declared(design, name) for name in design.columns),
        clipped=clipped_shares(release),
        staged=release.staged is not None,
        found=release.discovery is not None,
    )


def _family(release: Release) -> str:
    words = _FAMILIES[release.noise.family]
    terms = release.curators
    if terms is not None and terms.noise == "shares":
        words += f", the sum of {terms.parts} shares, one from each curator"
    # the mean is public, so it can be subtracted by any reader
    return words if release.settings.get("debiased", True) else words.replace("minus its mean", "including its mean")


def _noise_lines(release: Release) -> tuple[NoiseLine, ...]:
    """Return one line for each noise block, in the order of the release's queries."""
    counted = known(counted_rows(release)[0])
    rows = None if counted is None or counted <= 0 else counted
    distribution, labels = release.full_noise, _labels(release)
    names = [name for name, label in labels.items() if name in distribution.sigma and label]
    names += [name for name in sorted(distribution.sigma) if name not in labels]
    lines = [(labels.get(name, name.replace("_", " ")), distribution.sd(name)) for name in names]
    return tuple(NoiseLine(label, sd, None if rows is None else sd / rows) for label, sd in lines)


def _labels(release: Release) -> dict[str, str]:
    """Return the description of every block to which the release adds noise."""
    distribution = release.full_noise
    queries: list[Query] = []
    if release.kind == "moments":
        robust, clip_counts = release.residuals is not None, bool(release.clipped)
        if release.staged is None:
            queries += released_queries(release.design, release.noise, robust=robust, clip_counts=clip_counts)
        else:
            queries += staged_queries(release.design, RowDomain.of(release.design, release.noise.grid_bits))
    queries += preliminary_queries(release.design, distribution)
    return {block: label for query in queries for block, label in query.labels.items()}


def _declared(design: Design, name: str) -> DeclaredColumn:
    column = design.columns[name]
    role = "target" if name == design.target else "regressor" if name in design.offered else "not released"
    role = "weights" if name == design.weights else role
    return DeclaredColumn(name, role, _kind(column), describe_column(column, all_levels=True), _missing(column))


def _kind(column: Column) -> str:
    formula = "" if column.formula is None else f", by the formula {column.formula.text}"
    if isinstance(column, SplineBasis | Interaction):
        return f"{'spline' if isinstance(column, SplineBasis) else 'interaction'}{formula}"
    if isinstance(column, Numeric):
        return "date" if column.is_date else f"number{formula}"
    return f"levels{formula}" if isinstance(column, Categorical) else f"yes or no{formula}"


def _missing(column: Column) -> str:
    if isinstance(column, SplineBasis | Interaction) or column.formula is not None:
        return "follows the columns it uses"
    rule: Missing = column.missing
    if isinstance(rule, Fill):
        dated = isinstance(column, Numeric) and column.is_date
        return f"filled with {date_text(float(rule.value)) if dated else rule.value}"
    return "row dropped" if rule == "drop" else "table refused"
