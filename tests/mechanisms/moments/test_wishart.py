"""Wishart noise: its exact loss against independent oracles, its calibration on exact neighbours, its distribution."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

import discreet
from discreet.accounting.chi_square import (
    _cdf,
    absent_delta,
    added_delta,
    exchanged_delta,
    largest_shift,
    present_delta,
)
from discreet.audit.pairs import worst_pairs
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.exact.rounding import EIGHTY_DIGITS
from discreet.mechanisms import wishart
from discreet.mechanisms.gaussian import GaussianMoments
from discreet.mechanisms.protocol import RunContext
from discreet.mechanisms.wishart import Scales, WishartMoments, wishart_noise
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import mu_from
from discreet.privacy.guarantee import Guarantee
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.testing.not_private import SeededSampler, exact_release
from support.tables import random_design, random_table

RELATIONS = ("add-remove", "replace")
DEFAULTS = {"debiased": True, "degrees": 10_000, "fewest": False}
FEW = {"debiased": True, "degrees": 60, "fewest": False}
PAIRS_PER_RELATION = 1000
# draws below come from a seed; the level says how unlikely a right distribution would be to fail
FALSE_ALARM = 1e-6


def distribution_of(design, epsilon=1.0, delta=1e-6, settings=DEFAULTS):
    return WishartMoments().noise_model(design, RowDomain.of(design), PrivacyBudget(epsilon, delta), settings)


def moments_of(design, table) -> tuple[int, ...]:
    return accumulate(open_source(table), design, RowDomain.of(design), ComputeOptions(chunk_rows=4)).values


# --- the exact loss


@pytest.mark.parametrize("degrees", [3, 4, 21, 44, 301, 2000])
def test_the_distribution_function_is_enclosed(degrees):
    with localcontext(EIGHTY_DIGITS), mpmath.workdps(90):
        for value in (1e-9, 0.1, 1.0, degrees / 3, degrees, 2.0 * degrees, 5.0 * degrees):
            low, high = _cdf(degrees, Decimal(value))
            exact = mpmath.gammainc(mpmath.mpf(degrees) / 2, 0, mpmath.mpf(value) / 2, regularized=True)
            assert mpmath.mpf(str(low)) < exact < mpmath.mpf(str(high))
            assert high - low < Decimal("1e-49")
        low, high = _cdf(degrees, Decimal(9 * degrees + 2000))
        upper = mpmath.gammainc(mpmath.mpf(degrees) / 2, mpmath.mpf(9 * degrees + 2000) / 2, regularized=True)
        assert upper < mpmath.mpf("1e-150")
        assert (low, high) == (1 - Decimal("1e-100"), 1)


def integrated(degrees, shift, epsilon, *, present) -> float:
    """E[(1 - e^(epsilon - L))_+] by quadrature of the loss itself, as the specification states it."""
    a = degrees / 2 - 1

    def integrand(c):
        if present:
            loss = -a * math.log1p(shift / c) + shift / 2
        else:
            loss = math.inf if c <= shift else -a * math.log1p(-shift / c) - shift / 2
        return max(0.0, -math.expm1(epsilon - loss)) * stats.chi2.pdf(c, degrees)

    low, high = stats.chi2.ppf(1e-15, degrees), stats.chi2.isf(1e-15, degrees)
    if present:
        turn = shift / math.expm1((shift / 2 - epsilon) / a) if shift > 2 * epsilon else high
    else:
        turn = shift / -math.expm1(-(epsilon + shift / 2) / a)
    points = sorted({low, high, *(p for p in (shift, turn) if low < p < high)})
    pieces = itertools.pairwise(points)
    return sum(integrate.quad(integrand, x, y, epsabs=1e-16, epsrel=1e-11, limit=200)[0] for x, y in pieces)


@pytest.mark.parametrize(
    ("degrees", "shift", "epsilon"),
    [(3, 0.4, 0.1), (8, 2.5, 1.0), (8, 4.0, 0.5), (43, 1.0, 1.0), (43, 6.0, 2.0), (300, 9.0, 0.3), (2000, 25.0, 1.0)],
)
def test_the_closed_form_is_the_integral_of_the_loss(degrees, shift, epsilon):
    arguments = degrees, Fraction(shift), Fraction(epsilon)
    for delta, present in ((absent_delta(*arguments), False), (present_delta(*arguments), True)):
        expected = integrated(degrees, shift, epsilon, present=present)
        assert float(delta) == pytest.approx(expected, rel=1e-8, abs=1e-14)
    assert added_delta(*arguments) == max(absent_delta(*arguments), present_delta(*arguments))


def simulated_gains(degrees, change, epsilon, *, draws, seed):
    """(1 - e^(epsilon - L))_+ for Wishart matrices S, L the log ratio of the density at S and at S + change."""
    size = len(change)
    here = stats.wishart(degrees, np.eye(size)).rvs(draws, random_state=np.random.default_rng(seed))
    there = here + change
    inside = np.linalg.eigvalsh(there).min(axis=1) > 0
    loss = np.full(draws, math.inf)
    ratio = np.linalg.slogdet(here[inside])[1] - np.linalg.slogdet(there[inside])[1]
    loss[inside] = (degrees - size - 1) / 2 * ratio + np.trace(change) / 2
    return np.maximum(0, -np.expm1(epsilon - loss))


def test_the_closed_form_is_the_loss_between_wishart_densities():
    """Likelihood ratios of whole matrices under both tables, by simulation: 3 x 3, a row of squared length 2.5."""
    row = np.array([1.0, 1.0, math.sqrt(0.5)])
    for delta, sign in ((absent_delta, -1), (present_delta, 1)):
        gains = simulated_gains(8, sign * np.outer(row, row), 0.5, draws=40_000, seed=1)
        error = 5 * gains.std() / math.sqrt(40_000)
        assert abs(gains.mean() - float(delta(6, Fraction(5, 2), Fraction(1, 2)))) < error
        # teeth: degrees of freedom that are off by one do not fit
        assert abs(gains.mean() - float(delta(5, Fraction(5, 2), Fraction(1, 2)))) > error


def test_delta_grows_with_the_length_of_the_row_and_falls_with_epsilon():
    for degrees in (5, 43, 400):
        deltas = [added_delta(degrees, Fraction(k, 4), Fraction(1)) for k in range(1, 40)]
        assert deltas == sorted(deltas)
        falling = [added_delta(degrees, Fraction(3), Fraction(k, 4)) for k in range(1, 40)]
        assert falling == sorted(falling, reverse=True)


def test_very_small_deltas_are_not_lost_to_rounding():
    with mpmath.workdps(60):
        for degrees, shift, epsilon in ((400, 1.0, 1.0), (1001, 2.0, 1.0), (3000, 3.0, 1.0)):
            s, r, eps = mpmath.mpf(degrees) / 2, mpmath.mpf(shift), mpmath.mpf(epsilon)
            c = r / (1 - mpmath.exp(-(eps + r / 2) / (s - 1)))
            exact = mpmath.gammainc(s, 0, c / 2, regularized=True) - mpmath.exp(eps) * mpmath.gammainc(
                s, 0, (c - r) / 2, regularized=True
            )
            got = mpmath.mpf(str(absent_delta(degrees, Fraction(shift), Fraction(epsilon))))
            assert exact <= got <= exact * (1 + mpmath.mpf("1e-20"))
            assert got < 1e-9


def test_the_loss_of_the_table_with_the_row_is_bounded_by_half_the_shift():
    assert present_delta(43, Fraction(2), Fraction(1)) == 0
    assert 0 < present_delta(43, Fraction(2), Fraction(9, 10)) < 1
    # just above the bound: the threshold lies beyond all that has any probability
    assert 0 <= present_delta(43, Fraction(2) + Fraction(1, 10**40), Fraction(1)) < Decimal("1e-99")
    # large epsilon: the second term is left out, and delta is still below 1
    assert 0 < present_delta(200, Fraction(90), Fraction(40)) < 1


def test_exchanging_a_row_costs_at_least_as_much_as_adding_one_and_holds_for_every_split():
    for degrees, shift, epsilon in ((43, 0.7, 1.0), (1000, 5.0, 1.0), (60, 9.0, 4.0)):
        r, eps = Fraction(shift), Fraction(epsilon)
        added = added_delta(degrees, r, eps)
        for share in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
            assert exchanged_delta(degrees, r, eps, eps * share) >= added


def test_exchanging_a_row_is_covered_on_simulated_matrices():
    """Two orthogonal rows exchanged, 3 x 3: the simulated delta is below the bound, and above that of one row."""
    gains = simulated_gains(102, np.diag([8.0, -8.0, 0.0]), 0.5, draws=40_000, seed=2)
    error = 5 * gains.std() / math.sqrt(40_000)
    shift, epsilon = Fraction(8), Fraction(1, 2)
    best = min(exchanged_delta(100, shift, epsilon, epsilon * Fraction(k, 20)) for k in range(1, 20))
    assert gains.mean() - error < float(best)
    assert gains.mean() - error > float(added_delta(100, shift, epsilon)), "one row alone would not cover it"


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-12), (1.0, 1e-6), (5.0, 1e-3), (40.0, 1e-6), (1e6, 1e-6)])
def test_the_largest_shift_meets_delta_and_a_thousandth_more_breaks_it(epsilon, delta, exchanged):
    for degrees in (12, 500):
        shift, share = largest_shift(degrees, epsilon, delta, exchanged=exchanged)

        def proved(r, degrees=degrees, share=share):
            r, eps = Fraction(r), Fraction(epsilon)
            return (
                exchanged_delta(degrees, r, eps, eps * Fraction(share)) if exchanged else added_delta(degrees, r, eps)
            )

        assert proved(shift) <= delta * (1 + 1e-6)
        assert proved(shift * 1.001) > delta


def test_the_published_claim_of_epsilon_alone_is_false():
    """d + 1 degrees of freedom at scale R^2 / (2 eps'): other supports with probability 1 - exp(-eps')."""
    rng = np.random.default_rng(3)
    for epsilon in (0.1, 1.0):
        with localcontext(EIGHTY_DIGITS):
            low, high = _cdf(2, Decimal(2 * epsilon))
        assert float(low) == pytest.approx(-math.expm1(-epsilon), rel=1e-12)
        assert high < Decimal(1)
        noise = stats.wishart(5, np.eye(4)).rvs(5000, random_state=rng)
        noise[:, 0, 0] -= 2 * epsilon
        outside = (np.linalg.eigvalsh(noise).min(axis=1) < 0).mean()
        assert outside == pytest.approx(-math.expm1(-epsilon), abs=5 * 0.5 / math.sqrt(5000))


def test_figures_of_the_literature_at_d_5():
    """47 degrees of freedom suffice where 430 were published; the noise stays above that of the Gaussian release."""
    enough = [k for k in range(7, 60) if added_delta(k - 4, Fraction(1), Fraction(1)) <= Decimal("1e-6")]
    assert enough[0] == 47
    gaussian = 1 / (math.sqrt(2) * mu_from(1.0, 1e-6))
    sds = [math.sqrt(k) / largest_shift(k - 4, 1.0, 1e-6, exchanged=False)[0] for k in (47, 300, 1146, 10_000, 100_000)]
    assert sds == sorted(sds, reverse=True)
    assert sds[-1] > gaussian
    assert sds[2] == pytest.approx(3.385, abs=1e-3)
    assert sds[-1] < 1.02 * gaussian


# --- calibration on tables


def row_length2(design, scales, totals) -> Fraction:
    """Trace of a change after every column is divided by its scale; for one row its squared length."""
    size = len(design.released)
    columns = scales.columns(size)
    diagonal = [totals[i * size - i * (i - 1) // 2] for i in range(size)]
    return sum((Fraction(d, t * t) for d, t in zip(diagonal, columns, strict=True)), start=Fraction(0))


def is_one_row(design, totals) -> bool:
    """Whether a change is v v' for one vector v: every two by two minor vanishes."""
    size = len(design.released)
    full = np.zeros((size, size), dtype=object)
    full[np.triu_indices(size)] = totals
    full = full + full.T - np.diag(np.diag(full))
    return all(full[0, 0] * full[i, j] == full[0, i] * full[0, j] for i in range(size) for j in range(size))


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_row_is_longer_than_the_shift_the_noise_was_calibrated_for(neighbours):
    """Exact: a neighbour differs by one product v v' (add-remove) or by two (replace), none longer than claimed."""
    rng = np.random.default_rng(41 + len(neighbours))
    checked = 0
    while checked < PAIRS_PER_RELATION:
        missing = str(rng.choice(["error", "drop"]))
        design = random_design(rng, neighbours=neighbours, missing=missing, derived=bool(rng.random() < 0.3))
        scales = Scales.of(distribution_of(design, float(10 ** rng.uniform(-1, 1)), settings=FEW))
        bound = scales.shift(RowDomain.of(design))
        base = random_table(design, 6, rng)
        index = int(rng.integers(0, 6))
        without = {name: [*values[:index], *values[index + 1 :]] for name, values in base.items()}
        rest = moments_of(design, without)
        for _ in range(40):
            row = random_table(design, 1, rng)
            table = {name: [*values[:index], *row[name], *values[index:]] for name, values in without.items()}
            change = [a - b for a, b in zip(moments_of(design, table), rest, strict=True)]
            assert is_one_row(design, change)
            assert row_length2(design, scales, change) <= bound
            checked += 1


