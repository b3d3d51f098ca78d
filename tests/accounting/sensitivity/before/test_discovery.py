"""How far one unit moves counts by cell: on all small pairs of units, and where it is reached."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.accounting.preliminary_counts import bounds_query, discovery_l1_sensitivity, discovery_sensitivity
from discreet.design.design import Design
from discreet.privacy.budget import PrivacyUnit


def vectors(columns, rows, cells=2):
    """What units of up to so many rows add: counts of every cell of every column, and the number of rows."""
    kinds = list(itertools.product(range(cells), repeat=columns))
    for how_many in range(rows + 1):
        for chosen in itertools.combinations_with_replacement(kinds, how_many):
            counts = np.zeros((columns, cells))
            for row in chosen:
                counts[range(columns), row] += 1
            yield np.append(counts.ravel(), how_many)


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (2, 1), (3, 1), (1, 3), (2, 2), (3, 2)])
def test_no_pair_of_units_exceeds_either_sensitivity_and_one_reaches_it(columns, rows):
    person = {"id": "who", "max_rows": rows} if rows > 1 else {}
    units = list(vectors(columns, rows))
    added, exchanged = PrivacyUnit(**person), PrivacyUnit(neighbours="replace", **person)
    lengths = [float(np.linalg.norm(one)) for one in units]
    sizes = [float(np.abs(one).sum()) for one in units]
    assert max(lengths) == pytest.approx(discovery_sensitivity(columns, added), rel=1e-12)
    assert max(lengths) <= discovery_sensitivity(columns, added)
    assert max(sizes) == discovery_l1_sensitivity(columns, added)
    pairs = [one - other for one, other in itertools.combinations(units, 2)]
    assert max(float(one @ one) for one in pairs) == pytest.approx(discovery_sensitivity(columns, exchanged) ** 2)
    assert max(float(np.abs(one).sum()) for one in pairs) == discovery_l1_sensitivity(columns, exchanged)


def test_a_block_has_every_cell_of_every_searched_column_and_the_number_of_rows():
    design = Design("y", {"y": "private", "x": {"bounds": "private", "within": (0, 1)}, "z": (0, 1)})
    block = bounds_query(design)
    assert block.entries == 82 + 41 + 1
    assert block.sensitivity == pytest.approx(math.sqrt(3))
    assert bounds_query(design.with_found({"y": (0.0, 1.0), "x": (0.0, 1.0)})) == block
