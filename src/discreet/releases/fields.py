"""Define the parts of a release other than its moments, and its canonical JSON."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import NormalDist
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

import rfc8785

from discreet.accounting.noise_distribution import ROWS, NoiseFamily, block_of
from discreet.design.design import Design
from discreet.design.domain import cell_edges
from discreet.errors import ReleaseFileError
from discreet.exact.linear import pairs

if TYPE_CHECKING:
    from discreet.releases.release import Release

# -- parts -------------------------------------------------------------------------------------------------------------
# Parts of a release other than its moments: settings, coefficients, sums for robust standard errors.


@dataclass(frozen=True)
class Coefficients:
    """Coefficients of a model that the mechanism fitted inside the trust boundary.

    Attributes
    ----------
    values
        Scaled coefficients of (1, x), the constant first. The constant is 0 in a design without intercept.
    trace
        Released coefficients after each pass, in order, if the mechanism publishes its iterates.
    ranges
        Limits to which the mechanism clipped each released column of x, in scaled units, if they are tighter than the
        declared bounds. For a prediction, x is clipped to them too, and the result to the bounds of the target.
    """

    values: tuple[float, ...]
    trace: tuple[tuple[float, ...], ...] = ()
    ranges: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class StagedPart:
    """Released numbers that define the sums of a release by `staged`, in scaled units of the declared columns.

    A row has z = (x - centre) / scale and the residual r = y - target_centre - (1, z)'line. The sums of the release are
    of three kinds, each in units of its bound: products of w (1, z) / radius with the weights w = min(1, radius / norm
    of (1, z)); scores V (1, z) r / score_bound, shortened to norm 1, in the place of products with the target; and
    squares of r / residual_bound, clipped to 1, in the place of squares of the target.

    Attributes
    ----------
    centres, scales
        One for each released column of x.
    target_centre
        Of the target.
    norms
        Noisy numbers of rows by norm of (1, z), in bins of a quarter octave from 1 on, on the product grid.
    radius, missing
        Bound of the norm of a row in the products, and the estimated part of the squared norms beyond it.
    line
        Coefficients of (1, z) of the pilot line, from noisy sums that are not published.
    whitening
        Rows of the lower triangular matrix V.
    score_norms
        Noisy numbers of rows by norm of V (1, z) r, in bins of half an octave, on the product grid.
    score_bound, residual_bound
        Of the scores and of the residuals.
    score_products
        Upper triangle of the noisy sum of s s' with s the score of a row in units of its bound, row by row, on the
        product grid, for robust standard errors. Empty without them.
    """

    centres: tuple[float, ...]
    scales: tuple[float, ...]
    target_centre: float
    norms: tuple[int, ...]
    radius: float
    missing: float
    line: tuple[float, ...]
    whitening: tuple[tuple[float, ...], ...]
    score_norms: tuple[int, ...]
    score_bound: float
    residual_bound: float
    score_products: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the part as plain values for JSON, integers as decimal text."""
        products = [str(total) for total in self.score_products]
        return {
            "centres": list(self.centres), "scales": list(self.scales), "target_centre": self.target_centre,
            "norms": [str(count) for count in self.norms], "radius": self.radius, "missing": self.missing,
            "line": list(self.line), "whitening": [list(row) for row in self.whitening],
            "score_norms": [str(count) for count in self.score_norms],
            "score_bound": self.score_bound, "residual_bound": self.residual_bound,
        } | ({"score_products": products} if products else {})  # fmt: skip


@dataclass(frozen=True)
class RatioPart:
    """Noisy sum of q^2 for a robust interval of R^2.

    q = residual^2 - ratio (target - mean)^2, in scaled units.

    Attributes
    ----------
    ratio, mean
        Ratio of the residual variance to the target's variance, and mean of the scaled target, from the noisy moments.
    bound
        Limit to which q was clipped, in squared scaled units of the target.
    total
        Noisy sum of (q / bound)^2 on the product grid.
    """

    ratio: float
    mean: float
    bound: float
    total: int


