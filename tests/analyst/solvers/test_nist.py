"""Reference data sets of NIST: the whole way from rows on the grid to coefficients in original units."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api as sm

from discreet.analyst.model import fit
from discreet.design.design import Design
from support import nist
from support.made_releases import digits, exact_least_squares, made

TABLES = [nist.NORRIS, nist.LONGLEY, *nist.WAMPLER]
# what a regression on the same rows in double precision reaches by itself
STATSMODELS_DIGITS = {"norris": 8, "longley": 8} | {f"wampler{k}": 6 for k in range(1, 6)}
# ours are rounded once
EXACT_DIGITS = 15


def named(tables):
    return pytest.mark.parametrize("table", tables, ids=lambda table: table.name)


def wide_bounds(values):
    """Bounds with room at both ends that no power of two divides."""
    low, high = min(values), max(values)
    room = (high - low) / 7
    return (float(math.floor(low - room)), float(math.ceil(high + room)))


def release_of(table, bounds, grid_bits):
    return made(
        Design(table.target, {name: bounds(values) for name, values in table.columns.items()}),
        table.columns,
        grid_bits=grid_bits,
    )


@named(TABLES)
def test_the_tables_are_typed_right_because_they_give_the_certified_coefficients(table):
    constant = [Fraction(1)] * len(table.columns[table.target])
    solved = exact_least_squares(table.columns[table.target], [constant, *(table.columns[n] for n in table.features)])
    # certified to 15 digits
    assert digits([float(value) for value in solved], table.certified) > 13.5


@named(nist.WAMPLER)
def test_the_first_and_last_rows_of_wampler_are_those_printed(table):
    first, last = nist.WAMPLER_ENDS[table.name]
    assert (table.columns["y"][0], table.columns["y"][-1]) == (Fraction(first), Fraction(last))


@named(TABLES)
@pytest.mark.parametrize("grid_bits", [16, 26])
def test_exact_sums_give_the_coefficients_of_the_rows_behind_them(table, grid_bits):
    source = release_of(table, wide_bounds, grid_bits)
    result = fit(source.release)
    assert result.names == ("Intercept", *table.features)
    rows = source.rows
    exact = exact_least_squares(rows[table.target], [rows["1"], *(rows[name] for name in table.features)])
    assert digits(result.coefficients.tolist(), exact) > EXACT_DIGITS
    direct = sm.OLS(source.matrix([table.target], intercept=False)[:, 0], source.matrix(table.features)).fit()
    assert digits(result.coefficients.tolist(), direct.params.tolist()) > STATSMODELS_DIGITS[table.name]


def binary_bounds(values):
    """Bounds on which integers of moderate size fall on the grid exactly."""
    bound = 2 ** int(max(abs(value) for value in values)).bit_length()
    return (0.0, float(bound)) if min(values) >= 0 else (float(-bound), float(bound))


@named(TABLES)
def test_whole_numbers_on_a_binary_grid_give_the_certified_coefficients(table):
    # tenths are not on a binary grid, ten times a tenth is: undo the factor afterwards
    factors = {
        name: max(value.denominator for value in values) if table.name != "wampler2" or name != "y" else 100_000
        for name, values in table.columns.items()
    }
    whole = nist.Table(
        table.name,
        table.target,
        {name: [value * factors[name] for value in values] for name, values in table.columns.items()},
        table.certified,
    )
    source = release_of(whole, binary_bounds, 26)
    assert all(source.rows[name] == values for name, values in whole.columns.items())
    result = fit(source.release)
    back = np.array([1, *(factors[name] for name in table.features)]) / factors[table.target]
    assert digits((result.coefficients * back).tolist(), table.certified) > 10
