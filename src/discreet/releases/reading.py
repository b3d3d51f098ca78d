"""Read release files, and reject inconsistent files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from discreet.accounting.curator_shares import PARAMETERS
from discreet.accounting.moment_queries import gaussian_queries
from discreet.accounting.noise_distribution import (
    BEFORE,
    BLOCKS,
    DISCOVERY,
    GUARD,
    RATIO_BLOCK,
    ROWS,
    WEIGHT_STEPS,
    NoiseDistribution,
    Settings,
    distribution_of,
    entry_blocks,
    integer_of,
    integers_of,
    table_of,
    text_of,
)
from discreet.accounting.privacy_loss import TOLERANCE, epsilon_given, keeps
from discreet.accounting.privacy_maps import VERSION, loss_of, published_steps
from discreet.accounting.queries import blocks_of
from discreet.accounting.search_queries import searched_columns, target_searched
from discreet.accounting.settings import MOMENTS, check_stored
from discreet.accounting.staged_queries import (
    BOOLEAN_CENTRE,
    LARGEST_SCALE,
    SCORE_BINS,
    SMALLEST_SCALE,
    UNSEARCHED_SCALE,
    is_staged,
    norm_bins,
    staged_queries,
)
from discreet.design.columns import Numeric
from discreet.design.design import Design
from discreet.design.domain import WEIGHT_BITS, RowDomain, cell_edges
from discreet.errors import DesignError, ReleaseFileError, SpecError, shown
from discreet.exact.linear import entry_count
from discreet.ledger.event_log import PARTS, MergedAnchor
from discreet.privacy.checks import is_integer
from discreet.privacy.gaussian_dp import rho_from
from discreet.privacy.guarantee import LEDGER, LEDGERS, CuratorTerms, Guarantee, checked_sentences
from discreet.privacy.lattice import lattice_curve
from discreet.privacy.spend import UNTRACKED, Loss
from discreet.releases.fields import (
    FORMAT,
    SCHEMA_VERSION,
    SEALS,
    Coefficients,
    DiscoveryPart,
    GuardPart,
    RatioPart,
    ResidualPart,
    StagedPart,
    found_bounds,
)
from discreet.releases.staged_rules import COEFFICIENT_LIMIT, LARGEST_WHITENING, SMALLEST_COEFFICIENT, check_staged
from discreet.text import has_invisible_characters

# -- guarantee ---------------------------------------------------------------------------------------------------------
# Check that the stated noise of a release satisfies its guarantee.

_PURE: Final = ("discrete-laplace", "k-norm")
# far above the rounding of doubles, far below any relevant difference
_CURVE: Final = 1e-9


def checked_loss(
    mechanism: str, design: Design, noise: NoiseDistribution, settings: Settings, guarantee: Guarantee
) -> Loss:
    """Return the privacy loss of the noise, or raise an error if the noise does not satisfy the guarantee."""
    if noise.calibration == "none":
        raise ReleaseFileError("the release is marked private, but its noise is not calibrated to a guarantee")
    if guarantee.delta == 0 and (noise.calibration != "pure" or noise.family not in _PURE):
        raise ReleaseFileError("the guarantee states delta = 0, but this kind of noise needs delta above 0")
    if not guarantee.epsilon > 0:
        raise ReleaseFileError("the guarantee states epsilon = 0, but no noise satisfies it")
    try:
        check_stored(mechanism, settings)
        _check_curve(noise, guarantee)
        loss = loss_of(mechanism, design, noise, settings, guarantee.epsilon, guarantee.delta)
    except SpecError as error:
        raise ReleaseFileError(f"the release file is inconsistent: {error}") from None
    if not keeps(loss, guarantee.epsilon, guarantee.delta):
        raise ReleaseFileError(
            f"the guarantee is stronger than the noise: the release states epsilon = {guarantee.epsilon:g}, "
            f"delta = {guarantee.delta:g}, but {given_in_words(loss, guarantee)}"
        )
    _check_claims(loss, guarantee)
    return loss


def given_in_words(loss: Loss, guarantee: Guarantee) -> str:
    """Describe the guarantee that the noise satisfies, at the stated epsilon or delta."""
    if loss.failure > 0:
        return f"the noise gives delta = {loss.delta:.3g} at epsilon = {loss.epsilon:.6g}"
    epsilon = epsilon_given(loss, guarantee.epsilon, guarantee.delta)
    if not math.isfinite(epsilon):
        return "the noise gives no finite epsilon at that delta"
    return f"the noise gives epsilon = {epsilon:.6g} at delta = {guarantee.delta:g}"


def _check_curve(noise: NoiseDistribution, guarantee: Guarantee) -> None:
    """Check that mu, mu_gap and rho of a guarantee follow from its epsilon and delta, or are omitted."""
    claimed = guarantee.mu, guarantee.mu_gap, guarantee.rho
    if claimed == (None, None, None):
        return
    calibration = noise.calibration if noise.family == "discrete-gaussian" else "none"
    kept: tuple[float | None, ...] = (None, None, None)
    if calibration == "gaussian":
        kept = (*lattice_curve(guarantee.epsilon, guarantee.delta), None)
    elif calibration == "discrete-zcdp":
        kept = (None, None, rho_from(guarantee.epsilon, guarantee.delta))
    for claim, value in zip(claimed, kept, strict=True):
        if (claim is None) != (value is None) or not math.isclose(claim or 0.0, value or 0.0, rel_tol=_CURVE):
            raise ReleaseFileError("mu, mu_gap or rho of the guarantee does not match its epsilon and delta")


def _check_claims(loss: Loss, guarantee: Guarantee) -> None:
    """Check that mu, mu_gap and rho of a guarantee are not below the values that the noise implies."""
    claims = (("mu", guarantee.mu, loss.mu), ("mu_gap", guarantee.mu_gap, loss.tau), ("rho", guarantee.rho, loss.rho))
    for name, claimed, actual in claims:
        if claimed is not None and actual > claimed * (1 + TOLERANCE) ** 2:
            raise ReleaseFileError(
                f"the guarantee states {name} = {claimed:.6g}, but the noise gives {name} = {actual:.6g}"
            )


# -- reading -----------------------------------------------------------------------------------------------------------
# Convert the text of a release file to checked values.

FIELDS: Final = frozenset((
    "format", "schema", "kind", "private", "design", "guarantee", "mechanism", "columns", "noise", "totals",
    "units_public", "anchor", "made_by",
))  # fmt: skip
OPTIONAL: Final = frozenset((
    "residuals", "coefficients", "scalars", "clip_counts", "guard", "discovery", "staged", "curators", "signature",
))  # fmt: skip
_GRAM: Final = ("coefficients", "bound", "totals")
# fields of nested tables, except 'design', 'guarantee' and 'curators', whose readers check them
_INSIDE: Final = {
    "mechanism": ("name", "version", "numerics", "settings"),
    "noise": ("family", "calibration", "grid_bits", "sigma", "parameters", "factors", "indicators", "models"),
    "residuals": (*_GRAM, "ratio", "further"),
    "residuals.ratio": ("ratio", "mean", "bound", "total"),
    "residuals.further": _GRAM,
    "coefficients": ("values", "trace", "ranges"),
    "guard": ("sigma", "fitting", "other"),
    "discovery": ("sigma", "rows", "cells"),
    "staged": (
        "centres",
        "scales",
        "target_centre",
        "norms",
        "radius",
        "missing",
        "line",
        "whitening",
        "score_norms",
        "score_bound",
        "residual_bound",
        "score_products",
    ),
}
_WIDEST_RESIDUAL: Final = 4.0  # largest residual bound that can be declared, in scaled units of the target
_WIDEST_RATIO: Final = 2.0
_NEVER_ABSENT: Final = ("count", "gram_diagonal", "cross")


def parsed(text: str) -> dict[str, Any]:
    """Parse a release file of a known schema."""

    def refuse(name: str) -> float:
        raise ReleaseFileError(f"the number {name} is not allowed in a release file")

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        table = dict(pairs)
        if len(table) != len(pairs):
            raise ReleaseFileError("the release file has a duplicate key")
        return table

    try:
        body = json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    except (json.JSONDecodeError, RecursionError):
        raise ReleaseFileError("this is not a release file: the file is truncated or is not JSON") from None
    except ValueError:
        raise ReleaseFileError("a number in the release file is too long") from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise ReleaseFileError(f"this is not a release file: the field 'format' must be {FORMAT!r}")
    schema = body.get("schema")
    if not is_integer(schema):
        raise ReleaseFileError("the release file must have a schema version")
    if schema != SCHEMA_VERSION:
        raise ReleaseFileError(
            f"the release file has schema version {schema}, but this version of discreet reads version "
            f"{SCHEMA_VERSION}; update discreet"
        )
    return body


def unknown_fields(body: Mapping[str, Any]) -> list[str]:
    """Return the fields of a file, including nested tables, that this version does not read.

    >>> unknown_fields({"kind": "moments", "colour": "red", "noise": {"sigma": {}, "tail": 1}})
    ['colour', 'noise.tail']
    """
    unknown = set(body) - FIELDS - OPTIONAL - SEALS
    for path, allowed in _INSIDE.items():
        outer, _, inner = path.partition(".")
        table = body.get(outer)
        inside = table.get(inner) if inner and isinstance(table, dict) else table
        for item in inside if isinstance(inside, list) else [inside]:
            unknown |= {f"{path}.{name}" for name in item if name not in allowed} if isinstance(item, dict) else set()
    return sorted(unknown)


def release_fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constructor arguments of the release in a file."""
    missing = sorted(FIELDS - set(body))
    if missing:
        raise ReleaseFileError(f"the release file must have the field {missing[0]!r}")
    # the design checks its own strings, because a formula may have several lines
    rest = {name: value for name, value in body.items() if name != "design"}
    if any(map(has_invisible_characters, _texts(rest))):
        raise ReleaseFileError("the release file has a string with invisible characters, which are not allowed")
    if body["kind"] not in ("moments", "coefficients"):
        raise ReleaseFileError(
            f"the release has the kind {shown(body['kind'])}, which this version does not support; update discreet"
        )
    private = body["guarantee"] is not None
    try:
        design = Design.from_dict(ordered_design(table_of(body["design"], "design")))
        curators = _curators(body)
        guarantee = Guarantee.from_dict(_without_conditions(body["guarantee"])) if private else None
        if body["private"] is not private or (guarantee is not None and guarantee.unit != design.unit):
            raise ReleaseFileError("the fields 'guarantee', 'design' and 'private' contradict each other")
        if guarantee is not None:
            guarantee = replace(guarantee, conditions=_conditions(body, design, curators))
    except DesignError as error:
        raise ReleaseFileError(f"the release file is inconsistent: {error.on_one_line()}") from None
    except SpecError as error:
        raise ReleaseFileError(f"the release file is inconsistent: {error}") from None
    if body["columns"] != list(design.released):
        raise ReleaseFileError("the field 'columns' does not match the design")
    units = None if body["units_public"] is None else integer_of(body["units_public"], "units_public")
    if private and (units is None) == (design.unit.neighbours == "replace"):
        raise ReleaseFileError("the field 'units_public' contradicts the neighbouring relation of the design")
    if units is not None and units < 0:
        raise ReleaseFileError("units_public must not be negative")
    mechanism = table_of(body["mechanism"], "mechanism")
    numerics = mechanism.get("numerics", "exact")
    if numerics not in ("exact", "idealised"):
        raise ReleaseFileError("mechanism.numerics must be 'exact' or 'idealised'")
    noise = distribution_of(table_of(body["noise"], "noise"), design)
    _check_shares(noise, curators)
    read = _moments if body["kind"] == "moments" else _coefficients
    name, version = (text_of(mechanism.get(field), f"mechanism.{field}") for field in ("name", "version"))
    settings = _settings(table_of(mechanism.get("settings", {}), "mechanism.settings"))
    parts = read(body, design, noise, units, private=private)
    guard = _guard_part(table_of(body["guard"], "guard")) if "guard" in body else None
    discovery = _discovery_part(body, design, noise)
    if guarantee is not None:
        _check_kind(body, name, version, noise)
        drawn = noise if guard is None else noise.with_before(GUARD, guard.sigma)
        drawn = drawn if discovery is None else drawn.with_before(DISCOVERY, discovery.sigma)
        checked_loss(name, design, drawn, settings, guarantee)
        fitted = parts.get("coefficients")
        if fitted is not None and len(fitted.trace) != published_steps(name, noise, settings):
            raise ReleaseFileError("the number of steps in coefficients.trace does not match the noise")
    return {
        "design": design,
        "guarantee": guarantee,
        "mechanism": name,
        "mechanism_version": version,
        "units_public": units,
        "anchor": text_of(body["anchor"], "anchor"),
        "made_by": text_of(body["made_by"], "made_by"),
        "settings": settings,
        "numerics": numerics,
        "noise": noise,
        "guard": guard,
        "discovery": discovery,
        "curators": curators,
        "signature": _signature(body),
        **parts,
    }


