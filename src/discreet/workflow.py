"""The straight line: source, bounded rows, moments, mechanism, release, fit. Start reading here."""

from __future__ import annotations

import warnings

from discreet import __version__
from discreet.curator.moments import accumulate
from discreet.curator.opening import ReadOptions, open_source
from discreet.curator.source import ComputeOptions
from discreet.design.domain import DEFAULT_GRID_BITS, RowDomain
from discreet.design.model import Design
from discreet.errors import PrivacyNotice, SpecError
from discreet.mechanisms.noise import ExactSampler
from discreet.mechanisms.registry import mechanism_named
from discreet.privacy.budget import PrivacyBudget, check_strength
from discreet.privacy.spend import SpendHook, SpendRequest, untracked
from discreet.releases import Release


def release(
    data: object,
    design: Design,
    *,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "gaussian",
    grid_bits: int = DEFAULT_GRID_BITS,
    allow_weak_privacy: bool = False,
    encoding: str = "utf-8",
    delimiter: str = ",",
    compute: ComputeOptions | None = None,
    spend: SpendHook = untracked,
) -> Release:
    """Publish noisy moments of a table: the one call that sees rows and spends budget.

    Parameters
    ----------
    data
        A path (CSV, Parquet, Arrow, a folder or a glob), or an in-memory table: pandas, polars, pyarrow, a DuckDB
        relation, a mapping of names to arrays, or a NumPy array whose columns stand in declared order.
    design
        Bounds, levels and rules, declared without looking at the data.
    epsilon, delta
        The budget. The Gaussian mechanism needs `delta` above 0.
    mechanism
        Name of the mechanism.
    grid_bits
        Rows are rounded to the grid of 2**-grid_bits scaled units, 8 to 26.
    allow_weak_privacy
        Accept epsilon above 20 or delta above 1e-3.
    encoding, delimiter
        How CSV files are written.
    compute
        How the work is done; cannot change the result.
    spend
        Called with what is about to be spent, before any noise is drawn; a ledger fills it.

    Returns
    -------
    Release
        Safe to publish under its guarantee. Calling again spends again.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> table = {"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}
    >>> release(table, design, epsilon=1.0, delta=1e-6).columns
    ('1', 'x', 'y')
    """
    if not isinstance(design, Design):
        raise SpecError(f"a Design is needed; {type(design).__name__} came. Use Design(...) or Design.load(path)")
    budget = PrivacyBudget(epsilon, delta)
    for notice in check_strength(budget, allow_weak_privacy):
        warnings.warn(notice, PrivacyNotice, stacklevel=2)
    chosen = mechanism_named(mechanism)
    domain = RowDomain.of(design, grid_bits)
    law = chosen.noise_model(design, domain, budget)
    source = open_source(data, reading=ReadOptions(encoding=encoding, delimiter=delimiter))
    moments = accumulate(source, design, domain, compute or ComputeOptions())
    request = SpendRequest(
        mechanism=chosen.name, budget=budget, unit=design.unit, description=f"moments of {design.target}"
    )
    # recorded before the draw: a crash must not give a free answer
    receipt = spend(request)
    return Release(
        design=design,
        guarantee=chosen.guarantee(design, budget),
        mechanism=chosen.name,
        mechanism_version=chosen.version,
        noise=law,
        totals=chosen.randomise(moments, law, ExactSampler()),
        units_public=moments.units if design.unit.neighbours == "replace" else None,
        anchor=receipt.anchor,
        made_by=f"discreet {__version__}",
    )
