"""Release numbers with Gaussian noise on a grid, with analytic (exact) or classical (textbook) calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import OptionError, UnsupportedError
from discreet.exact.rounding import root_up, up
from discreet.mechanisms.sampler import MAX_SIGMA, rounded_up
from discreet.primitives.arguments import (
    Values,
    as_sequence,
    checked_level,
    checked_name,
    checked_privacy,
    data_fractions,
    guarantee_for,
    only_value,
    public_fraction,
    public_length,
    resolve_spelling,
    result_repr,
)
from discreet.primitives.grid_noise import (
    check_range,
    checked_step,
    gaussian_bound,
    gaussian_noise,
    nearest_double,
    on_grid,
)
from discreet.primitives.spending import lattice_loss, spent
from discreet.privacy.gaussian_dp import mu_from
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.lattice import concentrated_mu, delta_left
from discreet.privacy.spend import SpendHook, untracked
from discreet.privacy.textbook import classical_gaussian_sigma
from discreet.wording import SetOption

Calibration = Literal["analytic", "classical", "discrete-zcdp"]


@dataclass(frozen=True, slots=True, repr=False)
class GaussianValues:
    """Values with Gaussian noise on a grid.

    Attributes
    ----------
    values : tuple of float
        Noisy values, which are multiples of `step`.
    value : float
        The noisy value, if there is only one.
    sigma : float
        Standard deviation of the noise in each value.
    step : float
        Step of the public grid.
    calibration : {"analytic", "classical", "discrete-zcdp"}
        Rule by which `sigma` was computed. "discrete-zcdp" is used if the grid is too coarse for "analytic".
    guarantee : Guarantee
    """

    values: tuple[float, ...]
    sigma: float
    step: float
    calibration: Calibration
    guarantee: Guarantee

    @property
    def value(self) -> float:
        """Noisy value, if there is only one."""
        return only_value(self.values)

    def __repr__(self) -> str:
        return result_repr("GaussianValues", self.values, f"Gaussian noise of sigma {self.sigma:.6g}", self.guarantee)

    def half_width(self, level: float = 0.95) -> float:
        """Return the bound that the absolute error of each value does not exceed with probability `level`.

        Parameters
        ----------
        level : float
            Probability for each value separately.

        Returns
        -------
        float

        Examples
        --------
        >>> noisy = gaussian([3.0], sensitivity=1.0, epsilon=1.0, delta=1e-6)
        >>> round(noisy.half_width() / noisy.sigma, 3)
        1.96
        """
        return gaussian_bound(self.sigma, 1, checked_level(level)) + self.step


@dataclass(frozen=True, slots=True)
class LatticeSigma:
    """Standard deviation in whole grid steps, and the calibration by which it was computed."""

    steps: int
    calibration: Calibration


def gaussian(
    values: Values,
    sensitivity: float,
    epsilon: float,
    delta: float,
    *,
    calibration: str = "analytic",
    step: float | None = None,
    neighbours: str = "add-remove",
    neighbors: str | None = None,
    allow_weak_privacy: bool = False,
    spend: SpendHook = untracked,
) -> GaussianValues:
    """Release numbers with Gaussian noise on a public grid.

    Parameters
    ----------
    values : number or sequence of numbers
        Exact values. Their number is public.
    sensitivity : float
        Largest Euclidean distance between the values of two neighbouring tables.
    epsilon, delta : float
        Privacy parameters. Delta must be above 0.
    calibration : {"analytic", "classical"}
        "analytic" adds the smallest Gaussian noise that satisfies (epsilon, delta), for any epsilon (Balle & Wang
        2018). "classical" adds noise with standard deviation sensitivity sqrt(2 ln(1.25/delta)) / epsilon (Dwork & Roth
        2014). Its proof needs epsilon < 1, so larger values are rejected.
    step : float, optional
        Step of the grid. The default is a power of two, about 2^-30 of the sensitivity.
    neighbours : {"add-remove", "replace"}
        Relation for which `sensitivity` was derived.
    neighbors : {"add-remove", "replace"}, optional
        American spelling of `neighbours`.
    allow_weak_privacy : bool
        Accept epsilon above 20 or delta above 1e-3.
    spend : SpendHook
        Called before noise is drawn, such as `Ledger.account` for a data set. If omitted, the spend is not recorded.

    Returns
    -------
    GaussianValues

    Examples
    --------
    >>> round(gaussian(1.5, sensitivity=1.0, epsilon=1.0, delta=1e-6).sigma, 3)
    4.225
    >>> round(gaussian([1.5, 2.5], 1.0, 0.5, 1e-6, calibration="classical").sigma, 3)
    10.598
    """
    relation, epsilon = checked_privacy(resolve_spelling(neighbours, neighbors), epsilon, delta, allow_weak_privacy)
    if checked_name("calibration", calibration, ("analytic", "classical")) == "classical" and epsilon >= 1:
        raise UnsupportedError(
            f"the classical calibration needs epsilon below 1, got {epsilon:g}",
            code="classical-calibration",
            option="epsilon",
            given=epsilon,
            allowed="a number below 1",
            remedy=SetOption("calibration", "analytic"),
        )
    change = public_fraction("sensitivity", sensitivity)
    grid = checked_step(step, change)
    entries = as_sequence(values)
    width = public_length("values", entries)
    # rounding moves each end of a change by at most half a step per coordinate
    moved = change / grid + Fraction(root_up(Fraction(width)))  # [P:gaussian-moved]
    sigma = lattice_sigma(moved, width, epsilon, delta, classical=calibration == "classical")
    check_range(sigma.steps * grid)
    exact = data_fractions("values", entries)
    loss = lattice_loss(moved, width, sigma.steps, epsilon, delta)
    with spent(spend, "gaussian", loss, relation, sigma=sigma.steps, step=grid, values=width):
        noise = gaussian_noise(sigma.steps, width)
    return GaussianValues(
        # [P:gaussian-values]
        tuple(nearest_double((on_grid(x, grid) + z) * grid) for x, z in zip(exact, noise, strict=True)),
        float(sigma.steps * grid),
        float(grid),
        sigma.calibration,
        guarantee_for(epsilon, delta, relation, "the stated sensitivity holds for every pair of neighbouring tables"),
    )


def lattice_sigma(
    sensitivity: Fraction, width: int, epsilon: float, delta: float, *, classical: bool = False
) -> LatticeSigma:
    """Return a standard deviation in whole steps that satisfies (epsilon, delta) with discrete noise.

    >>> lattice_sigma(Fraction(2**30), 1, 1.0, 1e-6).calibration, lattice_sigma(Fraction(1), 1, 1.0, 1e-6).calibration
    ('analytic', 'discrete-zcdp')
    """
    first = _continuous(sensitivity, epsilon, delta, classical=classical)
    remaining_delta = delta_left(epsilon, delta, [(width, first)])
    if remaining_delta is not None:
        sigma = _continuous(sensitivity, epsilon, remaining_delta, classical=classical)  # [P:values-gap-paid]
        return LatticeSigma(sigma, "classical" if classical else "analytic")
    if classical:
        raise OptionError(
            "step is too coarse for the classical calibration at this epsilon and delta",
            code="step-too-coarse",
            option="step",
            remedy="choose a finer step",
        )
    # [P:values-own-zcdp]
    return LatticeSigma(_integer(sensitivity / Fraction(concentrated_mu(epsilon, delta))), "discrete-zcdp")


def _continuous(sensitivity: Fraction, epsilon: float, delta: float, *, classical: bool) -> int:
    textbook = Fraction(classical_gaussian_sigma(up(sensitivity), epsilon, delta)) if classical else Fraction(0)
    # the maximum satisfies the guarantee even if the textbook formula were too small
    return _integer(max(textbook, sensitivity / Fraction(mu_from(epsilon, delta))))  # [P:classical-sigma]


def _integer(sigma: Fraction) -> int:
    if sigma > MAX_SIGMA:
        raise OptionError(
            "step is too fine: the 64-bit sampler cannot draw this noise",
            code="step-too-fine",
            option="step",
            remedy="choose a coarser step",
        )
    return rounded_up(math.ceil(sigma))