def check_version(name: str, version: str) -> None:
    """Reject a mechanism version whose privacy loss is unknown."""
    if version != VERSION:
        raise ReleaseFileError(
            f"the mechanism {shown(name)} has version {shown(version)}, but this version of discreet supports version "
            f"{VERSION}; update discreet"
        )


def _check_kind(body: Mapping[str, Any], name: str, version: str, noise: NoiseDistribution) -> None:
    """Reject an unknown mechanism version, and fields that the mechanism does not publish."""
    check_version(name, version)
    if (name in MOMENTS) != (body["kind"] == "moments"):
        raise ReleaseFileError(f"the mechanism {shown(name)} does not make releases of kind {shown(body['kind'])}")
    if not (name == "staged") == ("staged" in body) == is_staged(noise):
        raise ReleaseFileError("the field 'staged' contradicts the noise or the mechanism of the release")


def _without_conditions(guarantee: object) -> dict[str, object]:
    table = table_of(guarantee, "guarantee")
    return {**table, "conditions": []} if "conditions" in table else dict(table)


def _conditions(body: Mapping[str, Any], design: Design, curators: CuratorTerms | None) -> tuple[str, ...]:
    """Convert the condition codes of the file to sentences."""
    codes = body["guarantee"]["conditions"]
    if not isinstance(codes, list):
        raise ReleaseFileError("guarantee.conditions must be a list")
    if (LEDGER in codes or LEDGERS in codes) and body["anchor"] == UNTRACKED:
        raise ReleaseFileError(
            "the conditions of the guarantee name a ledger, but the release is untracked; do not use this file"
        )
    if curators is not None and LEDGERS not in codes and body["anchor"] != UNTRACKED:
        raise ReleaseFileError(
            "the anchor names a ledger that the conditions of the guarantee omit; this file must not be used"
        )
    return checked_sentences(codes, design.unit, curators)