@pytest.mark.parametrize("radius", [None, 0.7])
@pytest.mark.parametrize("settings", [FEW, DEFAULTS], ids=["few", "many"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-12), (3.0, 1e-5)])
def test_the_corner_row_spends_delta_and_no_more(radius, settings, epsilon, delta):
    design = Design("y", {"x": (0, 1), "z": (-2, 2), "b": bool, "y": (0, 1)}, radius=radius)
    distribution = distribution_of(design, epsilon, delta, settings)
    scales = Scales.of(distribution)
    (pair,) = worst_pairs("wishart", design)
    change = [a - b for a, b in zip(*(moments_of(design, t) for t in (pair.table, pair.neighbour)), strict=True)]
    reached = row_length2(design, scales, change)
    degrees = distribution.parameters["degrees"] - 5 + 1
    assert added_delta(degrees, reached, Fraction(epsilon)) <= delta
    assert reached >= scales.shift(RowDomain.of(design)) * Fraction(999, 1000)
    # teeth: one per cent less noise would break the promise
    assert added_delta(degrees, reached * Fraction(101, 100), Fraction(epsilon)) > delta


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_under_replace_both_rows_are_paid_for(missing):
    columns = {name: {"bounds": [0, 1], "missing": missing} for name in ("x", "z", "y")}
    design = Design("y", columns, unit={"neighbours": "replace"})
    settings = DEFAULTS | {"degrees": 300}
    distribution = distribution_of(design, settings=settings)
    scales, degrees = Scales.of(distribution), distribution.parameters["degrees"] - 3
    shift = scales.shift(RowDomain.of(design))
    bounds = [exchanged_delta(degrees, shift, Fraction(1), Fraction(k, 100)) for k in range(5, 96)]
    assert min(bounds) <= 1e-6
    assert (
        min(exchanged_delta(degrees, shift * Fraction(101, 100), Fraction(1), Fraction(k, 100)) for k in range(5, 96))
        > 1e-6
    )
    assert (distribution.sigma["count"] == 0) == (missing == "error")
    added = Design("y", columns)
    assert scales.regressor > Scales.of(distribution_of(added, settings=settings)).regressor


