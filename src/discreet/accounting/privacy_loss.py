"""Check the noise that a release states, and compare its privacy loss with a guarantee."""

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
# Stated noise of a release, and checks that all mechanisms share.

_MOST_STEPS: Final = 2**100


@dataclass(frozen=True, slots=True)
class Stated:
    """Public statements of a release about its design, its noise, its settings and its guarantee.

    Attributes
    ----------
    epsilon, delta
        Stated guarantee. A loss that is not pure is computed at this epsilon.
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
        """Noise scale of each block, in scaled units."""
        return {block: Fraction(sigma, self.distribution.unit) for block, sigma in self.distribution.sigma.items()}

    def models(self) -> tuple[Columns, ...]:
        """Return the columns of additional models. Reject columns that do not form a model of the design."""
        for columns in self.distribution.models:
            if not is_model(self.design, columns):
                raise SpecError(f"expected the columns of an additional model of the design, got {list(columns)}")
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
        """Reject noise that the mechanism cannot produce.

        Family, calibration, blocks and parameters must equal the arguments, and every block must have noise. The
        distribution must have these `factors` and `indicators`. It may have additional models only with `models`.
        """
        distribution = self.distribution
        if distribution.models and not models:
            raise SpecError(
                "this mechanism takes no additional models, but the noise distribution lists columns of additional "
                "models"
            )
        self.models()
        if distribution.factors != factors:
            raise SpecError(
                f"expected noise.factors = {[list(run) for run in factors]}, got "
                f"{[list(run) for run in distribution.factors]}"
            )
        if distribution.indicators != indicators:
            raise SpecError(
                f"expected noise.indicators = {[list(run) for run in indicators]}, got "
                f"{[list(run) for run in distribution.indicators]}"
            )
        _same("the noise family", distribution.family, (family,))
        _same("the noise calibration", distribution.calibration, tuple(calibrations))
        _same_names("scale", distribution.sigma, blocks)
        _same_names("parameter", distribution.parameters, parameters)
        self.check_scales(distribution.sigma)

    def check_scales(self, blocks: Iterable[str]) -> None:
        """Reject a scale of 0 or an implausibly large one. Only the scale of a public count may be 0."""
        public = self.design.count_public
        for block in blocks:
            sigma = self.distribution.sigma[block]
            if block == "count" and public and sigma == 0:
                continue
            if not 1 <= sigma <= _MOST_STEPS:
                raise SpecError(f"expected a noise scale from 1 to 2^100 steps for {block!r}, got {sigma}")

    def check_count(self) -> None:
        """Check that the row count has no noise if and only if it is public."""
        if "count" in self.distribution.sigma and (self.distribution.sigma["count"] == 0) != self.design.count_public:
            raise SpecError("the row count must have noise unless the neighbouring relation makes it public")

    def flag(self, name: str) -> bool:
        """Return the value of a setting that must be true or false."""
        value = self.settings.get(name)
        if not isinstance(value, bool):
            raise SpecError(f"the setting {name!r}: expected true or false, got {value!r}")
        return value

    def number(self, name: str, low: float, high: float) -> float:
        """Return the value of a setting that must be a number from `low` to `high`."""
        value = self.settings.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise SpecError(f"the setting {name!r}: expected a number from {low:g} to {high:g}, got {value!r}")
        return float(value)

    def integer(self, name: str, low: int, high: int) -> int:
        """Return the value of a setting that must be an integer from `low` to `high`."""
        value = self.number(name, low, high)
        if value != math.floor(value):
            raise SpecError(f"the setting {name!r}: expected an integer, got {value!r}")
        return int(value)

    def word(self, name: str, choices: Iterable[str]) -> str:
        """Return the value of a setting that must be one of `choices`."""
        value = self.settings.get(name)
        _same(f"the setting {name!r}", value, tuple(choices))
        return str(value)


def _same(what: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SpecError(f"{what} must be {' or '.join(map(repr, allowed))} for this mechanism, got {value!r}")


def _same_names(what: str, numbers: Mapping[str, int], names: Iterable[str]) -> None:
    needed = set(names)
    if missing := sorted(needed - set(numbers)):
        raise SpecError(f"the noise of this mechanism needs a {what} {missing[0]!r}, but the release states none")
    if unknown := sorted(set(numbers) - needed):
        raise SpecError(f"the noise of this mechanism takes no {what} {unknown[0]!r}, but the release states one")


# -- promise -----------------------------------------------------------------------------------------------------------
# Comparison of a loss with a guarantee. Proof: maps.proof.md.

# Relative tolerance of noise scales: the last bits of logarithms and roots differ between platforms, and the search for
# the worst replacement of a row ends within a millionth of the maximum. Up to epsilon = 50, noise that is smaller by
# this tolerance raises delta by less than a thousandth.
TOLERANCE: Final = 2e-6
_LARGEST_DELTA: Final = 1 - 2**-19


def gaussian_delta(epsilon: float, mu: float, tau: float) -> float:
    """Return delta at `epsilon` for discrete Gaussian noise with joint `mu`, or 1 if there is no guarantee.

    `tau` is the distance between the discrete and the continuous distribution. The result is the smaller of two bounds.
    One is the exact Gaussian curve plus the cost of `tau`. The other follows from zCDP and has no such cost.

    >>> round(gaussian_delta(1.0, 0.2367, 1e-12), 8)
    1e-06
    """
    mu = max(mu, MU_LOWEST)
    if not (0 <= epsilon <= EPSILON_HIGHEST and mu <= MU_HIGHEST):
        return 1.0
    curve = (delta_from(epsilon, mu) + distance_cost(epsilon, tau)) * ROUNDING
    return min(1.0, curve, concentrated_delta(epsilon, mu * mu / 2))


def concentrated_delta(epsilon: float, rho: float) -> float:
    """Return delta at `epsilon` for a rho-zCDP mechanism, or 1 if there is no guarantee."""
    rho = max(rho * ROUNDING, RHO_LOWEST)
    return delta_from_rho(epsilon, rho) if rho <= RHO_HIGHEST else 1.0


def keeps(loss: Loss, epsilon: float, delta: float) -> bool:
    """Return whether a loss satisfies (epsilon, delta), with a relative tolerance of `TOLERANCE` on the noise scale.

    >>> keeps(Loss.pure(1.0), 1.0, 0.0), keeps(Loss.pure(1.0), 0.99, 1e-3)
    (True, False)
    """
    if loss.is_pure:
        return loss.epsilon <= epsilon * (1 + TOLERANCE)
    if delta == 0 or epsilon <= 0:
        return False
    # a delta of 1 is stated as slightly less, so a guarantee this weak is never confirmed
    most = min(delta * (1 + TOLERANCE), _LARGEST_DELTA)  # [P:weak-delta]
    if loss.failure > 0:
        return loss.epsilon <= epsilon * (1 + TOLERANCE) and loss.delta <= most
    return smaller(loss, epsilon) <= most


def smaller(loss: Loss, epsilon: float) -> float:
    """Return delta at `epsilon` for a Gaussian or zCDP loss whose noise is taken to be larger by `TOLERANCE`."""
    mu, rho = loss.mu / (1 + TOLERANCE), loss.rho / (1 + TOLERANCE)
    # tau is above 0 only for discrete Gaussian noise
    if loss.tau > 0:
        return gaussian_delta(epsilon, mu, loss.tau)
    return concentrated_delta(epsilon, rho)


def epsilon_given(loss: Loss, epsilon: float, delta: float) -> float:
    """Return the epsilon at which a loss satisfies the stated delta.

    >>> round(epsilon_given(Loss.gaussian(1.0, 1e-6, mu=0.2, tau=1e-12), 1.0, 1e-6), 3)
    0.834
    """
    if loss.is_pure or loss.failure > 0:
        return loss.epsilon
    bounds = []
    if loss.tau > 0 and MU_LOWEST <= loss.mu <= MU_HIGHEST:
        left = delta - distance_cost(epsilon, loss.tau)
        if left >= DELTA_LOWEST:
            bounds.append(epsilon_from(loss.mu, min(left, DELTA_HIGHEST)))
    if RHO_LOWEST <= loss.rho <= RHO_HIGHEST:
        bounds.append(epsilon_from_rho(loss.rho, min(delta, DELTA_HIGHEST)))
    return min(bounds, default=math.inf)


# -- composition -------------------------------------------------------------------------------------------------------
# Division of a budget among several releases. Proof: pieces.proof.md.

# default steps of `irls`: score steps are short, and moment steps solve the weighted equations
USUAL_ITERATIONS: Final[Mapping[str, int]] = MappingProxyType({"score": 100, "moment": 10})
# fewer under pure DP, where epsilon grows with every pass
PURE_ITERATIONS: Final = 20
# largest epsilon of one release that advanced composition tries
_MOST: Final = 100.0
_HALVINGS: Final = 100


def iteration_count(settings: Settings, *, pure: bool = False) -> int:
    """Return the number of steps of `irls`: the setting or, if the setting is 0, the default of the form.

    >>> iteration_count({"iterations": 0, "form": "score"}), iteration_count({"iterations": 7, "form": "moment"})
    (100, 7)
    """
    usual = PURE_ITERATIONS if pure else USUAL_ITERATIONS[str(settings["form"])]
    return int(settings["iterations"]) or usual


def split(rule: str, epsilon: float, delta: float, releases: int) -> tuple[float, float]:
    """Return the (epsilon, delta) of each of several releases that together satisfy the given budget.

    `rule` is "basic" or "advanced".

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
