"""Exact sums of a release, and refusals where it does not hold them; the numbers are tested in `test_description`."""

from __future__ import annotations

import statistics
from dataclasses import replace
from fractions import Fraction

import pytest

import discreet
from discreet.releases.description import NoNumberError, ReleasedSums
from discreet.testing import exact_release

DESIGN = discreet.Design("y", {"x": (0, 2), "member": bool, "y": (0, 8)})
RELEASE = exact_release({"x": [0, 1, 2, 1], "member": [True, False, True, True], "y": [2, 5, 6, 7]}, DESIGN)


def test_sums_are_exact_fractions_of_the_scaled_columns():
    sums = ReleasedSums(RELEASE)
    assert sums.count() == 4
    assert sums.total(0, 2) == sums.total(2, 0) == 3
    assert sums.centred_total(1, 1) == Fraction(2)
    assert sums.ends == [(0, 1), (-1, 1), (0, 1), (-1, 1)]
    assert [float(one) for one in sums.half] == [1, 1, 1, 4]


def test_a_number_of_rows_that_noise_took_away_is_refused():
    sums = ReleasedSums(replace(RELEASE, totals=(0, *RELEASE.totals[1:])))
    with pytest.raises(NoNumberError, match="the noisy number of rows is not above 1"):
        sums.count()


def test_an_interaction_is_the_sum_of_two_columns_in_its_own_units():
    columns = {"y": (0, 8), "x": (2, 6), "g": ["a", "b"], "xg": {"formula": "x:g"}}
    table = {"x": [2, 3, 6, 5], "g": ["a", "b", "b", "a"], "y": [2, 5, 6, 7]}
    about = exact_release(table, discreet.Design("y", columns)).describe()
    assert about.mean["xg[b]"] == pytest.approx((3 + 6) / 4)
    assert about.sd["xg[b]"] == pytest.approx(statistics.stdev([0, 3, 6, 0]))
    assert "combines two released columns" in str(about.mean_conf_int()["xg[b]"])
    # the number itself is in the design, so its own interval is there
    assert about.mean_conf_int()["x"] is not None
