"""From noisy counts to bounds: the threshold, the run of cells, and what is not found."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from scipy import stats

from discreet.design.design import Design
from discreet.design.domain import cell_edges
from discreet.releases.fields import DiscoveryPart, found_bounds, threshold_parts, unsettled_ends

DESIGN = Design("y", {"y": (0, 1), "x": {"bounds": "private", "within": (0, 4)}, "z": "private"})
EMPTY = (0,) * 82


def found(cells, rows, sigma=10, family="discrete-gaussian"):
    x = (0,) * 37 + tuple(cells)
    return found_bounds(DiscoveryPart(sigma, rows, {"x": x, "z": EMPTY}), DESIGN, family)


@pytest.mark.parametrize("family", ["discrete-gaussian", "discrete-laplace", "k-norm"])
@pytest.mark.parametrize("cells", [41, 82, 1722])
def test_noise_alone_keeps_a_cell_with_a_hundredth_over_all_cells(family, cells):
    distribution = stats.norm if family == "discrete-gaussian" else stats.laplace
    exceeds = cells * float(distribution.sf(threshold_parts(cells, family) / 1000))
    assert 0.0099 < exceeds <= 0.01


def test_a_cell_counts_above_the_threshold_and_not_at_it():
    edge = threshold_parts(41 + 82, "discrete-gaussian")
    # in thousandths of a scale of 1000 steps
    assert found((0, 0, edge + 1, 0), edge, sigma=1000)["x"] == (1.0, 2.0)
    assert found((0, 0, edge, 0), edge, sigma=1000)["x"] is None
    assert found((0, 0, 100, 0), 100, family="discrete-laplace")["x"] == (1.0, 2.0)
    assert found((0, 0, 80, 0), 80, family="discrete-laplace")["x"] is None


def test_bounds_are_the_ends_of_the_run_from_the_lowest_to_the_highest_cell():
    assert found((500, -30, 0, 200), 700) == {"x": (0.25, 4.0), "z": None}


def test_three_quarters_of_the_rows_lie_between_bounds_that_are_found():
    assert found((0, 300, 450, 0), 1000)["x"] == (0.5, 2.0)
    assert found((0, 300, 449, 0), 1000)["x"] is None
    # what noise takes from cells inside counts too
    assert found((300, -300, 449, 0), 1000)["x"] is None


def test_a_part_is_read_only_and_travels():
    part = DiscoveryPart(3, 4, {"x": (1, 2)})
    with pytest.raises(TypeError):
        part.cells["x"] = ()
    assert pickle.loads(pickle.dumps(part)) == copy.deepcopy(part) == part
    assert math.isfinite(part.sigma)


def unsettled(cells, within=(0, 4), sigma=1000, family="discrete-gaussian"):
    """Ends that are not settled, of cells counted in thousandths of the scale of the noise."""
    design = Design("y", {"y": (0, 1), "x": {"bounds": "private", "within": within}})
    x = (0,) * (41 - len(cells)) + tuple(cells)
    return unsettled_ends(DiscoveryPart(sigma, sum(x), {"x": x}), design, family)


EDGE = threshold_parts(41, "discrete-gaussian")


def test_ends_far_from_the_threshold_with_empty_cells_beyond_are_settled():
    assert unsettled((0, 90_000, 90_000, 0)) == ()
    assert unsettled((0, 90_000, 90_000, 2_000)) == ()
    # the range ends here: there is no cell beyond
    assert unsettled((0, 0, 90_000, 90_000)) == ()
    assert unsettled((0, 0, 0, 90_000)) == ()


def test_an_outermost_cell_near_the_threshold_is_a_tie():
    (end,) = unsettled((0, 90_000, 90_000, EDGE + 1))
    assert (end.bounds, end.cell, end.kept) == ((0.5, 2.0), (2.0, 4.0), True)
    assert end.probability == pytest.approx(0.5, abs=1e-3)
    assert (end.count, end.threshold, end.sd) == (EDGE + 1, EDGE, 1000)
    # 1.81 standard deviations above it another release drops the cell with a probability of 10%
    assert unsettled((0, 90_000, 90_000, EDGE + 1_800))
    assert unsettled((0, 90_000, 90_000, EDGE + 1_830)) == ()
    # the next kept cell is where the bounds of the other release end
    (end,) = unsettled((0, 90_000, 0, EDGE + 1))
    assert end.bounds == (0.5, 1.0)


def test_a_cell_beyond_that_surely_has_rows_is_listed():
    surely = 1000 * stats.norm.isf(0.01 / 2)
    (end,) = unsettled((0, 90_000, 90_000, math.ceil(surely)))
    assert (end.bounds, end.cell, end.kept) == ((0.5, 4.0), (2.0, 4.0), False)
    assert end.probability == pytest.approx(stats.norm.cdf((surely - EDGE) / 1000 / math.sqrt(2)), abs=1e-3)
    assert unsettled((0, 90_000, 90_000, math.floor(surely))) == ()
    laplace = 1000 * stats.laplace.isf(0.01 / 2)
    (end,) = unsettled((0, 90_000, 90_000, math.ceil(laplace)), family="discrete-laplace")
    assert end.sd == pytest.approx(math.sqrt(2) * 1000)
    assert unsettled((0, 90_000, 90_000, math.floor(laplace)), family="discrete-laplace") == ()


def test_an_end_that_would_hardly_move_is_left_out():
    """A cell that ends at 1/32 of the width is not worth a word, one at the other end is."""
    assert unsettled((EDGE - 1, 90_000, 0, 0, 0, 90_000)) == ()
    (end,) = unsettled((EDGE + 1, 90_000))
    assert (end.bounds, end.cell, end.kept) == ((2.0, 4.0), (1.0, 2.0), True)


def test_empty_cells_beyond_are_listed_with_the_stated_probability():
    """Seeded: 20,000 pairs of ends with noise alone; 1.3% or more has a probability below 1e-4."""
    rng = np.random.default_rng(1)
    design = Design("y", {"y": (0, 1), "x": {"bounds": "private", "within": (-4, 4)}})
    size = len(cell_edges(-4, 4)) - 1
    alarms = 0
    for noise in rng.normal(size=(20_000, size)):
        cells = np.rint(1000 * noise)
        cells[1:-1] = 0
        cells[[1, -2]] = 90_000
        part = DiscoveryPart(1000, 180_000, {"x": tuple(int(one) for one in cells)})
        alarms += bool(unsettled_ends(part, design, "discrete-gaussian"))
    assert 0.007 <= alarms / 20_000 <= 0.013