def test_a_search_that_promises_too_much_is_mended_by_the_proof(monkeypatch):
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    honest = distribution_of(design, settings=FEW)

    def boastful(*arguments, **options):
        shift, share = largest_shift(*arguments, **options)
        return shift * (1 + 3e-4), share

    monkeypatch.setattr(wishart, "largest_shift", boastful)
    repaired = distribution_of(design, settings=FEW)
    assert added_delta(58, Scales.of(repaired).shift(RowDomain.of(design)), Fraction(1)) <= 1e-6
    for block in honest.sigma:
        assert repaired.sigma[block] == pytest.approx(honest.sigma[block], rel=1e-3)


def test_scales_are_recovered_from_the_distribution():
    scales = Scales(123, 4567, 89)
    for public in (False, True):
        distribution = discreet.releases.NoiseDistribution(
            16, scales.blocks(count_public=public), "chi-square", "wishart", {"degrees": 9}
        )
        assert Scales.of(distribution) == scales


def test_predicted_noise_is_close_to_that_of_the_gaussian_release_and_needs_many_degrees():
    design = Design("y", {**{f"x{j}": (-1, 1) for j in range(5)}, "y": (-1, 1)}, radius=1.0)
    gaussian = GaussianMoments().noise_model(design, RowDomain.of(design), PrivacyBudget(1.0, 1e-6), {"robust": False})
    many, few = distribution_of(design), distribution_of(design, settings=FEW)
    assert 1 < many.sd("cross") / gaussian.sd("cross") < 1.5
    assert few.sd("cross") > 1.5 * many.sd("cross")


