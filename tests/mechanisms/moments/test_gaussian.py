"""The joint Gaussian release: its calibration, its lattice, its noise, its place in the registry."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.accounting.moments import Blocks
from discreet.audit.pairs import worst_pairs
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.curator.table import accumulate
from discreet.design.declarations import column_from
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.exact.linear import pairs as entries_of
from discreet.mechanisms.calibration import block_sigmas, shares_by_design
from discreet.mechanisms.gaussian import GaussianMoments
from discreet.mechanisms.registry import predicted_error
from discreet.mechanisms.sampler import MAX_SIGMA, ExactSampler, rounded_up
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import delta_from, mu_from
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.lattice import lattice_gap
from discreet.releases import BLOCKS
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.testing.not_private import seeded_release
from support.joint_loss import exact_mu2
from support.moment_distributions import noise_distribution, variates
from support.tables import CALIBRATED, random_table

UNIT_BALL = RowDomain(5, 0, 0, 1.0, False, 16)
# a statistical test below alarms falsely with probability at most this
FALSE_ALARM = 1e-9


def gaussian_distribution(design, budget):
    return GaussianMoments().noise_model(design, RowDomain.of(design), budget, {})


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0.01, 1e-12), (0.1, 1e-6), (1.0, 1e-12), (1.0, 1e-6), (5.0, 1e-9), (20.0, 1e-6), (20.0, 1e-3)],
)
@pytest.mark.parametrize("domain", [UNIT_BALL, RowDomain(3, 2, 1, None, False, 16), RowDomain(1, 0, 0, None, True, 20)])
def test_the_noise_drawn_satisfies_the_budget_exactly_and_wastes_nothing(epsilon, delta, domain):
    distribution = noise_distribution(domain, "add-remove", 7, PrivacyBudget(epsilon, delta), count_public=False)
    assert distribution.calibration == "gaussian"
    mu2 = exact_mu2(domain, distribution)
    spent = delta_from(epsilon, float(mu2) ** 0.5) + lattice_gap(epsilon, variates(distribution, 7))
    assert spent <= delta
    # teeth: one per mille less noise would break the promise
    assert delta_from(epsilon, float(mu2) ** 0.5 * 1.001) > delta


def mu2_of_pair(design, distribution, table, neighbour) -> Fraction:
    """Exact joint loss between two tables under the noise that is really drawn."""
    size = len(design.released)
    moments = [
        accumulate(open_source(rows), design, RowDomain.of(design), ComputeOptions()).values
        for rows in (table, neighbour)
    ]
    copies = distribution.copies(size)
    entries = list(zip(*moments, distribution.steps(size), strict=True))
    own = [entry for place, entry in enumerate(entries) if place not in copies]
    assert all(a == b for a, b, sigma in own if not sigma), "a sum without noise differs between neighbours"
    for square, total in copies.items():
        assert entries[square][:2] == entries[total][:2], "the square of an indicator is not its sum"
    return sum((Fraction((a - b) ** 2, sigma**2) for a, b, sigma in entries if sigma), start=Fraction(0))


@pytest.mark.parametrize("columns", CALIBRATED.values(), ids=CALIBRATED)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("drop", [False, True])
def test_worst_pairs_spend_the_budget_and_no_more(columns, neighbours, drop):
    """Both relations, with and without a rule that drops rows: the whole promise on exact neighbours, and teeth."""
    rule = {"missing": "drop"} if drop else {}
    declared = {name: column_from(what).to_dict() | rule for name, what in columns.items()}
    design = Design("y", declared, unit={"neighbours": neighbours})
    epsilon, delta = 1.0, 1e-6
    distribution = gaussian_distribution(design, PrivacyBudget(epsilon, delta))
    pairs = [(pair.table, pair.neighbour) for pair in worst_pairs("gaussian", design)]
    if drop and neighbours == "replace":
        corner = pairs[0][0]
        pairs.append((corner, {name: [None] * len(values) for name, values in corner.items()}))
    worst = max(float(mu2_of_pair(design, distribution, *pair)) for pair in pairs) ** 0.5
    assert delta_from(epsilon, worst) <= delta
    # teeth: the claim is not met by being far too noisy, and a tenth less noise breaks it
    assert delta_from(epsilon, worst / 0.9 * 1.001) > delta


def test_the_noise_of_a_person_with_three_rows_is_three_times_that_of_a_row():
    columns = {"x": (0, 1), "y": (0, 1)}
    budget = PrivacyBudget(1.0, 1e-6)
    distributions = []
    for unit in ({}, {"id": "person", "max_rows": 3}):
        design = Design("y", columns, unit=unit)
        distributions.append(gaussian_distribution(design, budget))
    for block in BLOCKS:
        assert distributions[1].sigma[block] / distributions[0].sigma[block] == pytest.approx(3, rel=1e-9)


def test_noise_falls_with_epsilon_across_the_change_of_calibration():
    domain = RowDomain(2, 0, 0, None, False, 16)
    sigmas = [
        noise_distribution(domain, "add-remove", 4, PrivacyBudget(epsilon, 1e-6), count_public=False).sigma["cross"]
        for epsilon in (0.1, 1.0, 5.0, 20.0, 40.0, 1e3, 1e6)
    ]
    assert sigmas == sorted(sigmas, reverse=True)


def test_total_variation_between_discrete_and_rounded_gaussian_is_below_the_proved_bound():
    for sigma in (1.0, 2.0, 5.0, 20.0):
        z = np.arange(-int(12 * sigma), int(12 * sigma) + 1)
        discrete = np.exp(-(z**2) / (2 * sigma**2))
        discrete /= discrete.sum()
        rounded = stats.norm.cdf((z + 0.5) / sigma) - stats.norm.cdf((z - 0.5) / sigma)
        distance = 0.5 * np.abs(discrete - rounded).sum()
        assert distance <= 1 / (16 * sigma**2)
        assert distance >= 1 / (80 * sigma**2), "the bound would be needlessly loose"


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("person", [None, "person"])
def test_the_count_is_exact_only_where_it_is_public(neighbours, missing, person):
    columns = {"x": {"bounds": [0, 1], "missing": missing}, "y": (0, 1)}
    design = Design("y", columns, unit={"neighbours": neighbours, "id": person})
    distribution = gaussian_distribution(design, PrivacyBudget(1.0, 1e-6))
    assert (distribution.sigma["count"] == 0) == (neighbours == "replace" and missing == "error" and person is None)
    assert all(distribution.sigma[block] > 0 for block in BLOCKS if block != "count")


def test_a_block_without_a_share_is_not_released():
    sigmas = block_sigmas(UNIT_BALL, "add-remove", 0.5, Blocks(0, 0, 0.5, 0, 0.5, 0))
    assert math.isinf(sigmas.count)
    assert math.isinf(sigmas.sum_x)
    assert sigmas.gram == pytest.approx(math.sqrt(2) / 0.5, rel=1e-4)


@pytest.mark.parametrize("budget", [PrivacyBudget.zcdp(0.1), PrivacyBudget.gdp(0.5), PrivacyBudget(1.0)])
def test_budgets_the_mechanism_cannot_state_are_refused(budget):
    with pytest.raises(SpecError, match="delta"):
        noise_distribution(UNIT_BALL, "add-remove", 7, budget, count_public=False)


def test_a_noise_too_large_for_the_sampler_is_refused_with_what_to_do():
    with pytest.raises(SpecError, match=r"lower grid_bits or raise epsilon"):
        noise_distribution(
            RowDomain(50, 0, 0, None, False, 26), "add-remove", 52, PrivacyBudget(0.01, 1e-6), count_public=False
        )


def _chi_square_p(draws, sigma) -> float:
    """P-value of binned draws against the discrete Gaussian distribution with parameter sigma (continuous limit)."""
    edges = stats.norm.ppf(np.linspace(0, 1, 41)[1:-1]) * sigma
    observed = np.bincount(np.searchsorted(edges, draws), minlength=40)
    return float(stats.chisquare(observed).pvalue)


@pytest.mark.no_cover
def test_drawn_noise_has_the_stated_distribution_and_wrong_parameters_are_rejected():
    sigma = 2**35
    draws = np.array(ExactSampler().draw([sigma] * 40_000), dtype=float)
    assert _chi_square_p(draws, sigma) > FALSE_ALARM
    assert _chi_square_p(draws, sigma * 0.93) < FALSE_ALARM
    assert _chi_square_p(draws, sigma * 1.07) < FALSE_ALARM
    # variance ratio: chi-square with 40,000 degrees of freedom, both tails
    statistic = float((draws**2).sum()) / sigma**2
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 40_000)
    assert low < statistic < high
    assert not low < statistic * 0.95**2 < high
    assert not low < statistic * 1.05**2 < high


def test_small_parameters_follow_the_discrete_probabilities():
    draws = np.array(ExactSampler().draw([2] * 20_000))
    z = np.arange(-7, 8)
    p = np.exp(-(z**2) / 8)
    p /= p.sum()
    inside = draws[np.abs(draws) <= 7]
    observed = np.array([(inside == value).sum() for value in z])
    assert stats.chisquare(observed, p * observed.sum()).pvalue > FALSE_ALARM
    wrong = np.exp(-np.abs(z) / math.sqrt(2))
    assert stats.chisquare(observed, wrong / wrong.sum() * observed.sum()).pvalue < FALSE_ALARM


@pytest.mark.no_cover
def test_entries_are_drawn_independently_and_with_their_own_parameter():
    draws = np.array([ExactSampler().draw([2**20, 2**30, 0, 2**20]) for _ in range(1500)], dtype=float)
    assert (draws[:, 2] == 0).all()
    scaled = draws[:, [0, 1, 3]] / np.array([2.0**20, 2.0**30, 2.0**20])
    correlation = np.corrcoef(scaled.T)[np.triu_indices(3, 1)]
    # seven standard errors of a correlation and of a standard deviation of 1500: false alarm below 1e-10 for the six
    assert np.abs(correlation).max() < 7 / math.sqrt(1500)
    assert scaled.std(axis=0) == pytest.approx(1, abs=7 / math.sqrt(2 * 1500))


@pytest.mark.parametrize("sigma", [-1, MAX_SIGMA * 2, 2**53 + 1])
def test_the_sampler_refuses_what_it_cannot_draw_exactly(sigma):
    with pytest.raises(ValueError, match="noise scale must"):
        ExactSampler().draw([sigma])


def test_rounding_up_gives_a_double_that_is_not_smaller():
    for sigma in (1, 2**53 - 1, 2**53 + 1, 2**56 + 12345, 2**57 - 1):
        up = rounded_up(sigma)
        assert up >= sigma
        assert int(float(up)) == up
        assert up - sigma < 2 ** max(0, sigma.bit_length() - 53)


class _Counting:
    private = False

    def draw(self, sigmas):
        return list(range(1, len(sigmas) + 1))


def test_noise_is_added_in_unlimited_integers():
    distribution = noise_distribution(
        RowDomain(1, 0, 0, None, False, 16), "add-remove", 3, PrivacyBudget(1.0, 1e-6), count_public=False
    )
    huge = 2**80
    noisy = GaussianMoments().randomise(Totals((huge,) * 6, 4**16, RowCounts(1)), distribution, _Counting())
    assert noisy == tuple(huge + k for k in range(1, 7))


def test_the_guarantee_says_when_the_number_of_rows_is_public():
    columns = {"x": (0, 1), "y": (0, 1)}
    budget = PrivacyBudget(1.0, 1e-6)
    hidden = Guarantee.promised(Design("y", columns).unit, budget)
    public = Guarantee.promised(Design("y", columns, unit={"neighbours": "replace"}).unit, budget)
    assert (hidden.epsilon, hidden.delta, hidden.neighbours) == (1.0, 1e-6, "add-remove")
    assert set(public.conditions) - set(hidden.conditions) == {"the number of rows in the table is public"}
    persons = Design("y", columns, unit={"neighbours": "replace", "id": "patient", "max_rows": 4})
    of_persons = Guarantee.promised(persons.unit, budget)
    assert "the number of persons in the table is public" in of_persons.conditions
    assert "each person has one value of 'patient'" in of_persons.conditions
    assert "any single person (patient; at most 4 rows are used)" in of_persons.sentence()


@pytest.mark.no_cover
def test_joint_release_needs_far_less_noise_than_algorithm_3_of_the_thesis():
    """X'X and X'y alone, unit ball, (1, 1e-6), measured from draws; the thesis adds its noise to mirrored triangles."""
    epsilon, delta = 1.0, 1e-6
    mu = mu_from(epsilon, delta)
    sigmas = block_sigmas(UNIT_BALL, "add-remove", mu, Blocks(0, 0, 0.5, 0, 0.5, 0))
    steps = 4**16
    draws = {
        name: np.std(ExactSampler().draw([rounded_up(math.ceil(sigma * steps))] * 20_000)) / steps
        for name, sigma in (("diagonal", sigmas.gram), ("off", sigmas.gram / math.sqrt(2)), ("cross", sigmas.cross))
    }
    # Algorithm 3 splits (epsilon, delta) over three statistics: sigma = sqrt(2 log(1.25 / (delta/3))) / (epsilon/3)
    thesis = math.sqrt(2 * math.log(1.25 * 3 / delta)) * 3 / epsilon
    ratios = {name: thesis / sd for name, sd in draws.items()}
    # a standard deviation of 20,000 draws is known to 0.5 %
    assert ratios["diagonal"] >= 2.2
    assert ratios["cross"] >= 2.2
    assert ratios["off"] >= 3.1


FACTORS = {"y": (0, 1), "x": (-1, 1), "g": ["k", "l", "m", "n"], "b": bool, "h": ["u", "v", "w"], "two": ["p", "q"]}


@pytest.mark.parametrize("radius", [None, 0.7])
@pytest.mark.parametrize("missing", ["drop", {"fill": "l"}])
def test_products_of_two_levels_are_zero_in_every_table(radius, missing):
    """Whatever the cells: levels, cells that are none of them, rows that a ball shrinks."""
    design = Design("y", FACTORS | {"g": {"levels": FACTORS["g"], "missing": missing}}, radius=radius)
    distribution = gaussian_distribution(design, PrivacyBudget(1.0, 1e-6))
    assert distribution.factors == design.factors == ((2, 4), (6, 7))
    table = random_table(design, 60, np.random.default_rng(3))
    table["g"] = [None if k % 7 == 0 else "z" if k % 11 == 0 else cell for k, cell in enumerate(table["g"])]
    totals = accumulate(open_source(table), design, RowDomain.of(design), ComputeOptions()).values
    inside = {(2, 3), (2, 4), (3, 4), (6, 7)}
    pairs = entries_of(len(design.released))
    assert [total for pair, total in zip(pairs, totals, strict=True) if pair in inside] == [0] * 4
    # the squares beside them are sums of what is there
    assert sum(total > 0 for total in totals) > 20


@pytest.mark.parametrize("options", [{}, {"robust": True}, {"clip_counts": True}])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_what_is_zero_in_every_row_is_published_as_it_is(neighbours, options):
    design = Design("y", FACTORS, unit={"neighbours": neighbours})
    table = random_table(design, 40, np.random.default_rng(3))
    made = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="gaussian", **options)
    zero = np.zeros_like(made.noise_sd, dtype=bool)
    for i, j in ((2, 3), (2, 4), (3, 4), (6, 7)):
        zero[i, j] = zero[j, i] = True
    assert (made.moments[zero] == 0).all()
    assert (made.noise_sd[zero] == 0).all()
    zero[0, 0] = design.count_public
    assert (made.noise_sd[~zero] > 0).all()
    for j in (2, 3, 4, 5, 6, 7, 8):
        assert made.moments[j, j] == made.moments[0, j]
        assert made.noise_sd[j, j] == made.noise_sd[0, j] == made.noise.sd("sum_x")
    # each is 0 or an integer by chance with probability below 1e-8, as its noise has more than 2^28 steps
    assert np.count_nonzero(made.moments[~zero] % 1) == np.count_nonzero(~zero)
    assert discreet.Release.from_json(made.to_json()) == made
    assert 0.99 < discreet.verify(made).epsilon_given <= 1


def test_an_indicator_costs_its_sum_and_not_its_square():
    """The row with every indicator meets the promise, and would break it if each saved twice what it does."""
    design = Design("y", FACTORS)
    domain, size, budget = RowDomain.of(design), len(design.released), PrivacyBudget(1.0, 1e-6)
    distribution = gaussian_distribution(design, budget)
    assert distribution.indicators == design.indicators == ((2, 4), (5, 5), (6, 7), (8, 8))
    row = {"y": [1], "x": [1], "g": ["n"], "b": [True], "h": ["w"], "two": ["q"]}
    table = {name: values * 2 for name, values in row.items()}
    spent = float(mu2_of_pair(design, distribution, table, row)) ** 0.5
    assert 0.9999 * 1e-6 < delta_from(1.0, spent) <= 1e-6
    shares = shares_by_design(
        domain, "add-remove", size - 2, count_public=False, factors=design.factors, indicators=design.indicators
    )
    too_little = noise_distribution(
        domain, "add-remove", size, budget, count_public=False, shares=shares, factors=design.factors,
        indicators=design.indicators * 2,
    )  # fmt: skip
    assert delta_from(1.0, float(mu2_of_pair(design, too_little, table, row)) ** 0.5) > 1.02e-6
    # with a ball ones are shrunk: squares and sums are two numbers
    ball = gaussian_distribution(Design("y", FACTORS, radius=0.7), budget)
    assert ball.indicators == ()
    assert min(step for step in ball.steps(size) if step) > 0


def test_sums_of_indicators_are_their_squares_whatever_the_cells():
    columns = FACTORS | {
        "i": {"formula": "g:b"}, "c": {"formula": "cut(x, -0.5, 0, 0.5)"}, "over": {"formula": "x > 0.2"},
        "s": {"formula": "spline(x, 0)"}, "xg": {"formula": "x:h"},
        "b": {"dtype": "bool", "missing": {"fill": True}}, "h": {"levels": FACTORS["h"], "missing": {"fill": "u"}},
    }  # fmt: skip
    design = Design("y", columns)
    found = {design.released[first].partition("[")[0] for first, _ in design.indicators}
    assert found == {"g", "b", "h", "two", "i", "c", "over"}
    table = random_table(Design("y", FACTORS), 60, np.random.default_rng(3))
    table["b"] = [None if k % 5 == 0 else cell for k, cell in enumerate(table["b"])]
    table["h"] = ["?" if k % 5 == 1 else cell for k, cell in enumerate(table["h"])]
    totals = accumulate(open_source(table), design, RowDomain.of(design), ComputeOptions()).values
    distribution = gaussian_distribution(design, PrivacyBudget(1.0, 1e-6))
    copies = distribution.copies(len(design.released))
    assert [totals[square] for square in copies] == [totals[total] for total in copies.values()]
    assert any(totals[square] for square in copies)
    pairs = entries_of(len(design.released))
    others = [j for j in range(1, len(design.released) - 1) if j not in distribution.indicator_columns]
    squares = dict(zip(pairs, totals, strict=True))
    assert all(squares[j, j] != squares[0, j] for j in others)


def test_one_variate_serves_the_sum_and_the_square_of_an_indicator():
    distribution = gaussian_distribution(Design("y", {"y": (0, 1), "x": (0, 1), "b": bool}), PrivacyBudget(1.0, 1e-6))
    noisy = GaussianMoments().randomise(Totals((100,) * 10, 4**16, RowCounts(1)), distribution, _Counting())
    assert noisy == (101, 102, 103, 104, 105, 106, 107, 103, 109, 110)


@pytest.mark.parametrize(
    ("neighbours", "columns", "factor", "since_version_1", "once"),
    [
        ("add-remove", {"g": 3}, 0.9482, 0.9482, 0.9626), ("add-remove", {"g": 5}, 0.9169, 0.9169, 0.8941),
        ("add-remove", {"g": 10}, 0.8359, 0.8349, 0.8884), ("add-remove", {"g": 51}, 0.7556, 0.7021, 0.9311),
        ("add-remove", {"x": 0, "z": 0, "g": 5, "h": 4}, 0.9499, 0.8920, 0.9573),
        ("add-remove", {"x": 0, "z": 0}, 1.0, 1.0, 1.0), ("replace", {"g": 5}, 0.8943, 0.8519, 0.8991),
        ("replace", {"x": 0, "z": 0, "g": 5, "h": 4}, 0.9503, 0.8966, 0.9890),
    ],
)  # fmt: skip
def test_zeros_and_squares_without_noise_take_noise_off_the_equations(
    neighbours, columns, factor, since_version_1, once
):
    """Standard deviation in the equation of a slope, under one promise, by the number of levels; 0 is a number."""
    declared = {name: [f"l{k}" for k in range(levels)] if levels else (0, 1) for name, levels in columns.items()}
    design = Design("y", {"y": (0, 1), **declared}, unit={"neighbours": neighbours})
    domain, size, budget = RowDomain.of(design), len(design.released), PrivacyBudget(1.0, 1e-6)
    public = design.count_public

    def error(factors, indicators=()):
        shares = shares_by_design(
            domain, neighbours, size - 2, count_public=public, factors=factors, indicators=indicators
        )
        known = {"shares": shares, "factors": factors, "indicators": indicators}
        return math.sqrt(
            predicted_error(noise_distribution(domain, neighbours, size, budget, count_public=public, **known), size)
        )

    first = math.sqrt(predicted_error(noise_distribution(domain, neighbours, size, budget, count_public=public), size))
    second, third = error(design.factors), error(design.factors, design.indicators)
    assert math.sqrt(predicted_error(gaussian_distribution(design, budget), size)) == third
    assert second / error(()) == pytest.approx(factor, abs=5e-5)
    assert second / first == pytest.approx(since_version_1, abs=5e-5)
    assert third / second == pytest.approx(once, abs=5e-5)


@pytest.mark.slow
def test_errors_of_a_model_with_a_factor_count_what_has_noise_and_no_more():
    """What noise does to coefficients over 600 seeds, and what a fit says of it; noise on zeros would be more."""
    rng = np.random.default_rng(5)
    levels = ["k", "l", "m", "n", "o"]
    design = Design("y", {"y": (-4, 4), "g": levels})
    codes = rng.integers(0, 5, 20_000)
    table = {"g": [levels[code] for code in codes], "y": codes * 0.8 - 1.6 + rng.normal(0, 0.5, 20_000)}
    made = [seeded_release(table, design, seed=seed, epsilon=2.0, delta=1e-6) for seed in range(600)]
    fits = [discreet.fit(release) for release in made]
    noisy = [discreet.fit(replace(one, noise=replace(one.noise, factors=(), indicators=()))) for one in made[:50]]
    spread = np.std([fit.coefficients for fit in fits], axis=0)
    said, wrong = (np.median([list(fit.privacy_sd.values()) for fit in some], axis=0) for some in (fits, noisy))
    # the standard error of a spread of 600 draws is 2.9% of it, of their mean less
    assert np.mean(spread / said) == pytest.approx(1.0, abs=0.04)
    assert np.mean(spread / wrong) < 0.95
