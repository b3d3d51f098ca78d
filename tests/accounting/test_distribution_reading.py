"""The distribution of the noise survives its table in a release file, and a table that fits no design is refused."""

from __future__ import annotations

import pytest

from discreet.accounting.noise_distribution import distribution_of
from discreet.design.design import Design
from discreet.errors import ReleaseFileError
from discreet.options import RobustErrors
from discreet.planning import noise_distribution_for

DESIGN = Design("y", {"y": (0, 1), "x": (0, 1), "g": ["a", "b", "c"]})
LAW = noise_distribution_for(DESIGN, 1.0, 1e-6, robust=RobustErrors(models=["y ~ x"]))
REFUSED = {
    "family": ({"family": "cauchy"}, "noise.family or noise.calibration is unknown"),
    "grid": ({"grid_bits": 99}, r"noise\.grid_bits must be an integer from 8"),
    "below 0": ({"sigma": {"count": "-1"}}, r"noise\.sigma must not contain negative numbers"),
    "parameters": ({"family": "wishart"}, "must hold positive parameters of the family 'wishart'"),
    "weights": ({"parameters": {"weight_bits": "8"}}, "the design has no weights"),
    "other indicators": ({"indicators": [[1, 1]]}, r"noise\.indicators must hold the first and last column"),
    "no model": ({"models": [[0, 1, 2]]}, r"noise\.models must list the columns of each"),
    "a model twice": ({"models": [[1, 4], [1, 4]]}, "each additional model once"),
}


def test_a_distribution_survives_its_table():
    assert distribution_of(LAW.to_dict(), DESIGN) == LAW
    assert (LAW.factors, LAW.indicators, LAW.models) == (((2, 3),), ((2, 3),), ((1, 4),))


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_hold_together_is_refused(changes, message):
    with pytest.raises(ReleaseFileError, match=message):
        distribution_of(LAW.to_dict() | changes, DESIGN)