# --- the distribution of the noise


@pytest.mark.no_cover
def test_drawn_matrices_follow_the_wishart_distribution_and_wrong_degrees_are_rejected():
    scales, degrees = (2**18, 2**20, 2**19), 9
    sampler = SeededSampler(21)
    upper = np.array([wishart_noise(scales, degrees, sampler) for _ in range(2000)], dtype=float)
    matrices = np.empty((2000, 3, 3))
    rows, columns = np.triu_indices(3)
    matrices[:, rows, columns] = matrices[:, columns, rows] = upper
    matrices /= np.outer(scales, scales)
    direction = np.array([0.6, -0.48, 0.64])
    for vector in (*np.eye(3), direction):
        form = np.einsum("i,nij,j->n", vector, matrices, vector)
        assert stats.kstest(form, stats.chi2(9).cdf).pvalue > FALSE_ALARM / 10
        assert stats.kstest(form, stats.chi2(10).cdf).pvalue < FALSE_ALARM
        inverse = 1 / np.einsum("i,nij,j->n", vector, np.linalg.inv(matrices), vector)
        assert stats.kstest(inverse, stats.chi2(7).cdf).pvalue > FALSE_ALARM / 10
        assert stats.kstest(inverse, stats.chi2(6).cdf).pvalue < FALSE_ALARM
    # off the diagonal the mean square is the degrees of freedom; the fourth moment is 3k(k + 2)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        square = matrices[:, i, j] ** 2
        error = 5 * math.sqrt((3 * 9 * 11 - 81) / 2000)
        assert abs(square.mean() - 9) < error
        assert abs(square.mean() * 1.5 - 9) > error


