"""Sensitivities of sums that depend on residuals; neighbouring tables are tried in tests/curator/sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.iterations import (
    OFF_WEIGHT,
    gram_l1_sensitivity,
    gram_sensitivity,
    joint_part,
    row_norm,
    weighted_row_shift,
)
from discreet.design.design import Design
from discreet.design.domain import RowDomain


@pytest.mark.parametrize(("gram", "cross"), [(1.0, 1.0), (0.1, 3.0), (5.0, 0.2), (0.0, 1.0)])
def test_the_joint_part_is_the_largest_over_all_cosines(gram, cross):
    cosines = np.linspace(-1, 1, 20_001)
    values = gram * (1 - cosines**2) + cross * (1 + cosines) / 2
    assert joint_part(gram, cross) == pytest.approx(values.max(), rel=1e-7)
    assert joint_part(gram, cross) <= gram + cross


def test_the_gram_of_a_corner_row():
    design = Design("y", {"y": (-1, 1), "x": (-1, 1), "z": (-1, 1)})
    domain = RowDomain.of(design)
    assert gram_sensitivity(design, domain) == pytest.approx(3.0, rel=1e-9)
    assert row_norm(domain, intercept=True) ** 2 == pytest.approx(3.0, rel=1e-9)
    # three entries on the diagonal, three off it
    assert gram_l1_sensitivity(design, domain) == pytest.approx(3 + 3 * math.sqrt(2), rel=1e-9)
    assert OFF_WEIGHT**2 > 2


def test_a_weighted_row_is_as_long_as_a_corner():
    assert weighted_row_shift(RowDomain(2, 0, 0, None, False, 8), 256, 512) == Fraction(13, 4)
