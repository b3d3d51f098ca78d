"""The one place where noise is drawn: exact discrete Gaussian variates on the integers, from OpenDP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

# above this the sampler's 64-bit result could saturate with probability above exp(-2000)
MAX_SIGMA: Final = 2**57


class Sampler(Protocol):
    """Draws independent discrete Gaussian variates on the integers."""

    @property
    def private(self) -> bool:
        """Whether the draws come from the operating system's randomness through an exact sampler."""
        ...

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """One variate for each parameter: P(z) proportional to exp(-z^2 / (2 sigma^2)); 0 where sigma is 0."""
        ...


class ExactSampler:
    """OpenDP's exact sampler (Canonne, Kamath & Steinke 2020, Algorithm 3); it cannot be seeded.

    >>> len(ExactSampler().draw([3, 5, 3]))
    3
    """

    private = True

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """One variate for each parameter; draws of one parameter come in one call."""
        drawn = [0] * len(sigmas)
        places: dict[int, list[int]] = {}
        for place, sigma in enumerate(sigmas):
            if not 0 <= sigma <= MAX_SIGMA:
                raise ValueError("sigma is outside what the sampler draws exactly")
            if sigma:
                places.setdefault(sigma, []).append(place)
        for sigma, where in places.items():
            for place, value in zip(where, _variates(sigma, len(where)), strict=True):
                drawn[place] = value
        return drawn


def _variates(sigma: int, how_many: int) -> list[int]:
    domains, measurements, metrics = _opendp()
    # drawn for input 0 and added later in unlimited integers, so that no 64-bit sum can saturate
    noise = measurements.make_gaussian(
        domains.vector_domain(domains.atom_domain(T="i64")), metrics.l2_distance(T="f64"), scale=_as_double(sigma)
    )
    return [int(value) for value in noise([0] * how_many)]


def _as_double(sigma: int) -> float:
    exact = float(sigma)
    if int(exact) != sigma:
        raise ValueError("sigma is not representable; round it up to 53 bits first")
    return exact


def rounded_up(sigma: int) -> int:
    """The smallest whole number of at least `sigma` that a double holds exactly.

    >>> rounded_up(5), rounded_up(2**53 + 1)
    (5, 9007199254740994)
    """
    excess = max(0, sigma.bit_length() - 53)
    return -(-sigma >> excess) << excess


def _opendp() -> tuple[Any, Any, Any]:
    """OpenDP through the submodules needed: its prelude imports an order of magnitude more."""
    import opendp.domains
    import opendp.measurements
    import opendp.metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    return opendp.domains, opendp.measurements, opendp.metrics
