"""Check what a release states about its noise, and compose privacy losses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from discreet.accounting.noise_distribution import Calibration, NoiseFamily, NoiseLaw, Settings
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
# What a release states about its noise, and the checks that every map makes of it.

_MOST_STEPS: Final = 2**100
_SIZES: Final = ("count", "sum_x", "gram_diagonal", "gram_off_diagonal", "sum_y", "cross", "target_square")


@dataclass(frozen=True, slots=True)
class Stated:
    """Public quantities that decide a privacy loss.

    Attributes
    ----------
    epsilon, delta
        What is promised: a map that can say only what delta is at some epsilon says it there.
    """

    design: Design
    domain: RowDomain
    law: NoiseLaw
    settings: Settings
    epsilon: float
    delta: float

    @property
    def size(self) -> int:
        """Number of released columns."""
        return len(self.design.released)

    @property
    def fitted(self) -> int:
        """Number of columns of (1, x), or of x without intercept."""
        return self.size - (1 if self.design.intercept else 2)

    def scale(self, block: str) -> Fraction:
        """The scale of a block in scaled units."""
        return Fraction(self.law.sigma[block], self.law.unit)

    def over(self, sensitivity: float | Fraction, block: str) -> Fraction:
        """A sensitivity in scaled units, divided by the scale of a block."""
        return Fraction(sensitivity) / self.scale(block)

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
        """Refuse noise of another family or account, a missing or unknown block or parameter, or no noise at all.

        `factors` are those between whose indicators the mechanism adds no noise, `indicators` those whose squares it
        releases as their sums; with `models` it can sum residuals of further models.
        """
        law = self.law
        if law.models and not models:
            raise SpecError("the noise is that of sums over residuals of further models, which this mechanism has not")
        for columns in law.models:
            if not is_model(self.design, columns):
                raise SpecError(f"expected the columns of a model beside the full one, got {list(columns)}")
        if law.factors != factors:
            raise SpecError(
                f"the noise leaves out products of the factors {list(law.factors)}; expected {list(factors)}"
            )
        if law.indicators != indicators:
            raise SpecError(
                f"the noise has one number for sum and square of the indicators {list(law.indicators)}; "
                f"expected {list(indicators)}"
            )
        _same("the family of the noise", law.family, (family,))
        _same("the calibration of the noise", law.calibration, tuple(calibrations))
        _same_names("scale", law.sigma, blocks)
        _same_names("parameter", law.parameters, parameters)
        self.check_scales(law.sigma)

    def check_scales(self, blocks: Iterable[str]) -> None:
        """Refuse a block without noise, or with more than any release has; a count that is public has none."""
        public = self.design.count_public
        for block in blocks:
            sigma = self.law.sigma[block]
            if block == "count" and public and sigma == 0:
                continue
            if not 1 <= sigma <= _MOST_STEPS:
                raise SpecError(f"expected noise on {block!r} of 1 to 2^100 steps, got a scale of {sigma}")

    def moments_blocks(self, *, sums: bool = True, target_square: bool = True) -> list[str]:
        """Blocks of a release of moments; its count has no noise exactly where the number of rows is public."""
        if "count" in self.law.sigma and (self.law.sigma["count"] == 0) != self.design.count_public:
            raise SpecError("the noise of the count contradicts the neighbouring relation")
        left_out = {*(() if sums else ("sum_x", "sum_y")), *(() if target_square else ("target_square",))}
        return [block for block in _SIZES if block not in left_out]

    def flag(self, name: str) -> bool:
        """A setting that is true or false."""
        value = self.settings.get(name)
        if not isinstance(value, bool):
            raise SpecError(f"the setting {name!r}: expected true or false, got {value!r}")
        return value

    def number(self, name: str, low: float, high: float) -> float:
        """A setting that is a number in a range."""
        value = self.settings.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise SpecError(f"the setting {name!r}: expected a number from {low:g} to {high:g}, got {value!r}")
        return float(value)

    def integer(self, name: str, low: int, high: int) -> int:
        """A setting that is an integer in a range."""
        value = self.number(name, low, high)
        if value != math.floor(value):
            raise SpecError(f"the setting {name!r}: expected an integer, got {value!r}")
        return int(value)

    def word(self, name: str, choices: Iterable[str]) -> str:
        """A setting that is one of some words."""
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
# Whether a loss keeps a promise, and what it gives at the promised delta. Proof: maps.proof.md.

# A loss may exceed a promise by this part: the last bits of logarithms and roots differ between platforms, and the
# search for the worst exchange of two rows ends within a millionth of the maximum. Noise that is so much too small
# raises delta by less than a thousandth of itself, up to epsilon = 50.
TOLERANCE: Final = 2e-6


def gaussian_delta(epsilon: float, mu: float, tau: float) -> float:
    """Delta at epsilon of discrete Gaussian noise with a joint mu, `tau` from its continuous law; 1 if nothing is kept.

    The smaller of the exact curve with the step to the lattice, and of zero-concentrated privacy without one.

    >>> round(gaussian_delta(1.0, 0.2367, 1e-12), 8)
    1e-06
    """
    mu = max(mu, MU_LOWEST)
    if not (0 <= epsilon <= EPSILON_HIGHEST and mu <= MU_HIGHEST):
        return 1.0
    curve = (delta_from(epsilon, mu) + distance_cost(epsilon, tau)) * ROUNDING
    return min(1.0, curve, concentrated_delta(epsilon, mu * mu / 2))


def concentrated_delta(epsilon: float, rho: float) -> float:
    """Delta at epsilon of a rho-zCDP mechanism; 1 if nothing is kept.

    >>> concentrated_delta(1.0, 1e11)
    1.0
    """
    rho = max(rho * ROUNDING, RHO_LOWEST)
    return delta_from_rho(epsilon, rho) if rho <= RHO_HIGHEST else 1.0


def keeps(loss: Loss, epsilon: float, delta: float) -> bool:
    """Whether the loss is within (epsilon, delta), up to `TOLERANCE` of its noise.

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
    """Delta at epsilon of a concentrated loss, if its noise were larger by `TOLERANCE`."""
    mu, rho = loss.mu / (1 + TOLERANCE), loss.rho / (1 + TOLERANCE)
    # only for discrete Gaussian noise is rho half the square of mu
    if loss.tau > 0:
        return gaussian_delta(epsilon, mu, loss.tau)
    return concentrated_delta(epsilon, rho)