def _curators(body: Mapping[str, Any]) -> CuratorTerms | None:
    """Return the terms of a merged release, and check its anchor. Return None if there is one curator."""
    anchor = text_of(body["anchor"], "anchor")
    if "curators" not in body:
        if anchor.startswith(PARTS):
            raise ReleaseFileError(
                "the anchor belongs to a merged release, but this release was made by one curator; do not use this file"
            )
        return None
    terms, merged = CuratorTerms.from_dict(body["curators"]), MergedAnchor.parsed(anchor)
    if anchor != UNTRACKED and (merged is None or not merged.names_each(terms.parts)):
        raise ReleaseFileError("the anchor does not name a ledger for each curator; do not use this file")
    return terms


def _check_shares(noise: NoiseDistribution, curators: CuratorTerms | None) -> None:
    """Check that the number of noise shares matches the curators. A single curator has one share."""
    expected = (1, 1, 1) if curators is None else (curators.shares, curators.counted, curators.parts_per_person)
    if tuple(noise.parameters.get(name, 1) for name in PARAMETERS) != expected:
        raise ReleaseFileError("the noise shares in noise.parameters do not match the field 'curators'")


def _signature(body: Mapping[str, object]) -> str | None:
    return text_of(body["signature"], "signature") if "signature" in body else None