@dataclass(frozen=True)
class ResidualPart:
    """Noisy sum of squared residuals times products of (1, x), for robust standard errors.

    Attributes
    ----------
    coefficients
        Scaled coefficients of (1, x) that define the residuals, computed from the noisy moments.
    bound
        Limit to which residuals were clipped, in scaled units of the target: declared, or computed from the noisy
        moments.
    totals
        Upper triangle of the noisy sum of v v', v = (residual / bound) * (1, x), row by row, on the product grid.
    ratio
        Sum for the interval of R^2 of the full model. None in releases of weighted rows.
    further
        Parts of the additional models, over the features of each model, in the order of `NoiseDistribution.models`.
    """

    coefficients: tuple[float, ...]
    bound: float
    totals: tuple[int, ...]
    ratio: RatioPart | None = None
    further: tuple[ResidualPart, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the part as plain values for JSON, with integers as decimal strings."""
        plain: dict[str, object] = {
            "coefficients": list(self.coefficients),
            "bound": self.bound,
            "totals": [str(total) for total in self.totals],
        }
        if self.ratio is not None:
            ratio = self.ratio
            plain["ratio"] = {
                "ratio": ratio.ratio, "mean": ratio.mean, "bound": ratio.bound, "total": str(ratio.total),
            }  # fmt: skip
        return plain | ({"further": [part.to_dict() for part in self.further]} if self.further else {})


@dataclass(frozen=True)
class GuardPart:
    """Noisy counts that a guard released first.

    Attributes
    ----------
    sigma
        Noise scale of both counts, in steps of the product grid.
    fitting, other
        Noisy counts of the rows that fit the design and of the rows that its rules drop, on the product grid.
    """

    sigma: int
    fitting: int
    other: int


@dataclass(frozen=True, slots=True)
class NoisyCount:
    """Noisy number of rows. It may be negative or above the true number."""

    value: float
    sd: float

    @property
    def words(self) -> str:
        """The count as text, rounded to whole rows and marked as approximate if it is noisy.

        >>> NoisyCount(20_074.3, 24.41).words, NoisyCount(500.0, 0.0).words
        ('about 20,074 (noisy count, standard deviation 24.4)', '500')
        """
        rows = f"{round(self.value):,}"
        return f"about {rows} (noisy count, standard deviation {self.sd:.3g})" if self.sd > 0 else rows


# -- discovery ---------------------------------------------------------------------------------------------------------
# Private bounds: noisy counts of dyadic cells, and the rule that computes bounds from them.
#
# The rule uses noisy counts and public numbers only, so anyone can repeat it. Proof: mechanisms/discovery.proof.md.

Bounds: TypeAlias = tuple[float, float]

# largest probability that noise alone lifts any empty cell of any column above the threshold
FALSE_CELL: Final = Fraction(1, 100)
# bounds are accepted if at least this fraction of rows, by noisy counts, lies between them
LEAST_INSIDE: Final = Fraction(3, 4)
# an end is reported if another release would place it elsewhere with at least this probability
_TIE: Final = 0.1
# smallest move of an end that is reported, as a fraction of the width of the bounds
_MATTERS: Final = 0.05
# largest probability that noise alone makes any empty cell next to the bounds look occupied
_FALSE_ROWS: Final = Fraction(1, 100)
# thresholds are rounded up to thousandths of the noise scale, so they do not depend on the last bits of a logarithm
_PARTS: Final = 1000


@dataclass(frozen=True)
class DiscoveryPart:
    """Noisy counts from which private bounds were computed.

    Attributes
    ----------
    sigma
        Noise scale of every count, in steps of the product grid.
    rows
        Noisy number of included rows, on the product grid.
    cells
        Noisy row counts of the dyadic cells of each column, in declared order, on the product grid.
    """

    sigma: int
    rows: int
    cells: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", MappingProxyType(dict(self.cells)))

    def __reduce__(self) -> tuple[object, ...]:
        # a read-only mapping cannot be pickled
        return DiscoveryPart, (self.sigma, self.rows, dict(self.cells))


def found_bounds(part: DiscoveryPart, design: Design, family: NoiseFamily) -> dict[str, Bounds | None]:
    """Compute the private bounds of each column from noisy counts, or None if they are not found.

    The bounds extend from the lowest to the highest cell whose count exceeds the threshold. They are not found if there
    is no such cell, or if less than three quarters of the rows, by noisy counts, lie between them. The counts have
    Gaussian noise if the noise `family` of the mechanism is Gaussian, and Laplace noise otherwise.

    >>> design = Design("y", {"y": (0, 1), "x": {"bounds": "private", "within": (0, 2)}})
    >>> cells = (0,) * 38 + (900, 40, 60)
    >>> found_bounds(DiscoveryPart(10, 1000, {"x": cells}), design, "discrete-gaussian")
    {'x': (0.25, 2.0)}
    >>> found_bounds(DiscoveryPart(10, 1300, {"x": cells}), design, "discrete-gaussian")
    {'x': (0.25, 2.0)}
    >>> found_bounds(DiscoveryPart(10, 1400, {"x": cells}), design, "discrete-gaussian")
    {'x': None}
    """
    parts = threshold_parts(sum(map(len, part.cells.values())), family)
    bounds: dict[str, Bounds | None] = {}
    for name, counts in part.cells.items():
        kept = _kept(counts, part.sigma, parts)
        run = slice(kept[0], kept[-1] + 1) if kept else slice(0)
        edges = cell_edges(*design.ranges[name])
        enough = sum(counts[run]) >= LEAST_INSIDE * part.rows
        bounds[name] = (edges[run.start], edges[run.stop]) if kept and enough else None
    return bounds


@dataclass(frozen=True, slots=True)
class UnsettledEnd:
    """An end of private bounds that another release of the same table could easily place elsewhere.

    `bounds` are those that the other release would find, and `probability` is the approximate probability of this,
    given the count of this release. `cell` is the decisive cell, and `kept` says whether it lies inside the bounds of
    this release. `count`, `threshold` and `sd` (of the noise) are in steps of the product grid.
    """

    name: str
    bounds: Bounds
    probability: float
    cell: Bounds
    kept: bool
    count: int
    threshold: float
    sd: float


def unsettled_ends(part: DiscoveryPart, design: Design, family: NoiseFamily) -> tuple[UnsettledEnd, ...]:
    """List the ends of private bounds that depend on chance, or outside which there almost certainly are rows.

    The outermost kept cell is listed if another release would drop it with a probability of at least 10%. The next cell
    outside is listed if its count is too large for an empty cell. Noise alone causes this for any end with a
    probability of at most 1%. Ends that would move by less than 5% of the width of the bounds are not listed.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 1), "x": {"bounds": "private", "within": (0, 2)}})
    >>> cells = (0,) * 38 + (900, 40, 30)
    >>> for end in unsettled_ends(DiscoveryPart(10, 1000, {"x": cells}), design, "discrete-gaussian"):
    ...     print(end.bounds, round(end.probability, 2), end.cell, end.kept)
    (0.25, 0.5) 0.36 (0.5, 1.0) True
    (0.25, 2.0) 0.37 (1.0, 2.0) False
    """
    parts = threshold_parts(sum(map(len, part.cells.values())), family)
    threshold = part.sigma * parts / _PARTS
    surely = part.sigma * _factor(float(_FALSE_ROWS / (2 * len(part.cells))), family)
    sd = part.sigma * (1.0 if family == "discrete-gaussian" else math.sqrt(2))
    listed = []
    for name, counts in part.cells.items():
        edges = cell_edges(*design.ranges[name])
        kept = _kept(counts, part.sigma, parts)
        run = (kept[0], kept[-1])
        for side, step in ((0, -1), (1, 1)):
            end, beyond = run[side], run[side] + step
            moves = [(end, kept[1 if side == 0 else -2])] if len(kept) > 1 else []
            moves += [(beyond, beyond)] if 0 <= beyond < len(counts) else []
            for cell, outermost in moves:
                first, last = (outermost, run[1]) if side == 0 else (run[0], outermost)
                bounds, inside = (edges[first], edges[last + 1]), cell == end
                # two independent counts of one cell differ by noise of twice the variance
                above = NormalDist().cdf((counts[cell] - threshold) / (math.sqrt(2) * sd))
                probability = 1 - above if inside else above
                moved = abs(bounds[side] - edges[end + side])
                matters = moved >= _MATTERS * (edges[run[1] + 1] - edges[run[0]])
                if matters and (probability >= _TIE if inside else counts[cell] > surely):
                    ends = (edges[cell], edges[cell + 1])
                    listed.append(UnsettledEnd(name, bounds, probability, ends, inside, counts[cell], threshold, sd))
    return tuple(listed)


def _kept(counts: Sequence[int], sigma: int, parts: int) -> list[int]:
    """Return the indices of the cells whose noisy counts exceed the threshold."""
    return [index for index, count in enumerate(counts) if count * _PARTS > sigma * parts]


def threshold_parts(cells: int, family: NoiseFamily) -> int:
    """Return the threshold of a count in thousandths of its noise scale. `cells` is the number of all cells.

    >>> threshold_parts(492, "discrete-gaussian"), threshold_parts(492, "discrete-laplace")
    (4104, 10111)
    """
    return math.ceil(_factor(float(FALSE_CELL / cells), family) * _PARTS)


def _factor(tail: float, family: NoiseFamily) -> float:
    """Return the number of noise scales that the noise of a count exceeds with probability `tail`."""
    return -NormalDist().inv_cdf(tail) if family == "discrete-gaussian" else -math.log(2 * tail)


# -- canonical ---------------------------------------------------------------------------------------------------------
# The format of a release file: name, version, and digest (SHA-256 over its canonical JSON).

FORMAT: Final = "discreet-release"
SCHEMA_VERSION: Final = 1
# fields that the digest does not cover
SEALS: Final = frozenset(("digest", "signature"))
# larger integers are doubles in the JSON of RFC 8785
_LARGEST_INTEGER: Final = 2**53 - 1


def digest_of(body: Mapping[str, object]) -> str:
    """Return the SHA-256 digest of a release file's content in canonical JSON (RFC 8785).

    >>> digest_of({"schema": 1, "b": 1.0, "a": "ü"}) == digest_of({"a": "ü", "b": 1, "schema": 1, "digest": "x"})
    True
    """
    content = {name: value for name, value in body.items() if name not in SEALS}
    return "sha256:" + hashlib.sha256(canonical_json(content)).hexdigest()


def canonical_json(value: object) -> bytes:
    """Return JSON in the canonical form of RFC 8785.

    >>> canonical_json({"b": [1e21, 0.1], "a": None})
    b'{"a":null,"b":[1e+21,0.1]}'
    """
    try:
        try:
            return rfc8785.dumps(value)  # type: ignore[arg-type]
        except rfc8785.IntegerDomainError:
            return rfc8785.dumps(_as_doubles(value))  # type: ignore[arg-type]
    except (rfc8785.CanonicalizationError, OverflowError, RecursionError, UnicodeEncodeError):
        raise ReleaseFileError("the release file has a value without a canonical JSON form") from None


def _as_doubles(value: object) -> object:
    if isinstance(value, dict):
        return {name: _as_doubles(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_doubles(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST_INTEGER:
        return float(value)
    return value


# -- noise mean --------------------------------------------------------------------------------------------------------
# Subtract the known mean of the noise if the mechanism did not, and read the number of rows.


def centred(release: Release) -> Release:
    """Subtract the known mean of the noise from the sums, unless the mechanism has subtracted it (setting `debiased`).

    Only Wishart noise has a nonzero mean: degrees times scale on the diagonal. It is public, so this costs no privacy.
    """
    distribution = release.noise
    if distribution.family != "wishart" or release.settings.get("debiased", True):
        return release
    size = len(release.columns)
    mean = [
        distribution.parameters["degrees"] * distribution.sigma.get(block_of(i, i, size), 0) if i == j else 0
        for i, j in pairs(size)
    ]
    totals = tuple(
        total if total is None else total - noise_mean for total, noise_mean in zip(release.totals, mean, strict=True)
    )
    return replace(release, totals=totals, settings={**release.settings, "debiased": True})


def released_count(release: Release) -> NoisyCount | None:
    """Return the number of rows, if released. The noise has standard deviation 0 if the number is public."""
    if not release.plain and ROWS in release.scalars:
        return release.counts["rows"]
    if release.kind == "moments" and release.plain:
        value = float(centred(release).moments[0, 0])
        return None if math.isnan(value) else NoisyCount(value, float(release.noise_sd[0, 0]))
    public = release.units_public if release.design.rows_public else None
    return None if public is None else NoisyCount(float(public), 0.0)
