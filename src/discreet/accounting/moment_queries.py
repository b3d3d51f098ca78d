"""List the queries of mechanisms that release moments, and account for their noise. Proof: maps.proof.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from discreet.accounting.moments import (
    clips_l1_sensitivity,
    clips_l2_sensitivity,
    eigenvalue_sensitivity,
    ratio_sensitivity,
    residual_sensitivity,
)
from discreet.accounting.noise_distribution import (
    CLIPPED,
    JOINT,
    RATIO_BLOCK,
    RESIDUAL_BLOCKS,
    ROWS,
    SHARES,
    WEIGHT_STEPS,
    Columns,
    NoiseDistribution,
    model_blocks,
)
from discreet.accounting.privacy_loss import Stated
from discreet.accounting.queries import Account, GramQuery, MomentsQuery, Query, VectorQuery, blocks_of, rows_query
from discreet.accounting.staged_queries import has_score_products, is_staged, staged_queries
from discreet.design.design import Design
from discreet.design.domain import WEIGHT_BITS, RowDomain, model_domain, model_text
from discreet.errors import SpecError
from discreet.exact.linear import entry_count
from discreet.exact.rounding import MARGIN

EIGENVALUE: Final = "smallest_eigenvalue"

# what each single count in `scalars` of a release counts
COUNTED: Final = {ROWS: "rows"}

# -- queries -----------------------------------------------------------------------------------------------------------


def gaussian_queries(
    design: Design,
    domain: RowDomain,
    *,
    robust: bool = False,
    models: Sequence[Columns] = (),
    clip_counts: bool = False,
) -> list[Query]:
    """List the queries of `gaussian`, with or without weights."""
    weighted = design.weights is not None
    queries: list[Query] = [MomentsQuery(design, domain, exact_entries=True)]
    if weighted and not design.rows_public:
        queries.append(rows_query(design))
    if robust:
        queries += residual_queries(design, domain, models)
    queries += [clip_query(design)] if clip_counts else []
    return [*queries, ratio_query()] if robust and not weighted else queries


def released_queries(
    design: Design, distribution: NoiseDistribution, *, robust: bool, clip_counts: bool
) -> list[Query]:
    """List the queries of a release of moments, given what it contains. The release need not be private."""
    domain = RowDomain.of(design, distribution.grid_bits)
    if is_staged(distribution):
        return staged_queries(design, domain, robust=has_score_products(distribution))
    _, *others = gaussian_queries(design, domain, robust=robust, models=distribution.models, clip_counts=clip_counts)
    return [MomentsQuery(design, domain, exact_entries=bool(distribution.factors or distribution.indicators)), *others]


def residual_queries(design: Design, domain: RowDomain, models: Sequence[Columns] = ()) -> list[GramQuery]:
    """List the queries for the residual Gram matrices, first of the full model, then of the additional models."""
    neighbours = design.unit.neighbours
    domains = [domain, *(model_domain(design, domain, columns) for columns in models)]
    sizes = [len(design.released) - 1, *map(len, models)]
    of = ["", *(f", {model_text(design, columns)}" for columns in models)]
    return [
        GramQuery(
            *model_blocks(number),
            columns=size,
            sensitivity=residual_sensitivity(rows, neighbours),  # [P:forward-residuals]
            label=(f"squared residuals times squares{text}", f"squared residuals times products{text}"),
        )
        for number, (rows, size, text) in enumerate(zip(domains, sizes, of, strict=True))
    ]


def ratio_query() -> VectorQuery:
    """Return the query for the sum from which a robust interval for R^2 is computed."""
    return VectorQuery(RATIO_BLOCK, 1, ratio_sensitivity(), label="spread of squared residuals, for R²")


def clip_query(design: Design) -> VectorQuery:
    """Return the query for the number of clipped rows in each column."""
    return VectorQuery(
        CLIPPED,
        len(design.clippable),
        clips_l2_sensitivity(design),
        clips_l1_sensitivity(design),
        label="numbers of clipped rows",
        margin=MARGIN,
    )


def eigenvalue_query(design: Design, domain: RowDomain) -> VectorQuery:
    """Return the query for the smallest eigenvalue of X'X."""
    return VectorQuery(EIGENVALUE, 1, eigenvalue_sensitivity(design, domain), margin=MARGIN)


