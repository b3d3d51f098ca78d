"""Textbook mechanisms of differential privacy, each with a proof and exactly sampled noise.

The functions take numbers, and return noisy values and their guarantee. They read no files and need no design.

>>> from discreet import primitives
>>> primitives.discrete_laplace([120, 80], sensitivity=1, epsilon=1.0).guarantee.epsilon
1.0
"""

from __future__ import annotations

from discreet.primitives.counts import NoisyCounts, counting_queries
from discreet.primitives.gaussian_noise import GaussianValues, gaussian
from discreet.primitives.laplace_noise import (
    NoisyIntegers,
    NoisyValues,
    discrete_laplace,
    laplace,
    laplace_epsilon,
    laplace_scales,
)
from discreet.primitives.mean import PrivateMean, private_mean
from discreet.primitives.response import NotEstimable, Proportion, Responses, randomised_response, randomized_response
from discreet.primitives.selection import Choice, NoisyMax, exponential_mechanism, report_noisy_max

__all__ = [
    "Choice",
    "GaussianValues",
    "NoisyCounts",
    "NoisyIntegers",
    "NoisyMax",
    "NoisyValues",
    "NotEstimable",
    "PrivateMean",
    "Proportion",
    "Responses",
    "counting_queries",
    "discrete_laplace",
    "exponential_mechanism",
    "gaussian",
    "laplace",
    "laplace_epsilon",
    "laplace_scales",
    "private_mean",
    "randomised_response",
    "randomized_response",
    "report_noisy_max",
]