def test_noise_comes_less_its_mean_unless_it_is_kept():
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    domain = RowDomain.of(design)
    huge = 2**90
    totals = {}
    for debiased in (True, False):
        settings = FEW | {"debiased": debiased}
        distribution = distribution_of(design, settings=FEW)
        passes = WishartMoments().passes(RunContext(design, domain, distribution, settings, SeededSampler(1)))
        next(passes)
        with pytest.raises(StopIteration) as done:
            passes.send(Totals((huge,) * 6, 4**16, RowCounts(1)))
        totals[debiased] = [total - huge for total in done.value.value.totals]
    columns = Scales.of(distribution).columns(3)
    assert totals[False] == wishart_noise(columns, 60, SeededSampler(1))
    away = [60 * columns[i] ** 2 if i == j else 0 for i in range(3) for j in range(i, 3)]
    assert [kept - less for kept, less in zip(totals[False], totals[True], strict=True)] == away


def test_a_public_count_is_released_as_it_is():
    design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"neighbours": "replace"})
    release = discreet.release(
        {"x": [0.5] * 7, "y": [0.25] * 7},
        design,
        epsilon=1.0,
        delta=1e-6,
        mechanism="wishart",
        settings={"degrees": 50},
    )
    assert release.moments[0, 0] == 7
    assert release.noise.sigma["count"] == 0


def test_a_matrix_that_keeps_its_mean_is_positive_semidefinite():
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)})
    table = {"x": [0.5] * 20, "z": [0.1] * 20, "y": [0.25] * 20}
    for _ in range(3):
        release = discreet.release(
            table, design, epsilon=1.0, delta=1e-6, mechanism="wishart", settings={"debiased": False}
        )
        assert np.linalg.eigvalsh(release.moments).min() > 0
    assert release.noise.parameters["degrees"] < 200
    assert release.settings["debiased"] is False


def test_keeping_the_mean_takes_the_degrees_of_least_mean_square():
    budget = PrivacyBudget(1.0, 1e-6)
    chosen = wishart._least_square(4, budget, 10_000, exchanged=False)

    def mean_square(degrees):
        return degrees * (degrees + 5) / largest_shift(degrees - 3, 1.0, 1e-6, exchanged=False)[0] ** 2

    best = min(range(6, 200), key=mean_square)
    assert mean_square(chosen) <= 1.001 * mean_square(best)
    assert 6 < chosen < 200


