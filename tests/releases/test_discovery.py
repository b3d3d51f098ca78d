"""From noisy counts to bounds: the threshold, the run of cells, and what is not found."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
from scipy import stats

from discreet.design.model import Design
from discreet.releases.discovery import DiscoveryPart, found_bounds, threshold_parts

DESIGN = Design("y", {"y": (0, 1), "x": {"bounds": "private", "within": (0, 4)}, "z": "private"})
EMPTY = (0,) * 82


def found(cells, rows, sigma=10, family="discrete-gaussian"):
    x = (0,) * 37 + tuple(cells)
    return found_bounds(DiscoveryPart(sigma, rows, {"x": x, "z": EMPTY}), DESIGN, family)


@pytest.mark.parametrize("family", ["discrete-gaussian", "discrete-laplace", "k-norm"])
@pytest.mark.parametrize("cells", [41, 82, 1722])
def test_noise_alone_keeps_a_cell_with_a_hundredth_over_all_cells(family, cells):
    law = stats.norm if family == "discrete-gaussian" else stats.laplace
    exceeds = cells * float(law.sf(threshold_parts(cells, family) / 1000))
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