def one_model_query(design: Design, domain: RowDomain, *, target_square: bool) -> MomentsQuery:
    """Return the query for the moments of one model."""
    return MomentsQuery(design, domain, sums=design.needs_sums, target_square=target_square)


# -- accounts ----------------------------------------------------------------------------------------------------------


def gaussian(stated: Stated) -> Account:
    """Return the privacy account of `gaussian`.

    The release may have weights, or noise that is shared by several curators.
    """
    distribution, design = stated.distribution, stated.design
    weighted, shared = design.weights is not None, SHARES in distribution.parameters
    robust = any(block in distribution.sigma for block in (*RESIDUAL_BLOCKS, RATIO_BLOCK)) or bool(distribution.models)
    queries = gaussian_queries(
        design,
        stated.domain,
        robust=robust and not shared,
        models=[] if shared else stated.models(),
        clip_counts=CLIPPED in distribution.sigma and not (weighted or shared),
    )
    from discreet.accounting.curator_shares import PARAMETERS, check_terms, counted_distribution

    stated.check_count()
    stated.check(
        "discrete-gaussian",
        JOINT,
        blocks_of(queries),
        [WEIGHT_STEPS] if weighted else PARAMETERS if shared else [],
        factors=design.factors,
        indicators=design.indicators,
        models=not shared,
    )  # [P:forward-indicators]
    if weighted and distribution.parameters[WEIGHT_STEPS] != WEIGHT_BITS:
        raise SpecError(f"expected weight_bits = {WEIGHT_BITS}, got {distribution.parameters[WEIGHT_STEPS]}")
    if shared:
        check_terms(distribution, design.unit)
        counted = replace(stated, distribution=counted_distribution(distribution))
        counted.check_scales(distribution.sigma)
        return Account(counted, queries)  # [P:forward-shares]
    return Account(stated, queries)  # [P:forward-weights]


def laplace(stated: Stated) -> Account:
    """Return the privacy account of `laplace`, with or without counts of clipped rows."""
    moments = MomentsQuery(stated.design, stated.domain)
    queries: list[Query] = [moments, *([clip_query(stated.design)] if CLIPPED in stated.distribution.sigma else [])]
    stated.check_count()
    stated.check("discrete-laplace", ("pure",), blocks_of(queries))
    return Account(stated, queries)


def functional(stated: Stated) -> Account:
    """Return the privacy account of `functional`, which releases the squared loss as a polynomial."""
    query = one_model_query(stated.design, stated.domain, target_square=stated.flag("target_square"))
    stated.check_count()
    stated.check("discrete-laplace", ("pure",), query.blocks)
    return Account(stated, [query])


def k_norm(stated: Stated) -> Account:
    """Return the privacy account of `k-norm`, which adds a single noise vector to all moments."""
    query = MomentsQuery(stated.design, stated.domain)
    stated.check_count()
    stated.check("k-norm", ("pure",), query.blocks, ["dimension"])
    dimension = entry_count(stated.size) - stated.design.count_public
    if stated.distribution.parameters["dimension"] != dimension:
        raise SpecError(f"expected dimension = {dimension}, got {stated.distribution.parameters['dimension']}")
    return Account(stated, [query])


def ssp(stated: Stated) -> Account:
    """Return the privacy account of `ssp`, which releases the moments of one model."""
    query = one_model_query(stated.design, stated.domain, target_square=stated.flag("target_square"))
    stated.check_count()
    stated.check("discrete-gaussian", JOINT, query.blocks)
    return Account(stated, [query])


def adassp(stated: Stated) -> Account:
    """Return the privacy account of `adassp`, which releases moments of one model and an eigenvalue of X'X."""
    moments = one_model_query(stated.design, stated.domain, target_square=stated.flag("target_square"))
    queries: list[Query] = [moments, eigenvalue_query(stated.design, stated.domain)]
    stated.check_count()
    stated.check("discrete-gaussian", JOINT, blocks_of(queries))
    return Account(stated, queries)
