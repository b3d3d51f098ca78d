"""The loss of Laplace noise and the scales that keep it."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from discreet.errors import SpecError
from discreet.primitives.laplace_noise import laplace_epsilon, laplace_scales


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_scales_and_epsilon_are_inverse_and_rounded_to_the_private_side(epsilon):
    draws = random.Random(5)
    for _ in range(100):
        changes = [[draws.uniform(0.1, 9) for _ in range(3)] for _ in range(2)]
        weights = [draws.uniform(0.1, 9) for _ in range(3)]
        scales = laplace_scales(changes, epsilon, weights)
        exact = max(sum(Fraction(c) / Fraction(b) for c, b in zip(v, scales, strict=True)) for v in changes)
        assert Fraction(epsilon) * (1 - Fraction(1, 10**14)) < exact <= Fraction(epsilon)
        assert laplace_epsilon(changes, scales) == pytest.approx(epsilon, rel=1e-14)


def test_losses_and_scales_beyond_the_doubles_are_refused():
    with pytest.raises(SpecError, match="must be in the range of doubles, but one exceeds it"):
        laplace_epsilon(1e308, 1e-308)
    with pytest.raises(SpecError, match="must be in the range of doubles, but one exceeds it"):
        laplace_scales(1e308, 1e-9)