def test_as_epsilon_grows_the_release_meets_the_exact_one_up_to_the_degrees():
    """Even without a limit on epsilon the supports differ, so noise of about 1/sqrt(degrees) scaled units stays."""
    rng = np.random.default_rng(6)
    x = rng.uniform(0, 1, (4000, 2))
    table = {"x": x[:, 0], "z": x[:, 1], "y": 0.3 + 0.4 * x[:, 0] - 0.1 * x[:, 1] + rng.normal(0, 0.05, 4000)}
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)})
    with pytest.warns(discreet.errors.PrivacyNotice):
        release = discreet.release(table, design, epsilon=1e6, delta=1e-6, mechanism="wishart", allow_weak_privacy=True)
    exact = exact_release(table, design)
    # seven standard deviations
    assert np.abs(release.moments - exact.moments).max() < 7 * np.nanmax(release.noise.entry_sd(4))
    assert np.nanmax(release.noise.entry_sd(4)) < 0.2
    assert np.linalg.solve(release.moments[:3, :3], release.moments[:3, 3]) == pytest.approx(
        np.linalg.solve(exact.moments[:3, :3], exact.moments[:3, 3]), abs=2e-3
    )


def test_a_release_survives_its_file(tmp_path):
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    release = discreet.release(
        {"x": [0.5] * 9, "y": [0.5] * 9}, design, epsilon=1.0, delta=1e-6, mechanism="wishart", settings={"degrees": 40}
    )
    release.save(tmp_path / "r.json")
    again = discreet.Release.load(tmp_path / "r.json")
    assert again == release
    assert (again.noise.family, again.noise.calibration, again.noise.parameters["degrees"]) == (
        "wishart",
        "chi-square",
        40,
    )


# --- refusals, before any data


BAD = [
    (PrivacyBudget(1.0), {}, {}, r"pure DP is false: .*1 - exp\(-epsilon\)"),
    (PrivacyBudget.zcdp(0.1), {}, {}, "needs a budget in epsilon and delta"),
    (PrivacyBudget(1e-7, 1e-6), {}, {}, "epsilon from 1e-06"),
    (PrivacyBudget(1e10, 1e-6), {}, {}, "epsilon from 1e-06"),
    (PrivacyBudget(1.0, 1e-31), {}, {}, "delta of at least 1e-30"),
    (PrivacyBudget(1.0, 1e-6), {"unit": {"id": "who", "max_rows": 2}}, {}, "max_rows = 2"),
    (
        PrivacyBudget(1.0, 1e-6),
        {"unit": {"neighbours": "replace"}},
        {"debiased": False},
        "debiased = false needs neighbours = 'add-remove'",
    ),
    (PrivacyBudget(1.0, 1e-6), {"columns": {f"x{j}": (0, 1) for j in range(9)}}, {"degrees": 10}, "got 10;"),
    (
        PrivacyBudget(1.0, 1e-6),
        {"columns": {f"x{j}": (0, 1) for j in range(199)}},
        {},
        "^the mechanism 'wishart' takes at most 200 .* got 201;",
    ),
    (PrivacyBudget(1.0, 1e-6), {"columns": {f"x{j}": (0, 1) for j in range(199)}}, {}, "200 .* or use 'gaussian'$"),
    (PrivacyBudget(1.0, 1e-6), {"columns": {f"x{j}": (0, 1) for j in range(99)}}, {"degrees": 100_000}, "to 39603"),
    (
        PrivacyBudget(1e-6, 1e-30),
        {"columns": {f"x{j}": (0, 1) for j in range(6)}},
        {"degrees": 10},
        "too large to be useful",
    ),
]


@pytest.mark.parametrize(("budget", "design", "settings", "message"), BAD)
def test_what_it_cannot_keep_is_refused_from_public_numbers(budget, design, settings, message):
    columns = {**design.get("columns", {"x": (0, 1)}), "y": (0, 1)}
    declared = Design("y", columns, unit=design.get("unit"))
    with pytest.raises(SpecError, match=message):
        WishartMoments().noise_model(declared, RowDomain.of(declared), budget, DEFAULTS | settings)


@pytest.mark.parametrize("columns", [199, 600, 2000])
def test_above_the_limit_of_columns_no_degrees_are_spoken_of(columns):
    design = Design("y", {**{f"x{j}": (0, 1) for j in range(columns)}, "y": (0, 1)})
    with pytest.raises(SpecError, match="takes at most 200 ") as caught:
        distribution_of(design)
    assert "degrees" not in str(caught.value)


def test_a_person_with_one_row_is_served():
    design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"id": "who"})
    assert (
        distribution_of(design, settings=FEW).sigma
        == distribution_of(Design("y", {"x": (0, 1), "y": (0, 1)}), settings=FEW).sigma
    )
    assert Guarantee.promised(design.unit, PrivacyBudget(1.0, 1e-6)).delta == 1e-6