def _texts(table: object) -> Iterator[str]:
    """Yield every string in a JSON value, including keys."""
    waiting = [table]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value


def _moments(
    body: Mapping[str, object], design: Design, noise: NoiseDistribution, units: int | None, *, private: bool
) -> dict[str, Any]:
    size = len(design.released)
    totals = _whole_triangle(body, noise, size)
    if "coefficients" in body:
        raise ReleaseFileError("a release of moments must not have the field 'coefficients'")
    residuals = _residual_part(table_of(body["residuals"], "residuals"), noise, size) if "residuals" in body else None
    if residuals is not None and not design.intercept:
        raise ReleaseFileError("the field 'residuals' requires a design with an intercept")
    scalars = integers_of(table_of(body.get("scalars", {}), "scalars"), "scalars")
    clipped = _clip_counts(body, design)
    if design.weights is not None and noise.parameters.get(WEIGHT_STEPS) != WEIGHT_BITS:
        raise ReleaseFileError(f"noise.parameters of a design with weights must have {WEIGHT_STEPS} = {WEIGHT_BITS}")
    staged = _staged_part(table_of(body["staged"], "staged"), design, noise.grid_bits) if "staged" in body else None
    others = (
        _other_blocks(design, noise, residuals, clip_counts=bool(clipped))
        if staged is None
        else _staged_blocks(body, design, noise, robust=bool(staged.score_products))
    )
    if set(scalars) & {*BLOCKS, *others, *BEFORE} - {ROWS}:
        raise ReleaseFileError("'scalars' must not contain the name of a block of sums")
    plain = staged is None
    if (not plain or design.weights is not None) and (ROWS in scalars) != (ROWS in others):
        raise ReleaseFileError(
            "a release by 'staged' or of rows with weights must have the number of rows in 'scalars', unless that "
            "number is public"
        )
    blocks = tuple(dict.fromkeys((*others, *scalars)))
    if set(noise.sigma) - {*BLOCKS, *blocks} or {*_NEVER_ABSENT, *blocks} - set(noise.sigma):
        raise ReleaseFileError(f"noise.sigma must list the blocks {', '.join((*BLOCKS, *blocks))}")
    if private and any(value < (block != "count") for block, value in noise.sigma.items()):
        raise ReleaseFileError("noise.sigma must be positive")
    if private and (noise.sigma["count"] == 0) != (design.count_public and plain):
        raise ReleaseFileError("noise.sigma.count contradicts the neighbouring relation of the design")
    for block, total in zip(entry_blocks(size), totals, strict=True):
        if (total is None) != (block not in noise.sigma):
            raise ReleaseFileError(f"'totals' and noise.sigma differ on whether the block {block!r} is released")
    whole = tuple(None if total is None else integer_of(total, "totals") for total in totals)
    if any(whole[square] != whole[total] for square, total in noise.copies(size).items()):
        raise ReleaseFileError("the sum of squares of each indicator in 'totals' must equal its sum")
    if private and plain and design.count_public and whole[0] != cast("int", units) * noise.unit:
        raise ReleaseFileError("units_public must equal the row count stored in 'totals'")
    if staged is not None:
        rows = float(units or 0) if design.count_public else scalars[ROWS] / noise.unit
        check_staged(staged, design, noise, cast("tuple[int, ...]", whole), rows)
    parts = {"residuals": residuals, "scalars": scalars, "clipped": clipped, "staged": staged}
    return {"totals": whole, **parts}


