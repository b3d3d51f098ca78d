"""Audit primitives. Every draw is a call of the public function, or one coordinate of its result.

If a function adds independent noise to many numbers, of which a neighbouring table changes only one, then every
coordinate of the result is a separate draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final, TypeAlias

import numpy as np
from scipy.stats import truncexpon, truncnorm

from discreet.audit.judging import Claim
from discreet.audit.noise_tests import Check, distribution_check, integer_check
from discreet.audit.runs import ExactLoss
from discreet.exact.arrays import FloatArray
from discreet.exact.rounding import up
from discreet.primitives.counts import counting_queries
from discreet.primitives.gaussian_noise import gaussian
from discreet.primitives.laplace_noise import discrete_laplace, laplace
from discreet.primitives.mean import private_mean
from discreet.primitives.response import randomised_response, response_epsilon
from discreet.primitives.selection import exponential_mechanism, report_noisy_max
from discreet.privacy.lattice import lattice_curve

# draws outputs; takes epsilon, the side (0 for the table, 1 for its neighbour) and the number of outputs
Drawn: TypeAlias = Callable[[float, int, int], object]
# tests outputs; takes epsilon, the side, the outputs and the level
NoiseTest: TypeAlias = Callable[[float, int, FloatArray, float], Check]

_DELTA: Final = 1e-6
# numbers per call of `laplace`, whose running time is quadratic in this number
_BATCH: Final = 10
# number of scores, of which one rises and the others fall
_SCORES: Final = 10


@dataclass(frozen=True)
class PrimitiveEntry:
    """Primitive to audit, with a pair of inputs.

    `drawn` returns one output per array row. `scaled` maps epsilon to the exact loss of the pair, for primitives that
    state the scale of their noise. `distribution` tests outputs against the stated noise distribution, for primitives
    whose events reveal little about it.
    """

    name: str
    pair: str
    drawn: Drawn
    delta: float = 0.0
    scaled: Callable[[float], float] | None = None
    distribution: NoiseTest | None = None


class PrimitiveSubject:
    """Primitive audited at one epsilon.

    >>> PrimitiveSubject(primitive_entries()["primitives.randomised_response"], 1.0).draws(0, 100).shape
    (100, 1)
    """

    def __init__(self, entry: PrimitiveEntry, epsilon: float) -> None:
        self.name = entry.name
        self.pair = entry.pair
        self._entry = entry
        curve = lattice_curve(epsilon, entry.delta) if entry.delta else (None, 0.0)
        self.claim = Claim(epsilon, entry.delta, *curve)

    def draws(self, side: int, how_many: int) -> FloatArray:
        """Draw outputs of the public function."""
        outputs = np.asarray(self._entry.drawn(self.claim.epsilon, side, how_many), dtype=np.float64)
        return outputs.reshape(len(outputs), -1)[:how_many]

    def exact(self) -> tuple[ExactLoss, ...]:
        """Return the loss of the pair, computed from the noise scale that an output states."""
        if self._entry.scaled is None:
            return ()
        value = self._entry.scaled(self.claim.epsilon)
        if self.claim.mu is None:
            return (ExactLoss(self.pair, "epsilon", value, self.claim.epsilon),)
        return (ExactLoss(self.pair, "mu", value, self.claim.mu),)

    def checks(self, drawn: tuple[FloatArray, FloatArray], alpha: float) -> tuple[Check, ...]:
        """Test the noise distribution. The draws need no other test, because they are calls of the public function."""
        if self._entry.distribution is None:
            return ()
        epsilon = self.claim.epsilon
        return tuple(
            self._entry.distribution(epsilon, side, draws[:, 0], alpha / 2) for side, draws in enumerate(drawn)
        )


def _laplace(epsilon: float, side: int, how_many: int) -> object:
    changes = np.eye(_BATCH).tolist()
    calls = range(-(-how_many // _BATCH))
    return np.concatenate([laplace([float(side)] * _BATCH, changes, epsilon=epsilon).values for _ in calls])


def _laplace_loss(epsilon: float) -> float:
    return up(1 / Fraction(laplace([0.0], 1, epsilon=epsilon).scales[0]))


def _discrete_laplace(epsilon: float, side: int, how_many: int) -> object:
    return discrete_laplace([5 + side] * how_many, 1, epsilon).values


def _discrete_laplace_loss(epsilon: float) -> float:
    return up(1 / Fraction(discrete_laplace([5], 1, epsilon).scale))


def _gaussian(epsilon: float, side: int, how_many: int) -> object:
    return gaussian([float(side)] * how_many, 1.0, epsilon, _DELTA).values


def _gaussian_loss(epsilon: float) -> float:
    return up(1 / Fraction(gaussian([0.0], 1.0, epsilon, _DELTA).sigma))


def _counts(epsilon: float, side: int, how_many: int, delta: float = 0.0) -> object:
    return counting_queries([5 + side] * how_many, epsilon, delta=delta, max_memberships=1).values


def _counts_loss(epsilon: float, delta: float = 0.0) -> float:
    return up(1 / Fraction(counting_queries([5], epsilon, delta=delta, max_memberships=1).scale))


def _mean(epsilon: float, side: int, how_many: int) -> object:
    """Draw noisy means of an empty table (side 0), or of one individual at the upper bound (side 1)."""
    means = [private_mean([1.0][:side], (0, 1), epsilon) for _ in range(how_many)]
    return [(math.nan if mean.value is None else mean.value, mean.size) for mean in means]


def _mean_of_one(epsilon: float, side: int, how_many: int, method: str = "laplace") -> object:
    return [
        private_mean([float(side)], (0, 1), epsilon, neighbours="replace", method=method).value for _ in range(how_many)
    ]


def _response(epsilon: float, side: int, how_many: int) -> object:
    return randomised_response([bool(side)] * how_many, epsilon=epsilon).values


def _response_loss(epsilon: float) -> float:
    return response_epsilon(randomised_response([True], epsilon=epsilon).q)


def _noisy_max(epsilon: float, side: int, how_many: int) -> object:
    return [report_noisy_max(_scores(side), 1, epsilon).index for _ in range(how_many)]


def _noisy_max_loss(epsilon: float) -> float:
    """Return the loss when the score of the winner rises by one and all other scores fall by one."""
    return up(2 / Fraction(report_noisy_max(_scores(0), 1, epsilon).scale))


def _exponential(epsilon: float, side: int, how_many: int) -> object:
    return [exponential_mechanism(range(_SCORES), _scores(side), 1, epsilon).index for _ in range(how_many)]


def _scores(side: int) -> list[int]:
    return [1 - side] + [side] * (_SCORES - 1)


def _test_discrete_laplace(epsilon: float, side: int, drawn: FloatArray, alpha: float) -> Check:
    scale = discrete_laplace([5], 1, epsilon).scale
    return integer_check("noise distribution", {("laplace", scale): drawn - (5 + side)}, alpha)


def _test_rounded_counts(epsilon: float, side: int, drawn: FloatArray, alpha: float) -> Check:
    sigma = counting_queries([5], epsilon, delta=_DELTA, max_memberships=1).scale
    return integer_check("noise distribution", {("rounded gaussian", sigma): drawn - (5 + side)}, alpha)


def _test_absolute_error(epsilon: float, side: int, drawn: FloatArray, alpha: float) -> Check:
    """Test against the density proportional to exp(-s |t - value|) on [0, 1], where s = log((1 + e^epsilon) / 2)."""
    rate = math.log((1 + math.exp(epsilon)) / 2)
    return distribution_check(
        "distribution of the mean", np.abs(drawn - side), truncexpon(rate, scale=1 / rate).cdf, alpha
    )


def _test_squared_error(epsilon: float, side: int, drawn: FloatArray, alpha: float) -> Check:
    """Test against the density proportional to exp(-(epsilon / 2) (t - value)^2) on [0, 1]."""
    scale = 1 / math.sqrt(epsilon)
    return distribution_check(
        "distribution of the mean", np.abs(drawn - side), truncnorm(0, 1 / scale, scale=scale).cdf, alpha
    )


_ONE: Final = "0 or 1"
_PERSON: Final = "one person more"
_FALL: Final = "one score falls, the others rise"
_ENTRIES: Final = (
    PrimitiveEntry("primitives.laplace", _ONE, _laplace, scaled=_laplace_loss),
    PrimitiveEntry(
        "primitives.discrete_laplace",
        _PERSON,
        _discrete_laplace,
        scaled=_discrete_laplace_loss,
        distribution=_test_discrete_laplace,
    ),
    PrimitiveEntry("primitives.gaussian", _ONE, _gaussian, _DELTA, _gaussian_loss),
    PrimitiveEntry("primitives.counting_queries", _PERSON, _counts, scaled=_counts_loss),
    PrimitiveEntry(
        "primitives.counting_queries gaussian",
        _PERSON,
        partial(_counts, delta=_DELTA),
        _DELTA,
        partial(_counts_loss, delta=_DELTA),
        _test_rounded_counts,
    ),
    PrimitiveEntry("primitives.private_mean", "nobody or one person", _mean),
    PrimitiveEntry("primitives.private_mean replace", _ONE, _mean_of_one),
    PrimitiveEntry(
        "primitives.private_mean absolute-error",
        _ONE,
        partial(_mean_of_one, method="absolute-error"),
        distribution=_test_absolute_error,
    ),
    PrimitiveEntry(
        "primitives.private_mean squared-error",
        _ONE,
        partial(_mean_of_one, method="squared-error"),
        distribution=_test_squared_error,
    ),
    PrimitiveEntry("primitives.randomised_response", "yes or no", _response, scaled=_response_loss),
    PrimitiveEntry("primitives.report_noisy_max", _FALL, _noisy_max, scaled=_noisy_max_loss),
    PrimitiveEntry("primitives.exponential_mechanism", _FALL, _exponential),
)


def primitive_entries() -> dict[str, PrimitiveEntry]:
    """Return the entries of all primitives and their variants by name."""
    return {entry.name: entry for entry in _ENTRIES}
