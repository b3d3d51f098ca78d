"""What one request costs in every currency, against an independent oracle."""

from __future__ import annotations

import mpmath
import pytest

from discreet.errors import SpecError
from discreet.privacy.spend import Loss, pure_mu


def oracle(epsilon: float) -> mpmath.mpf:
    """2 Phi^-1(1 - a), a = 1/(1 + e^epsilon), from the inverse error function at 600 digits."""
    with mpmath.workdps(600):
        return 2 * mpmath.sqrt(2) * mpmath.erfinv(1 - 2 / (1 + mpmath.exp(mpmath.mpf(epsilon))))


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 0.01, 0.1, 0.5, 1.0, 2.5, 8.0, 20.0])
def test_a_pure_request_has_the_gaussian_parameter_of_its_fixed_point_rounded_up(epsilon):
    truth, given = oracle(epsilon), pure_mu(epsilon)
    assert truth <= given <= truth * (1 + 1e-15)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-13, 1001.0, 1e9, 1e300])
def test_beyond_the_exact_range_the_parameter_is_bounded_from_above(epsilon):
    slope = mpmath.sqrt(2 * mpmath.pi) / 2
    assert pure_mu(epsilon) >= min(slope * epsilon * (1 - 1e-12), mpmath.sqrt(4 * mpmath.mpf(epsilon)))


def test_the_parameter_grows_with_epsilon_across_its_ranges():
    grid = [1e-14, 0.99e-12, 1.01e-12, 1e-3, 1.0, 999.0, 1001.0]
    found = [pure_mu(epsilon) for epsilon in grid]
    assert found == sorted(found)


@pytest.mark.no_cover
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_gaussian_curve_lies_below_that_of_a_pure_request(epsilon):
    mu, wrong = mpmath.mpf(pure_mu(epsilon)), mpmath.mpf(pure_mu(epsilon)) * 0.99
    factor = mpmath.exp(epsilon)

    def above(mu: mpmath.mpf) -> list[float]:
        alphas = [mpmath.mpf(k) / 1000 for k in range(1, 1000)] + [1 / (1 + factor)]
        pure = [max(0, 1 - factor * a, (1 - a) / factor) for a in alphas]
        quantiles = [mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * a) for a in alphas]
        return [float(mpmath.ncdf(z - mu) - f) for z, f in zip(quantiles, pure, strict=True)]

    assert max(above(mu)) <= 1e-14
    # negative control: a mu that is 1% too small promises more than epsilon-DP gives
    assert max(above(wrong)) > 1e-4


def test_parts_add_up_rounded_up():
    whole = Loss.together(1.5, 1e-6, [Loss.gaussian(0.5, 1e-7, mu=0.3, tau=1e-9), Loss.approximate(0.5, 1e-8)])
    assert whole.mu >= (0.3**2 + pure_mu(0.5) ** 2) ** 0.5 * (1 - 1e-15)
    assert (whole.tau, whole.failure) == (1e-9, 1e-8)
    assert whole.rho == pytest.approx(0.045 + 0.125)
    assert not whole.is_pure


def test_figures_that_are_none_are_refused():
    with pytest.raises(SpecError, match="at least one part"):
        Loss.together(1.0, 0.0, [])
    for bad in (float("nan"), -1.0, float("inf")):
        with pytest.raises(SpecError, match="mu"):
            Loss.gaussian(1.0, 1e-6, mu=bad, tau=0.0)
        with pytest.raises(SpecError, match="epsilon"):
            Loss.pure(bad)
        with pytest.raises(SpecError, match="tau"):
            Loss.gaussian(1.0, 1e-6, mu=1.0, tau=bad)


def test_a_huge_epsilon_stays_finite():
    assert Loss.pure(1e300).rho > 1e308