def _staged_blocks(
    body: Mapping[str, object], design: Design, noise: NoiseDistribution, *, robust: bool
) -> dict[str, int]:
    """Return the blocks other than moments of a release by `staged`, with their numbers of entries."""
    if {"residuals", "clip_counts"} & set(body):
        raise ReleaseFileError("a release by 'staged' has no residuals and no clip_counts")
    if noise.factors != design.factors or noise.indicators:
        raise ReleaseFileError("noise.factors and noise.indicators do not match the mechanism 'staged'")
    queries = staged_queries(design, RowDomain.of(design, noise.grid_bits), robust=robust)
    return {block: entries for block, entries in blocks_of(queries).items() if block not in BLOCKS}


def _staged_part(table: Mapping[str, object], design: Design, grid_bits: int) -> StagedPart:
    """Return the numbers that define the sums of a release by `staged`, each in its range."""
    if design.radius is not None or design.weights is not None:
        raise ReleaseFileError("'staged' is for a design without a radius and without weights")
    columns = len(design.released) - 2
    centres, scales = (_floats(table.get(name), columns, f"staged.{name}") for name in ("centres", "scales"))
    line = _floats(table.get("line"), columns + 1, "staged.line")
    names = ("target_centre", "radius", "missing", "score_bound", "residual_bound")
    centre, radius, missing, bound, residual = (_floats([table.get(name)], 1, f"staged.{name}")[0] for name in names)
    searched = {column - 1 for column in searched_columns(design)}
    for column, (middle, scale) in enumerate(zip(centres, scales, strict=True)):
        if column in searched and not (-1 <= middle <= 1 and SMALLEST_SCALE <= scale <= LARGEST_SCALE):
            raise ReleaseFileError(
                f"staged: expected centres from -1 to 1 and scales from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}"
            )
        if column not in searched and (middle, scale) != (0, UNSEARCHED_SCALE):
            raise ReleaseFileError(f"staged: expected centre 0 and scale {UNSEARCHED_SCALE:g} for indicators")
    if not -1 <= centre <= 1 or (not target_searched(design) and centre != BOOLEAN_CENTRE):
        raise ReleaseFileError("staged.target_centre: expected a number from -1 to 1, or 0.5 for a boolean target")
    if any(abs(coefficient) > COEFFICIENT_LIMIT or 0 < abs(coefficient) < SMALLEST_COEFFICIENT for coefficient in line):
        raise ReleaseFileError(
            f"staged.line: expected coefficients from -{COEFFICIENT_LIMIT:g} to {COEFFICIENT_LIMIT:g}"
        )
    if not (1 <= radius <= 2**grid_bits and 0 <= missing <= 1 and bound > 0 and residual > 0):
        raise ReleaseFileError(
            "staged: radius must be from 1 to 2^grid_bits, missing from 0 to 1, and score_bound and residual_bound "
            "above 0"
        )
    rows = table.get("whitening")
    if not isinstance(rows, list) or len(rows) != columns + 1:
        raise ReleaseFileError(f"staged.whitening must be a lower triangle of {columns + 1} rows")
    whitening = tuple(_floats(row, place + 1, "a row of staged.whitening") for place, row in enumerate(rows))
    if any(row[-1] <= 0 or max(map(abs, row)) > LARGEST_WHITENING for row in whitening):
        raise ReleaseFileError(
            f"staged.whitening: expected numbers from -{LARGEST_WHITENING:g} to {LARGEST_WHITENING:g}, above 0 on its "
            "diagonal"
        )
    norms, score_norms = (
        _counts(table.get(name), bins, f"staged.{name}")
        for name, bins in (("norms", norm_bins(design)), ("score_norms", SCORE_BINS))
    )
    products = _score_products(table["score_products"], design) if "score_products" in table else ()
    return StagedPart(
        centres, scales, centre, norms, radius, missing, line, whitening, score_norms, bound, residual, products
    )


