"""Both sensitivities of the guard's counts, on all pairs of small persons."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.accounting.preliminary_counts import guard_l1_sensitivity, guard_sensitivity
from discreet.privacy.budget import PrivacyUnit


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_both_sensitivities_are_attained_and_never_exceeded(neighbours, rows):
    unit = PrivacyUnit(neighbours=neighbours, id="person", max_rows=rows)
    persons = [(a, b) for a in range(rows + 1) for b in range(rows + 1 - a)]
    others = persons if neighbours == "replace" else [(0, 0)]
    changes = [np.subtract(p, q) for p, q in itertools.product(persons, others)]
    lengths, sizes = [math.hypot(*c) for c in changes], [abs(c).sum() for c in changes]
    assert max(lengths) <= guard_sensitivity(unit) <= max(lengths) * (1 + 1e-15)
    assert max(sizes) == guard_l1_sensitivity(unit)