def epsilon_given(loss: Loss, epsilon: float, delta: float) -> float:
    """The epsilon that the noise gives at a promised delta; at most the promised epsilon if the promise is kept.

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
# How many releases there are, and what each may spend so that all together keep a budget. Proof: pieces.proof.md.

# steps of `irls`: one by scores is short, one by moments solves the weighted equations
USUAL_ITERATIONS: Final[Mapping[str, int]] = MappingProxyType({"score": 100, "moment": 10})
# epsilons add up, so that every further pass of pure noise costs more than the mean of iterates wins back
PURE_ITERATIONS: Final = 20
# the largest epsilon of a piece that the advanced composition is asked about
_MOST: Final = 100.0
_HALVINGS: Final = 100


def iteration_count(settings: Settings, *, pure: bool = False) -> int:
    """How many steps `irls` takes: those that were asked for, or what the form usually needs.

    >>> iteration_count({"iterations": 0, "form": "score"}), iteration_count({"iterations": 7, "form": "moment"})
    (100, 7)
    """
    usual = PURE_ITERATIONS if pure else USUAL_ITERATIONS[str(settings["form"])]
    return int(settings["iterations"]) or usual


def split(rule: str, epsilon: float, delta: float, releases: int) -> tuple[float, float]:
    """Epsilon and delta of each of so many releases that are together (epsilon, delta)-private by that rule.

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
