"""Check what a release states about its noise, and compose privacy losses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from discreet.accounting.noise_distribution import Calibration, Columns, NoiseDistribution, NoiseFamily, Settings
from discreet.design.design import Design
from discreet.design.domain import RowDomain, is_model
from discreet.errors import SpecError
from discreet.privacy.gaussian_dp import (
    DELTA_HIGHEST,
    DELTA_LOWEST,
    EPSILON_HIGHEST,
    MU_HIGHEST,
    MU_LOWEST,
    RHO_HIGHEST,
    RHO_LOWEST,
    delta_from,
    delta_from_rho,
    epsilon_from,
    epsilon_from_rho,
)
from discreet.privacy.lattice import ROUNDING, distance_cost
from discreet.privacy.spend import Loss
from discreet.privacy.textbook import advanced_composition

# -- stated ------------------------------------------------------------------------------------------------------------
# The stated noise of a release, and checks that all mechanisms share.

_MOST_STEPS: Final = 2**100


@dataclass(frozen=True, slots=True)
class Stated:
    """Public quantities that determine a privacy loss.

    Attributes
    ----------
    epsilon, delta
        The stated guarantee. An account that gives delta at some epsilon gives it at this one.
    """

    design: Design
    domain: RowDomain
    distribution: NoiseDistribution
    settings: Settings
    epsilon: float
    delta: float

    @property
    def size(self) -> int:
        """Number of released columns."""
        return len(self.design.released)

    @property
    def scales(self) -> dict[str, Fraction]:
        """Scale of each block in scaled units."""
        return {block: Fraction(sigma, self.distribution.unit) for block, sigma in self.distribution.sigma.items()}

    def models(self) -> tuple[Columns, ...]:
        """Return the columns of additional models, or reject those that are not columns of a model of the design."""
        for columns in self.distribution.models:
            if not is_model(self.design, columns):
                raise SpecError(f"expected the columns of a model other than the full one, got {list(columns)}")
        return self.distribution.models

    def check(
        self,
        family: NoiseFamily,
        calibrations: Iterable[Calibration],
        blocks: Iterable[str],
        parameters: Iterable[str] = (),
        factors: tuple[tuple[int, int], ...] = (),
        indicators: tuple[tuple[int, int], ...] = (),
        *,
        models: bool = False,
    ) -> None:
        """Reject noise that the mechanism cannot draw.

        Family, calibration, blocks and parameters must be those given here, and every block must have noise. `factors`
        are those between whose indicators the mechanism adds no noise, `indicators` those whose squares it releases as
        their sums. With `models` it can sum residuals of additional models.
        """
        distribution = self.distribution
        if distribution.models and not models:
            raise SpecError(
                "the noise is that of sums over residuals of additional models, which this mechanism does not release"
            )
        self.models()
        if distribution.factors != factors:
            raise SpecError(
                f"the noise leaves out products of the factors {list(distribution.factors)}; expected {list(factors)}"
            )
        if distribution.indicators != indicators:
            raise SpecError(
                f"the noise has one number for sum and square of the indicators {list(distribution.indicators)}; "
                f"expected {list(indicators)}"
            )
        _same("the family of the noise", distribution.family, (family,))
        _same("the calibration of the noise", distribution.calibration, tuple(calibrations))
        _same_names("scale", distribution.sigma, blocks)
        _same_names("parameter", distribution.parameters, parameters)
        self.check_scales(distribution.sigma)

    def check_scales(self, blocks: Iterable[str]) -> None:
        """Reject a block without noise, or with more than any release has. A public count has none."""
        public = self.design.count_public
        for block in blocks:
            sigma = self.distribution.sigma[block]
            if block == "count" and public and sigma == 0:
                continue
            if not 1 <= sigma <= _MOST_STEPS:
                raise SpecError(f"expected noise on {block!r} of 1 to 2^100 steps, got a scale of {sigma}")

    def check_count(self) -> None:
        """Check that the count of a release of moments has no noise exactly where the number of rows is public."""
        if "count" in self.distribution.sigma and (self.distribution.sigma["count"] == 0) != self.design.count_public:
            raise SpecError("the noise of the count contradicts the neighbouring relation")

    def flag(self, name: str) -> bool:
        """Return a setting that is true or false."""
        value = self.settings.get(name)
        if not isinstance(value, bool):
            raise SpecError(f"the setting {name!r}: expected true or false, got {value!r}")
        return value

    def number(self, name: str, low: float, high: float) -> float:
        """Return a setting that is a number in a range."""
        value = self.settings.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise SpecError(f"the setting {name!r}: expected a number from {low:g} to {high:g}, got {value!r}")
        return float(value)

    def integer(self, name: str, low: int, high: int) -> int:
        """Return a setting that is an integer in a range."""
        value = self.number(name, low, high)
        if value != math.floor(value):
            raise SpecError(f"the setting {name!r}: expected an integer, got {value!r}")
        return int(value)

    def word(self, name: str, choices: Iterable[str]) -> str:
        """Return a setting that is one of some words."""
        value = self.settings.get(name)
        _same(f"the setting {name!r}", value, tuple(choices))
        return str(value)


def _same(what: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SpecError(f"{what} is {value!r}, which this mechanism never has; expected {' or '.join(allowed)}")


def _same_names(what: str, given: Mapping[str, int], wanted: Iterable[str]) -> None:
    needed = set(wanted)
    if missing := sorted(needed - set(given)):
        raise SpecError(f"expected a {what} {missing[0]!r} of the noise of this mechanism, got none")
    if unknown := sorted(set(given) - needed):
        raise SpecError(f"got a {what} {unknown[0]!r}, which the noise of this mechanism does not have")


# -- promise -----------------------------------------------------------------------------------------------------------
# Whether a loss satisfies a guarantee, and its epsilon at the stated delta. Proof: maps.proof.md.

# Relative tolerance of the noise: the last bits of logarithms and roots differ between platforms, and the search for
# the worst replacement of a row ends within a millionth of the maximum. Noise that is too small by this raises delta by
# less than a thousandth of itself, up to epsilon = 50.
TOLERANCE: Final = 2e-6


def gaussian_delta(epsilon: float, mu: float, tau: float) -> float:
    """Return delta at epsilon of discrete Gaussian noise with a joint mu, at distance `tau` from continuous.

    It is the smaller of the exact curve with the cost of the lattice, and of zero-concentrated privacy without it. 1 if
    there is no guarantee.

    >>> round(gaussian_delta(1.0, 0.2367, 1e-12), 8)
    1e-06
    """
    mu = max(mu, MU_LOWEST)
    if not (0 <= epsilon <= EPSILON_HIGHEST and mu <= MU_HIGHEST):
        return 1.0
    curve = (delta_from(epsilon, mu) + distance_cost(epsilon, tau)) * ROUNDING
    return min(1.0, curve, concentrated_delta(epsilon, mu * mu / 2))


def concentrated_delta(epsilon: float, rho: float) -> float:
    """Return delta at epsilon of a rho-zCDP mechanism, 1 if there is no guarantee.

    >>> concentrated_delta(1.0, 1e11)
    1.0
    """
    rho = max(rho * ROUNDING, RHO_LOWEST)
    return delta_from_rho(epsilon, rho) if rho <= RHO_HIGHEST else 1.0


def keeps(loss: Loss, epsilon: float, delta: float) -> bool:
    """Return whether the loss is within (epsilon, delta), with a relative `TOLERANCE` for the noise scale.

    >>> keeps(Loss.pure(1.0), 1.0, 0.0), keeps(Loss.pure(1.0), 0.99, 1e-3)
    (True, False)
    """
    if loss.is_pure:
        return loss.epsilon <= epsilon * (1 + TOLERANCE)
    if delta == 0 or epsilon <= 0:
        return False
    if loss.failure > 0:
        return loss.epsilon <= epsilon * (1 + TOLERANCE) and loss.delta <= delta * (1 + TOLERANCE)
    return smaller(loss, epsilon) <= delta * (1 + TOLERANCE)


def smaller(loss: Loss, epsilon: float) -> float:
    """Return delta at epsilon of a concentrated loss, if its noise were larger by `TOLERANCE`."""
    mu, rho = loss.mu / (1 + TOLERANCE), loss.rho / (1 + TOLERANCE)
    # only for discrete Gaussian noise is rho half the square of mu
    if loss.tau > 0:
        return gaussian_delta(epsilon, mu, loss.tau)
    return concentrated_delta(epsilon, rho)


def epsilon_given(loss: Loss, epsilon: float, delta: float) -> float:
    """Return the epsilon of the noise at the stated delta.

    It is at most the stated epsilon if the guarantee is satisfied.

    >>> round(epsilon_given(Loss.gaussian(1.0, 1e-6, mu=0.2, tau=1e-12), 1.0, 1e-6), 3)
    0.834
    """
    if loss.is_pure or loss.failure > 0:
        return loss.epsilon
    found = []
    if loss.tau > 0 and MU_LOWEST <= loss.mu <= MU_HIGHEST:
        left = delta - distance_cost(epsilon, loss.tau)
        if left >= DELTA_LOWEST:
            found.append(epsilon_from(loss.mu, min(left, DELTA_HIGHEST)))
    if RHO_LOWEST <= loss.rho <= RHO_HIGHEST:
        found.append(epsilon_from_rho(loss.rho, min(delta, DELTA_HIGHEST)))
    return min(found, default=math.inf)


# -- composition -------------------------------------------------------------------------------------------------------
# The number of releases, and the budget of each such that all together satisfy the whole. Proof: pieces.proof.md.

# steps of `irls`: one by scores is short, one by moments solves the weighted equations
USUAL_ITERATIONS: Final[Mapping[str, int]] = MappingProxyType({"score": 100, "moment": 10})
# epsilons add up, so every additional pass of pure noise costs more than the mean of iterates gains
PURE_ITERATIONS: Final = 20
# the largest epsilon of a piece for which advanced composition is tried
_MOST: Final = 100.0
_HALVINGS: Final = 100


def iteration_count(settings: Settings, *, pure: bool = False) -> int:
    """Return the number of steps of `irls`: the setting, or what the form usually needs.

    >>> iteration_count({"iterations": 0, "form": "score"}), iteration_count({"iterations": 7, "form": "moment"})
    (100, 7)
    """
    usual = PURE_ITERATIONS if pure else USUAL_ITERATIONS[str(settings["form"])]
    return int(settings["iterations"]) or usual


def split(rule: str, epsilon: float, delta: float, releases: int) -> tuple[float, float]:
    """Return epsilon and delta of each of several releases that together satisfy (epsilon, delta) by a rule.

    >>> [round(part, 7) for part in split("basic", 1.0, 1e-6, 10)]
    [0.1, 1e-07]
    """
    if rule == "basic":
        return epsilon / releases / ROUNDING, delta / releases / ROUNDING  # [P:basic-split]
    low, high = 0.0, min(epsilon, _MOST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if advanced_composition(middle, 0.0, releases, delta / 2)[0] * ROUNDING <= epsilon:  # [P:advanced-split]
            low = middle
        else:
            high = middle
    return low, delta / 2 / releases / ROUNDING
