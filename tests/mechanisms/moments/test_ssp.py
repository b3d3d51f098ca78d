"""Sufficient statistics alone: what is released, how far a row can move it, and how much noise that takes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.accounting.noise_distribution import entry_blocks
from discreet.accounting.settings import checked_settings
from discreet.audit.pairs import worst_pairs
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.declarations import column_from
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import PrivacyNotice, SpecError
from discreet.mechanisms.adassp import AdaptiveSufficientStatistics
from discreet.mechanisms.calibration import DEFAULT_SHARES
from discreet.mechanisms.sampler import ExactSampler
from discreet.mechanisms.ssp import SufficientStatistics, released_shares, with_noise
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import delta_from, delta_from_rho, mu_from
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.lattice import lattice_gap
from discreet.releases import Release
from discreet.testing.not_private import exact_release
from support.moment_distributions import variates
from support.statistics_pairs import exact_mu2, some_design, some_pairs, totals_of

FALSE_ALARM = 1e-9
BUDGET = PrivacyBudget(1.0, 1e-6)
MU = mu_from(1.0, 1e-6)
ALL = {"count", "sum_x", "gram_diagonal", "gram_off_diagonal", "sum_y", "cross"}
FEWER = {"count", "gram_diagonal", "gram_off_diagonal", "cross"}


def distribution_of(design, budget=BUDGET, *, target_square=False):
    return SufficientStatistics().noise_model(
        design, RowDomain.of(design), budget, {"target_square": target_square}
    )  # fmt: skip


# -- what is released ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target_square", [False, True])
@pytest.mark.parametrize(
    ("columns", "intercept", "blocks"),
    [
        ({"x": (0, 1), "y": (0, 1)}, True, ALL),
        ({"x": (-1, 1), "b": bool, "g": ["k", "l", "m"], "y": (-3, 3)}, False, FEWER),
        ({"x": (-1, 1), "y": bool}, False, FEWER),
        ({"x": (0, 1), "y": (-1, 1)}, False, ALL),
        ({"x": (-1, 1), "y": (0, 1)}, False, ALL),
    ],
)
def test_only_what_the_model_needs_is_released(columns, intercept, blocks, target_square):
    """Without an intercept the sums are left out, unless a middle that is not 0 has to be put back with them."""
    design = Design("y", columns, intercept=intercept)
    distribution = distribution_of(design, target_square=target_square)
    wanted = blocks | ({"target_square"} if target_square else set())
    assert set(distribution.sigma) == wanted
    assert design.needs_sums == ("sum_x" in wanted)
    size = len(design.released)
    totals = with_noise(
        Totals(tuple(range(size * (size + 1) // 2)), distribution.unit, RowCounts(1)), distribution, ExactSampler()
    )
    assert [total is None for total in totals] == [block not in wanted for block in entry_blocks(size)]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_count_is_exact_only_where_it_is_public(neighbours, missing, intercept):
    columns = {"x": {"bounds": [-1, 1], "missing": missing}, "y": (-1, 1)}
    design = Design("y", columns, intercept=intercept, unit={"neighbours": neighbours})
    distribution = distribution_of(design)
    assert (distribution.sigma["count"] == 0) == (neighbours == "replace" and missing == "error")
    assert all(sigma > 0 for block, sigma in distribution.sigma.items() if block != "count")


def test_a_release_is_a_file_that_is_read_again_and_says_what_is_not_there():
    design = Design("y", {"x": (-1, 1), "y": (-1, 1)}, intercept=False)
    made = discreet.release({"x": [0.5] * 40, "y": [0.25] * 40}, design, mechanism="ssp", epsilon=1.0, delta=1e-6)
    again = Release.from_json(made.to_json())
    assert again.totals == made.totals
    assert [total is None for total in made.totals] == [False, True, True, False, False, True]
    assert np.isnan(made.moments[0, 1])
    assert (made.mechanism, dict(made.settings), made.kind) == ("ssp", {"target_square": False}, "moments")


def test_noise_is_added_in_unlimited_integers_and_in_the_order_of_the_blocks():
    class Counting:
        def draw(self, sigmas):
            assert sigmas == [distribution.sigma[block] for block in ("count", "gram_diagonal", "cross")]
            return [1, 2, 3]

    distribution = distribution_of(Design("y", {"x": (-1, 1), "y": (-1, 1)}, intercept=False))
    noisy = with_noise(Totals((2**80,) * 6, distribution.unit, RowCounts(1)), distribution, Counting())
    assert noisy == (
        2**80 + 1,
        None,
        None,
        2**80 + 2,
        2**80 + 3,
        None,
    )


# -- sensitivity -----------------------------------------------------------------------------------------------------


@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_neighbour_moves_the_statistics_by_more_than_the_budget_allows(neighbours):
    """Exact rational loss under the noise that is drawn, no tolerance: intercepts, balls, dropped rows, chunks."""
    rng = np.random.default_rng(771 + len(neighbours))
    limit = Fraction(MU) ** 2
    for _ in range(50):
        design = some_design(rng, neighbours)
        distribution = distribution_of(design, target_square=bool(rng.random() < 0.3))
        for one, other in some_pairs(rng, design, 40):
            assert exact_mu2(design, distribution, one, other) <= limit


PAIRED = {
    "numbers": {"x": (0, 1), "z": (-2, 2), "v": (0, 9), "y": (0, 1)},
    "centred": {"x": (-1, 1), "z": (-2, 2), "v": (-9, 9), "y": (-1, 1)},
    "boolean target": {"x": (-1, 1), "z": (-1, 1), "y": bool},
    "mixed": {"x": (-1, 1), "b": bool, "g": ["a", "b", "c"], "y": (-1, 1)},
}


@pytest.mark.parametrize("columns", PAIRED.values(), ids=PAIRED)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_worst_pairs_spend_the_budget_and_no_more(columns, neighbours, drop, intercept):
    rule = {"missing": "drop"} if drop else {}
    declared = {name: column_from(what).to_dict() | rule for name, what in columns.items()}
    design = Design("y", declared, intercept=intercept, unit={"neighbours": neighbours})
    distribution = distribution_of(design)
    pairs = [(pair.table, pair.neighbour) for pair in worst_pairs("ssp", design)]
    if drop and neighbours == "replace":
        corner = pairs[0][0]
        pairs.append((corner, {name: [None] * len(values) for name, values in corner.items()}))
    worst = (
        max(float(exact_mu2(design, distribution, *(totals_of(table, design) for table in pair))) for pair in pairs)
        ** 0.5
    )
    assert delta_from(1.0, worst) <= 1e-6
    # teeth: a tenth less noise breaks the promise
    assert delta_from(1.0, worst / 0.9 * 1.001) > 1e-6


def test_a_person_with_three_rows_takes_three_times_the_noise_and_moves_no_farther():
    columns = {"x": (-1, 1), "z": (0, 2), "y": (-1, 1)}
    one = distribution_of(Design("y", columns))
    design = Design("y", columns, unit={"id": "who", "max_rows": 3})
    distribution = distribution_of(design)
    assert all(distribution.sigma[block] / one.sigma[block] == pytest.approx(3, rel=1e-9) for block in ALL)
    rows = {"x": [1.0, -1.0], "z": [0.0, 2.0], "y": [1.0, 0.5], "who": ["a", "b"]}
    more = {"x": [1.0] * 5, "z": [2.0] * 5, "y": [1.0] * 5, "who": ["c"] * 5}
    both = {name: [*rows[name], *more[name]] for name in rows}
    loss = exact_mu2(design, distribution, totals_of(rows, design), totals_of(both, design))
    assert Fraction(MU * 0.999) ** 2 <= loss <= Fraction(MU) ** 2


# -- noise -----------------------------------------------------------------------------------------------------------


def test_the_shares_are_those_of_the_joint_release_without_the_absent_blocks():
    design = Design("y", {"x": (-1, 1), "z": (-1, 1), "y": (-1, 1)}, intercept=False)
    assert (released_shares(design, target_square=False).sum_x, DEFAULT_SHARES.sum_x) == (0.0, 0.12)
    distribution = distribution_of(design)
    spent = {"count": 1, "gram_diagonal": 2, "cross": math.sqrt(2)}
    for block, share in (("count", 0.03), ("gram_diagonal", 0.35), ("cross", 0.35)):
        assert spent[block] / distribution.sd(block) == pytest.approx(MU * math.sqrt(share / 0.73), rel=1e-6)
    assert distribution.sd("gram_diagonal") / distribution.sd("gram_off_diagonal") == pytest.approx(
        math.sqrt(2), rel=1e-9
    )


def test_the_lattice_gap_counts_released_entries_only():
    design = Design("y", {"x": (-1, 1), "z": (-1, 1), "v": (-1, 1), "y": (-1, 1)}, intercept=False)
    distribution = distribution_of(design)
    entries = {"count": 1, "gram_diagonal": 3, "gram_off_diagonal": 3, "cross": 3}
    expected = (1 + math.e) * sum(count / (16 * distribution.sigma[block] ** 2) for block, count in entries.items())
    assert lattice_gap(1.0, variates(distribution, 5)) == pytest.approx(expected, rel=1e-9)


def test_noise_has_the_stated_distribution_in_every_block_and_a_wrong_scale_is_rejected():
    """Sums of squares against chi-square, both tails; 15% more or less noise would be found out."""
    columns = {**{f"x{j}": (0, 1) for j in range(60)}, "y": (0, 1)}
    design = Design("y", columns)
    distribution = distribution_of(design, target_square=True)
    blocks = entry_blocks(len(design.released))
    drawn: dict[str, list[float]] = {}
    empty = Totals((0,) * len(blocks), distribution.unit, RowCounts(0))
    for _ in range(4):
        for block, value in zip(blocks, with_noise(empty, distribution, ExactSampler()), strict=True):
            drawn.setdefault(block, []).append(value / distribution.sigma[block])
    assert set(drawn) == set(distribution.sigma)
    for values in drawn.values():
        count, statistic = len(values), float(np.sum(np.square(values)))
        low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], count)
        assert low < statistic < high
        if count > 5000:
            assert not low < statistic * 0.85**2 < high
            assert not low < statistic * 1.15**2 < high


def test_a_budget_for_which_the_gap_is_not_small_is_calibrated_on_the_discrete_distribution():
    design = Design("y", {"x": (-1, 1), "y": (-1, 1)}, intercept=False)
    distribution = distribution_of(design, PrivacyBudget(1e4, 1e-6))
    assert distribution.calibration == "discrete-zcdp"
    pair = worst_pairs("ssp", design)[0]
    mu2 = float(exact_mu2(design, distribution, totals_of(pair.table, design), totals_of(pair.neighbour, design)))
    assert delta_from_rho(1e4, mu2 / 2) <= 1e-6
    assert delta_from_rho(1e4, mu2 * 1.01 / 2) > 1e-6


def test_the_noise_is_less_than_the_thesis_and_its_source_take_for_two_statistics():
    """X'X and X'y on the unit ball at (1, 1e-6), from draws; the thesis mirrors its triangle, so off-diagonals gain."""
    design = Design("y", {**{f"x{j}": (-1, 1) for j in range(5)}, "y": (-1, 1)}, intercept=False, radius=1.0)
    distribution = distribution_of(design)
    sd = {block: np.std(ExactSampler().draw([sigma] * 20_000)) / 4**16 for block, sigma in distribution.sigma.items()}
    wang = 2 * math.sqrt(math.log(4 / 1e-6))
    thesis = 2 * math.sqrt(2 * math.log(1.25 * 2 / 1e-6))
    # a standard deviation of 20,000 draws is known to 0.5 %: seven of these
    near = {"rel": 0.035}
    assert wang / sd["gram_diagonal"] == pytest.approx(1.28, **near)
    assert wang / sd["cross"] == pytest.approx(1.28, **near)
    assert thesis / sd["gram_diagonal"] == pytest.approx(1.78, **near)
    assert thesis / sd["gram_off_diagonal"] == pytest.approx(2.51, **near)


# -- the estimator ---------------------------------------------------------------------------------------------------


def table(count=4000, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, 3))
    y = np.clip(x @ [0.4, -0.2, 0.1] + 0.1 * rng.normal(size=count), -1, 1)
    return {"a": x[:, 0].tolist(), "b": x[:, 1].tolist(), "c": x[:, 2].tolist(), "y": y.tolist()}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_as_epsilon_grows_least_squares_meets_the_fit_without_noise_to_four_digits(intercept, shift):
    design = Design("y", dict.fromkeys("abcy", (-1 - shift, 1 + 3 * shift)), intercept=intercept)
    rows = table()
    with pytest.warns(PrivacyNotice, match="WEAK"):
        made = discreet.release(rows, design, mechanism="ssp", epsilon=1e6, delta=1e-6, allow_weak_privacy=True)
    got, wanted = discreet.fit(made), discreet.fit(exact_release(rows, design))
    np.testing.assert_allclose(got.coefficients, wanted.coefficients, atol=5e-5)
    assert np.abs(wanted.coefficients).max() > 0.3


def test_with_and_without_repair():
    """Few rows and many columns: least squares has no coefficients, a penalty gives bounded ones."""
    columns = {**{f"x{j}": (-1, 1) for j in range(12)}, "y": (-1, 1)}
    rng = np.random.default_rng(3)
    rows = {name: rng.uniform(-1, 1, 60).tolist() for name in columns}
    made = discreet.release(rows, Design("y", columns), mechanism="ssp", epsilon=0.5, delta=1e-6)
    assert "not positive definite" in discreet.fit(made).params["x0"].reason
    for spec in ({"penalty": "adaptive"}, {"penalty": "ridge", "strength": 0.1}):
        repaired = discreet.fit(made, **spec)
        assert repaired.ridge > 0
        assert np.abs(repaired.scaled_coefficients).max() < 5


def test_the_sum_of_squares_of_the_target_buys_standard_errors():
    columns = dict.fromkeys("abcy", (-1, 1))
    rows = table()
    for bought in (True, False):
        made = discreet.release(
            rows, Design("y", columns), mechanism="ssp", epsilon=5.0, delta=1e-6, settings={"target_square": bought}
        )
        assert bool(discreet.fit(made).bse["a"]) == bought


# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism", [SufficientStatistics(), AdaptiveSufficientStatistics()], ids=lambda one: one.name
)
@pytest.mark.parametrize("budget", [PrivacyBudget.zcdp(0.1), PrivacyBudget.gdp(0.5), PrivacyBudget(1.0)])
def test_budgets_that_gaussian_noise_cannot_keep_are_refused(mechanism, budget):
    design, settings = Design("y", {"x": (0, 1), "y": (0, 1)}), {"eigenvalue_share": 1 / 3, "target_square": False}
    with pytest.raises(SpecError, match="delta"):
        mechanism.noise_model(design, RowDomain.of(design), budget, settings)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"delta": 0.0}, "delta"),
        ({"settings": {"target_square": "perhaps"}}, "true or false"),
        ({"settings": {"ridge": 1}}, "unknown setting"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_the_table_is_opened(spec, message):
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    with pytest.raises(SpecError, match=message):
        discreet.release("/no/such/file.csv", design, **{"mechanism": "ssp", "epsilon": 1.0, "delta": 1e-6} | spec)


def test_the_card_and_the_promise_say_what_they_are_about():
    mechanism = SufficientStatistics()
    assert mechanism.info.notion == "approximate"
    assert dict(checked_settings("ssp", mechanism.info.settings, None)) == {"target_square": False}
    promise = Guarantee.promised(Design("y", {"x": (0, 1), "y": (0, 1)}).unit, BUDGET)
    assert (promise.epsilon, promise.delta, promise.neighbours) == (1.0, 1e-6, "add-remove")
