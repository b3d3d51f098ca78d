"""Many seeded releases from one pass are the releases that `seeded_release` makes."""

import numpy as np
import pytest

from discreet import Design
from discreet.errors import SpecError
from discreet.testing import seeded_release, summed_table

ROWS = {"x": np.linspace(-1, 1, 40), "z": np.cos(np.arange(40.0)), "y": np.sin(np.arange(40.0))}
UNITS = [{"neighbours": "add-remove"}, {"neighbours": "replace"}]


def design(**unit):
    return Design("y", {"y": (-1, 1), "x": (-1, 1), "z": (-1, 1)}, unit=unit)


@pytest.mark.no_cover
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("mechanism", ["gaussian", "ssp", "adassp", "laplace", "k-norm", "functional", "wishart"])
def test_a_summed_table_gives_the_release_of_a_table_that_is_read_again(mechanism, unit):
    table = summed_table(ROWS, design(**unit))
    delta = 0.0 if mechanism in ("laplace", "k-norm", "functional") else 1e-6
    for seed, epsilon in ((1, 0.5), (2, 2.0), (3, 0.5)):
        asked = {"seed": seed, "epsilon": epsilon, "delta": delta, "mechanism": mechanism}
        made = table.release(**asked)
        assert made == seeded_release(ROWS, design(**unit), **asked)
        assert not made.private


def test_a_mechanism_that_needs_other_sums_is_refused():
    table = summed_table(ROWS, design())
    with pytest.raises(SpecError, match=r"only sums of products are stored; .* with discreet\.testing\.seeded_release"):
        table.release(seed=1, epsilon=1.0, delta=1e-6, mechanism="irls")


def test_tables_of_one_design_share_a_noise_distribution_and_not_their_sums():
    asked = {"seed": 5, "epsilon": 0.7, "delta": 1e-6, "mechanism": "ssp"}
    other = {name: values[::2] for name, values in ROWS.items()}
    one, two = (summed_table(rows, design()).release(**asked) for rows in (ROWS, other))
    assert one.noise == two.noise
    assert two == seeded_release(other, design(), **asked) != one