def _score_products(values: object, design: Design) -> tuple[int, ...]:
    if not design.intercept or design.unit.max_rows > 1:
        raise ReleaseFileError(
            "staged.score_products is for a design with an intercept and at most one row of an individual"
        )
    return _counts(values, entry_count(len(design.released) - 1), "staged.score_products")


def _counts(values: object, size: int, name: str) -> tuple[int, ...]:
    if not isinstance(values, list) or len(values) != size:
        raise ReleaseFileError(f"{name} must be {size} integers as decimal text")
    return tuple(integer_of(value, name) for value in values)


def _other_blocks(
    design: Design, noise: NoiseDistribution, residuals: ResidualPart | None, *, clip_counts: bool
) -> dict[str, int]:
    """Return the number of entries of every noisy block other than the moments."""
    domain, robust = RowDomain.of(design, noise.grid_bits), residuals is not None
    queries = gaussian_queries(design, domain, robust=robust, models=noise.models, clip_counts=clip_counts)
    blocks = {block: entries for block, entries in blocks_of(queries).items() if block not in BLOCKS}
    if residuals is not None and residuals.ratio is None:
        blocks.pop(RATIO_BLOCK, None)
    return blocks


def _whole_triangle(body: Mapping[str, object], noise: NoiseDistribution, size: int) -> list[object]:
    """Return all totals as strings, including zeros that the file leaves out."""
    totals = body["totals"]
    if not isinstance(totals, list) or len(totals) != entry_count(size) - noise.zeros:
        left_out = " without the products inside noise.factors" if noise.zeros else ""
        raise ReleaseFileError(f"'totals' must be the upper triangle of a {size} x {size} matrix{left_out}")
    return noise.with_zeros(totals, size, "0")


