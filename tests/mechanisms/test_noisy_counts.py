"""Each count gets one variate of the family that was charged, in unlimited integers."""

from __future__ import annotations

import pytest

from discreet.accounting.noise_distribution import DISCOVERY, GUARD, NoiseDistribution
from discreet.mechanisms.guard import noisy_counts


class Counted:
    private = False

    def __init__(self):
        self.calls = []

    def draw(self, sigmas):
        self.calls.append(("gaussian", *sigmas))
        return list(range(len(sigmas)))

    def laplace(self, scales):
        self.calls.append(("laplace", *scales))
        return list(range(len(scales)))


@pytest.mark.parametrize(
    ("family", "asked"), [("discrete-gaussian", "gaussian"), ("discrete-laplace", "laplace"), ("k-norm", "laplace")]
)
@pytest.mark.parametrize("block", [GUARD, DISCOVERY])
def test_each_count_gets_one_variate_of_its_block(family, asked, block):
    distribution, sampler = NoiseDistribution(8, {GUARD: 5, DISCOVERY: 9}, "pure", family, {"dimension": 3}), Counted()
    assert noisy_counts((2**90, 0, 1), block, distribution, sampler) == [2**90 * 4**8, 1, 4**8 + 2]
    assert sampler.calls == [(asked, *[distribution.sigma[block]] * 3)]
