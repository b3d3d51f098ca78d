"""What fits of one process cost together, against sums by hand and an independent curve."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import mpmath
import pytest

from discreet.ledger.account import SessionAccount, together
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.guarantee import Together
from discreet.privacy.spend import Loss, pure_mu


def curve(epsilon: float, mu: float) -> mpmath.mpf:
    """Delta of a mu-Gaussian mechanism at epsilon, from the error function at fifty digits."""
    with mpmath.workdps(50):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)


def test_pure_fits_add_their_epsilons():
    assert together([Loss.pure(0.25)] * 3) == Together(3, 0.75, 0.0)


def test_one_fit_costs_what_it_promises():
    assert together([Loss.gaussian(1.0, 1e-6, mu=0.2, tau=1e-15)]) == Together(1, 1.0, 1e-6)


@pytest.mark.parametrize("fits", [2, 11, 200])
def test_gaussian_fits_are_read_off_the_curve_of_their_summed_squares(fits):
    found = together([Loss.gaussian(1.0, 1e-6, mu=0.2367, tau=1e-25)] * fits)
    truth = curve(found.epsilon, 0.2367 * mpmath.sqrt(fits))
    assert 0.998e-6 < truth <= 0.999e-6
    assert found.delta == 1e-6


def test_what_the_curve_does_not_cover_is_added_to_delta():
    gaussian, bound = Loss.gaussian(1.0, 1e-6, mu=0.2367, tau=1e-9), Loss.approximate(0.5, 1e-5)
    found = together([gaussian, bound])
    mu = mpmath.sqrt(mpmath.mpf(0.2367) ** 2 + mpmath.mpf(pure_mu(0.5)) ** 2)
    needed = curve(found.epsilon, mu) + 1e-5 + (1 + mpmath.exp(found.epsilon)) * 1e-9
    assert needed <= found.delta <= 1.01 * needed


def test_nothing_is_promised_where_the_noise_is_next_to_none():
    for loss in (Loss.gaussian(1e4, 1e-6, mu=9e4, tau=1e-9), Loss.approximate(1.0, 0.6)):
        assert together([loss] * 2).delta > 0.99


def test_threads_share_an_account_and_names_do_not():
    account, unit = SessionAccount(), PrivacyUnit()
    assert account.total("survey", unit) is None
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: account.add("survey", unit, Loss.pure(0.5)), range(64)))
    assert account.total("survey", unit) == Together(64, 32.0, 0.0)
    assert account.with_one_more("survey", unit, Loss.pure(0.5)).fits == 65
    assert account.total("survey", unit).fits == 64
    assert account.total("other", unit) is None
    assert account.total("survey", PrivacyUnit(neighbours="replace")) is None
    assert str(account.add(None, unit, Loss.pure(0.5))) == "1 fit in this process: together epsilon 0.5 at delta 0"