def _clip_counts(body: Mapping[str, object], design: Design) -> dict[str, int]:
    if "clip_counts" not in body:
        return {}
    counts = integers_of(table_of(body["clip_counts"], "clip_counts"), "clip_counts")
    if not counts or set(counts) != set(design.clippable):
        raise ReleaseFileError("clip_counts must have exactly one count for each column whose values can be clipped")
    return {name: counts[name] for name in design.clippable}


def _coefficients(
    body: Mapping[str, object], design: Design, noise: NoiseDistribution, units: int | None, *, private: bool
) -> dict[str, Any]:
    size = len(design.released) - 1
    if body["totals"] != [] or {"residuals", "scalars", "clip_counts"} & set(body):
        raise ReleaseFileError("a release of coefficients must not contain sums")
    table = table_of(body.get("coefficients"), "coefficients")
    trace = table.get("trace")
    if not isinstance(trace, list):
        raise ReleaseFileError("coefficients.trace must be a list")
    if not noise.sigma or (private and min(noise.sigma.values()) < 1):
        raise ReleaseFileError("noise.sigma must be positive")
    for block in BEFORE:
        if block in noise.sigma:
            raise ReleaseFileError(f"noise.sigma must not contain {block!r}; its noise belongs in {block}.sigma")
    values = _floats(table.get("values"), size, "coefficients.values")
    steps = tuple(_floats(step, size, "coefficients.trace") for step in trace)
    if not design.intercept and any(constant for constant, *_ in (values, *steps)):
        raise ReleaseFileError("the design has no intercept, so the first of the 'coefficients' must be 0")
    ranges = _ranges(table["ranges"], size - 1) if "ranges" in table else ()
    return {"totals": (), "coefficients": Coefficients(values, steps, ranges)}


def _ranges(pairs: object, size: int) -> tuple[tuple[float, float], ...]:
    """Return the limits to which each column of x is clipped, in scaled units."""
    if not isinstance(pairs, list) or len(pairs) != size:
        raise ReleaseFileError(f"coefficients.ranges must be {size} pairs of numbers")
    ends = [_floats(pair, 2, "each pair of coefficients.ranges") for pair in pairs]
    if any(not -1 <= low <= high <= 1 for low, high in ends):
        raise ReleaseFileError("coefficients.ranges: expected pairs of a lower and an upper end, both from -1 to 1")
    return tuple((low, high) for low, high in ends)


def _guard_part(table: Mapping[str, object]) -> GuardPart:
    return GuardPart(*(integer_of(table.get(name), f"guard.{name}") for name in ("sigma", "fitting", "other")))


def _discovery_part(body: Mapping[str, Any], design: Design, noise: NoiseDistribution) -> DiscoveryPart | None:
    """Return the noisy cell counts, and check that they give the private bounds in the design."""
    if design.searched or (design.ranges and "discovery" not in body):
        raise ReleaseFileError("the design has private bounds, so the release must have the field 'discovery'")
    if "discovery" not in body:
        return None
    table = table_of(body["discovery"], "discovery")
    counts_by_name = table_of(table.get("cells"), "discovery.cells")
    if not counts_by_name or set(counts_by_name) != set(design.ranges):
        raise ReleaseFileError("discovery.cells must list exactly the columns with private bounds")
    cells: dict[str, tuple[int, ...]] = {}
    for name, ends in design.ranges.items():
        counts, expected = counts_by_name[name], len(cell_edges(*ends)) - 1
        if not isinstance(counts, list) or len(counts) != expected:
            raise ReleaseFileError(f"discovery.cells must have {expected} counts for {shown(name)}")
        cells[name] = tuple(integer_of(count, f"discovery.cells.{name}") for count in counts)
    sigma, rows = (integer_of(table.get(name), f"discovery.{name}") for name in ("sigma", "rows"))
    part = DiscoveryPart(sigma, rows, cells)
    if found_bounds(part, design, noise.family) != {name: _bounds(design, name) for name in cells}:
        raise ReleaseFileError("the bounds in the design do not follow from the counts in 'discovery'")
    return part


def _bounds(design: Design, name: str) -> tuple[float, float] | None:
    column = design.columns[name]
    return column.bounds if isinstance(column, Numeric) else None


def _residual_part(table: Mapping[str, object], noise: NoiseDistribution, size: int) -> ResidualPart:
    full, *others = noise.residual_sizes(size)
    if not isinstance(further := table.get("further", []), list) or len(further) != len(others):
        raise ReleaseFileError("residuals.further must have one entry for each model in noise.models")
    ratio = _ratio_part(table_of(table["ratio"], "residuals.ratio")) if "ratio" in table else None
    parts = [_gram_part(table_of(entry, "residuals.further"), k) for entry, k in zip(further, others, strict=True)]
    return replace(_gram_part(table, full), ratio=ratio, further=tuple(parts))


def _gram_part(table: Mapping[str, object], size: int) -> ResidualPart:
    coefficients = _floats(table.get("coefficients"), size, "residuals.coefficients")
    bound, totals = table.get("bound"), table.get("totals")
    if not _is_float(bound) or not 0 < cast("float", bound) <= _WIDEST_RESIDUAL:
        raise ReleaseFileError(f"residuals.bound must be a number above 0 and at most {_WIDEST_RESIDUAL:g}")
    if not isinstance(totals, list) or len(totals) != entry_count(size):
        raise ReleaseFileError(f"residuals.totals must be the upper triangle of a {size} x {size} matrix")
    whole = tuple(integer_of(total, "residuals.totals") for total in totals)
    return ResidualPart(coefficients, cast("float", bound), whole)


def _ratio_part(table: Mapping[str, object]) -> RatioPart:
    numbers = [table.get(name) for name in ("ratio", "mean", "bound")]
    ratio, mean, bound = _floats(numbers, 3, "ratio, mean and bound of residuals.ratio")
    if not 0 < bound <= _WIDEST_RATIO or not 0 <= ratio <= 1 or not -1 <= mean <= 1:
        raise ReleaseFileError(
            f"residuals.ratio must have a bound above 0 and at most {_WIDEST_RATIO:g}, a ratio from 0 to 1 and a mean "
            "from -1 to 1"
        )
    return RatioPart(ratio, mean, bound, integer_of(table.get("total"), "residuals.ratio.total"))


def _floats(values: object, size: int, name: str) -> tuple[float, ...]:
    if not isinstance(values, list) or len(values) != size or not all(map(_is_float, values)):
        raise ReleaseFileError(f"{name} must be {size} numbers")
    return tuple(values)


def _is_float(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _settings(table: Mapping[str, object]) -> Settings:
    for name, value in table.items():
        if not isinstance(value, bool | int | float | str):
            raise ReleaseFileError(f"mechanism.settings.{name} must be a boolean, a number or a string")
        if isinstance(value, float) and not math.isfinite(value):
            raise ReleaseFileError(f"mechanism.settings.{name} must be a finite number")
    return cast("Settings", table)


def ordered_design(table: Mapping[str, object]) -> dict[str, object]:
    """Restore the declared order of the columns, which canonical JSON sorts by name."""
    columns, order = table_of(table.get("columns"), "design.columns"), table.get("order")
    if not isinstance(order, list) or sorted(columns) != sorted(map(str, order)):
        raise ReleaseFileError("design.order must list the declared columns")
    rest = {key: value for key, value in table.items() if key != "order"}
    return rest | {"columns": {name: columns[name] for name in order}}
