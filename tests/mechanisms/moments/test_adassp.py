"""Sufficient statistics with a charged eigenvalue: exact in integers, and no neighbour moves it farther."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

import discreet
from discreet.accounting.moment_queries import EIGENVALUE, eigenvalue_query
from discreet.accounting.moments import eigenvalue_sensitivity
from discreet.accounting.noise_distribution import entry_blocks
from discreet.audit.pairs import worst_pairs
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.columns import Boolean, Numeric
from discreet.design.declarations import column_from
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import PrivacyNotice, SpecError
from discreet.exact.linear import smallest_eigenvalue
from discreet.mechanisms.adassp import AdaptiveSufficientStatistics, equal_parts, regressor_gram
from discreet.mechanisms.protocol import RunContext
from discreet.mechanisms.sampler import ExactSampler
from discreet.mechanisms.ssp import SufficientStatistics
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import delta_from, delta_from_rho, mu_from
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.lattice import lattice_gap
from discreet.releases import Release
from discreet.testing.not_private import exact_release
from support.iterative_runs import grid_rows
from support.moment_distributions import variates
from support.statistics_pairs import exact_mu2, some_design, some_pairs, totals_of

FALSE_ALARM = 1e-9
BUDGET = PrivacyBudget(1.0, 1e-6)
MU = mu_from(1.0, 1e-6)
THIRD = {"eigenvalue_share": 1 / 3, "target_square": False}


def distribution_of(design, budget=BUDGET, **settings):
    return AdaptiveSufficientStatistics().noise_model(design, RowDomain.of(design), budget, THIRD | settings)


def eigenvalue_of(totals, design) -> int:
    return smallest_eigenvalue(regressor_gram(totals, constant=design.needs_sums))


def whole_reach(design) -> int:
    """The claimed sensitivity of one row in steps of the product grid, an integer."""
    domain = RowDomain.of(design)
    return domain.norm2_bound + (domain.unit**2 if design.needs_sums else 0)


def joint_mu2(design, distribution, one, other) -> Fraction:
    moved = eigenvalue_of(one, design) - eigenvalue_of(other, design)
    return exact_mu2(design, distribution, one, other) + Fraction(moved**2, distribution.sigma[EIGENVALUE] ** 2)


# -- sensitivity -----------------------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_neighbour_moves_the_eigenvalue_or_the_joint_loss_by_more_than_claimed(neighbours):
    """Integers for the eigenvalue and exact fractions for the loss, no tolerance; rows may be dropped."""
    rng = np.random.default_rng(31 + len(neighbours))
    limit = Fraction(MU) ** 2
    moved = 0
    for _ in range(30):
        design = some_design(rng, neighbours)
        distribution = distribution_of(design, target_square=bool(rng.random() < 0.3))
        for one, other in some_pairs(rng, design, 40):
            change = abs(eigenvalue_of(one, design) - eigenvalue_of(other, design))
            assert change <= whole_reach(design)
            assert joint_mu2(design, distribution, one, other) <= limit
            moved += change > 0
    assert moved > 300, "most eigenvalues are 0: the case is not covered"


NUMBERS = {
    "one number": {"x": (0, 1), "y": (0, 1)},
    "three numbers": {"x": (-2, 2), "z": (-1, 1), "v": (-9, 9), "y": (-1, 1)},
    "boolean target": {"x": (-1, 1), "z": (-1, 1), "y": bool},
}


@pytest.mark.parametrize("columns", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("intercept", [True, False])
def test_some_pair_moves_the_eigenvalue_by_exactly_the_claim(columns, neighbours, intercept):
    """So a claim one step smaller would be false."""
    design = Design("y", columns, intercept=intercept, unit={"neighbours": neighbours})
    pairs = worst_pairs("adassp", design)
    values = [
        [eigenvalue_of(totals_of(side, design), design) for side in (pair.table, pair.neighbour)] for pair in pairs
    ]
    assert max(abs(one - other) for one, other in values) == whole_reach(design)


def spent(design, distribution) -> float:
    pairs = [(pair.table, pair.neighbour) for pair in worst_pairs("adassp", design)]
    drops = any(column.missing == "drop" for column in design.table_columns.values())
    if drops and design.unit.neighbours == "replace":
        pairs += [(one, {name: [*values[:-1], None] for name, values in one.items()}) for one, _ in pairs]
    losses = [joint_mu2(design, distribution, *(totals_of(side, design) for side in pair)) for pair in pairs]
    return float(max(losses)) ** 0.5


@pytest.mark.parametrize("columns", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_sum_of_both_losses_is_attained_by_one_added_row(columns, intercept):
    design = Design("y", columns, intercept=intercept)
    worst = spent(design, distribution_of(design))
    assert delta_from(1.0, worst) <= 1e-6
    # teeth: one per mille less noise would break the promise
    assert delta_from(1.0, worst * 1.001) > 1e-6


MIXED = NUMBERS | {"mixed": {"x": (0, 1), "b": bool, "g": ["a", "b", "c"], "y": (0, 1)}}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("radius", [None, 0.9])
def test_worst_pairs_stay_within_the_budget_and_come_near_it(name, neighbours, drop, radius):
    """For numbers in a box within 5 %; elsewhere no row may be at right angles to the corner, and the sums are left."""
    rule = {"missing": "drop"} if drop else {}
    declared = {column: column_from(what).to_dict() | rule for column, what in MIXED[name].items()}
    design = Design("y", declared, radius=radius, unit={"neighbours": neighbours})
    worst = spent(design, distribution_of(design))
    assert delta_from(1.0, worst) <= 1e-6
    if name != "mixed" and radius is None:
        # teeth: six per cent less noise breaks the promise
        assert delta_from(1.0, worst / 0.95) > 1e-6
    else:
        assert worst > 0.97 * math.sqrt(2 / 3) * MU


# numbers at some of their values, beside indicators and in balls; what part of mu is reached, added and exchanged
JOINT = {
    "a number and a boolean": ({"x": (0, 1), "b": bool}, None, 0.95, 0.95),
    "a number, a boolean, levels": ({"x": (0, 1), "b": bool, "g": ["a", "b", "c"]}, None, 0.97, 0.92),
    "numbers and levels": ({"x": (0, 1), "z": (0, 1), "g": ["a", "b", "c"]}, None, 0.98, 0.93),
    "a number in a ball": ({"x": (0, 1)}, 0.9, 0.99, 0.99),
    "numbers in a ball": ({"x": (0, 1), "z": (0, 1)}, 0.9, 0.95, 0.92),
    "a boolean in a ball": ({"x": (0, 1), "b": bool}, 0.9, 0.96, 0.92),
}


def rows_at_some_values(design) -> dict[str, list[object]]:
    cells = []
    for name, column in design.table_columns.items():
        if isinstance(column, Numeric):
            scaled = (-1, 1) if name == design.target else (-1, -0.5, 0, 1)
            cells.append([column.mid + column.half * value for value in scaled])
        else:
            cells.append([False, True] if isinstance(column, Boolean) else list(column.levels))
    return dict(zip(design.table_columns, map(list, zip(*itertools.product(*cells), strict=True)), strict=True))


def pair_by_search(design, distribution):
    """Neighbours for which the rest of the table was chosen so that all released parts move far together.

    The rows that change are those that move the sums farthest; how often each row stands in the rest is found by
    ascent along the change of the smallest eigenvalue, and rounded to integers.
    """
    table = rows_at_some_values(design)
    rows = grid_rows(table, design) / 2**16
    sigma = np.array([distribution.sigma.get(block, 0) / 4**16 for block in entry_blocks(len(rows))])
    upper = np.triu_indices(len(rows))
    sums = ((rows[upper[0]] * rows[upper[1]])[sigma > 0] / sigma[sigma > 0, None]).T
    if design.unit.neighbours == "add-remove":
        losses = (sums**2).sum(axis=1)[:, None]
    else:
        losses = ((sums[:, None] - sums[None]) ** 2).sum(axis=2)
    v, kept = np.unique(rows[:-1].T, axis=0, return_index=True)
    rng = np.random.default_rng(7)
    found = []
    for changed in np.argsort(losses, axis=None)[::-1][: 6 if losses.shape[1] == 1 else 20]:
        one, other = np.unravel_index(changed, losses.shape)
        lost = np.outer(rows[:-1, other], rows[:-1, other]) * (design.unit.neighbours == "replace")
        gained = np.outer(rows[:-1, one], rows[:-1, one])

        def minus_change(logs, lost=lost, gained=gained):
            rest = (v * np.exp(logs)[:, None]).T @ v
            (low, before), (high, after) = (np.linalg.eigh(rest + part) for part in (lost, gained))
            slope = ((v @ after[:, 0]) ** 2 - (v @ before[:, 0]) ** 2) * np.exp(logs)
            return low[0] - high[0], -slope

        for start in rng.normal(size=(3, len(v))) * 2:
            best = optimize.minimize(minus_change, start, jac=True, bounds=[(-6, 5)] * len(v), options={"maxiter": 200})
            joint = losses[one, other] + (best.fun * 4**16 / distribution.sigma[EIGENVALUE]) ** 2
            found.append((joint, one, other, np.rint(np.exp(best.x)).astype(int)))
    _, one, other, times = max(found, key=lambda each: each[0])
    rest = [index for index, often in zip(kept, times, strict=True) for _ in range(often)]
    left = [other] if design.unit.neighbours == "replace" else []
    return tuple(
        {name: [table[name][k] for k in indices] for name in table} for indices in ([*rest, one], [*rest, *left])
    )


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("name", JOINT)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_all_parts_move_far_together_beside_indicators_and_in_a_ball(name, neighbours):
    """The joint claim, not that of each part: exact loss of a pair that a search has found."""
    columns, radius, added, exchanged = JOINT[name]
    design = Design("y", {**columns, "y": (0, 1)}, radius=radius, unit={"neighbours": neighbours})
    distribution = distribution_of(design)
    one, other = (totals_of(side, design) for side in pair_by_search(design, distribution))
    worst = float(joint_mu2(design, distribution, one, other)) ** 0.5
    assert delta_from(1.0, worst) <= 1e-6
    # teeth: noise smaller by this factor breaks the promise
    assert delta_from(1.0, worst / (added if neighbours == "add-remove" else exchanged)) > 1e-6


def test_one_boolean_moves_the_eigenvalue_by_half_of_the_claim_at_most():
    """Every table of up to 30 rows of each kind: a claim that knew of signs could be half as large, but hardly less."""
    design = Design("y", {"b": bool, "y": bool})
    unit = 4**16
    value = [
        [smallest_eigenvalue([[(n + m) * unit, m * unit], [m * unit, m * unit]]) for m in range(31)] for n in range(31)
    ]
    changes = [value[n][m + 1] - value[n][m] for n in range(31) for m in range(30)]
    changes += [value[n + 1][m] - value[n][m] for n in range(30) for m in range(31)]
    assert max(changes) <= whole_reach(design) // 2
    assert max(changes) > 0.96 * whole_reach(design) / 2


def test_designs_without_a_pair_at_right_angles_still_have_corner_pairs():
    assert len(worst_pairs("adassp", Design("y", NUMBERS["three numbers"]))) == 2
    for columns, spec in (
        (MIXED["mixed"], {}),
        (NUMBERS["three numbers"], {"radius": 1.0}),
        ({"x": (0, 1), "square": {"formula": "x ** 2"}, "y": (0, 1)}, {}),
        ({"x": (0, 1), "z": (0, 1), "up": {"formula": "z >= 0.5"}, "y": (0, 1)}, {}),
        ({"x": (-1, 1), "y": (-1, 1)}, {"intercept": False}),
    ):
        assert len(worst_pairs("adassp", Design("y", columns, **spec))) == 1


def test_a_person_with_three_rows_takes_three_times_the_noise_and_moves_no_farther():
    columns = {"x": (-1, 1), "y": (-1, 1)}
    design = Design("y", columns, unit={"id": "who", "max_rows": 3})
    one, distribution = distribution_of(Design("y", columns)), distribution_of(design)
    assert all(
        distribution.sigma[block] / one.sigma[block] == pytest.approx(3, rel=1e-9) for block in distribution.sigma
    )
    rows = {"x": [-1.0] * 9, "y": [0.0] * 9, "who": list("abcdefghi")}
    more = {"x": [1.0] * 5, "y": [1.0] * 5, "who": ["z"] * 5}
    both = {name: [*rows[name], *more[name]] for name in rows}
    before, after = totals_of(rows, design), totals_of(both, design)
    assert eigenvalue_of(after, design) - eigenvalue_of(before, design) == 3 * whole_reach(design)
    assert Fraction(MU * 0.999) ** 2 <= joint_mu2(design, distribution, before, after) <= Fraction(MU) ** 2


# -- noise -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_products_cross_products_and_the_eigenvalue_get_a_third_each(intercept, neighbours):
    design = Design("y", NUMBERS["three numbers"], intercept=intercept, unit={"neighbours": neighbours})
    shares = equal_parts(design, target_square=False)
    assert shares.count + shares.sum_x + shares.gram == pytest.approx(1.0)
    assert shares.sum_y + shares.cross == pytest.approx(1.0)
    assert (shares.count == 0.0) == (neighbours == "replace")
    distribution = distribution_of(design)
    sensitivity = eigenvalue_sensitivity(design, RowDomain.of(design))
    assert sensitivity == (4.0 if intercept else 3.0)
    assert sensitivity / distribution.sd(EIGENVALUE) == pytest.approx(MU / math.sqrt(3), rel=1e-6)
    if neighbours == "add-remove":
        lengths = {"count": 1, "sum_x": math.sqrt(3), "gram_diagonal": 3, "sum_y": 1, "cross": math.sqrt(3)}
        spent_on = {
            block: (lengths[block] / distribution.sd(block)) ** 2 for block in lengths if block in distribution.sigma
        }
        cross = spent_on.pop("cross") + spent_on.pop("sum_y", 0.0)
        assert cross == pytest.approx(MU**2 / 3, rel=1e-6)
        assert sum(spent_on.values()) == pytest.approx(MU**2 / 3, rel=1e-6)


def test_a_target_square_takes_the_share_that_ssp_gives_it():
    shares = equal_parts(Design("y", NUMBERS["three numbers"]), target_square=True)
    total = shares.count + shares.sum_x + shares.gram + shares.sum_y + shares.cross + shares.target_square
    assert shares.target_square / total == pytest.approx(0.05)


@pytest.mark.parametrize("share", [0.005, 0.02, 1 / 3, 0.9])
def test_the_share_is_what_the_eigenvalue_spends(share):
    design = Design("y", NUMBERS["three numbers"])
    distribution, plain = distribution_of(design, eigenvalue_share=share), SufficientStatistics()
    assert (4.0 / distribution.sd(EIGENVALUE)) ** 2 == pytest.approx(share * MU**2, rel=1e-6)
    assert spent(design, distribution) == pytest.approx(MU, rel=1e-6)
    alone = plain.noise_model(design, RowDomain.of(design), BUDGET, {"target_square": False})
    # what the sums pay for the eigenvalue
    assert distribution.sd("cross") / alone.sd("cross") >= 0.97 / math.sqrt(1 - share)


def test_the_lattice_gap_counts_the_eigenvalue():
    design = Design("y", {"x": (-1, 1), "y": (-1, 1)}, intercept=False)
    distribution = distribution_of(design)
    entries = ("count", "gram_diagonal", "cross", EIGENVALUE)
    expected = (1 + math.e) * sum(
        1 / (16 * distribution.sigma[block] ** 2) for block in entries
    )  # fmt: skip
    # one column has no entry off the diagonal
    assert set(distribution.sigma) == {*entries, "gram_off_diagonal"}
    drawn = variates(distribution, 3, eigenvalue_query(design, RowDomain.of(design)))
    assert lattice_gap(1.0, drawn) == pytest.approx(expected, rel=1e-9)


class _Bulk:
    """An exact sampler that keeps what it was asked for."""

    def __init__(self):
        self.asked = []

    def draw(self, sigmas):
        self.asked.append(list(sigmas))
        return ExactSampler().draw(sigmas)


def test_the_noise_of_the_eigenvalue_has_the_stated_distribution_and_a_wrong_scale_is_rejected():
    """The randomised map adds one variate of its own parameter; squares against chi-square, both tails."""
    design = Design("y", {"x": (-1, 1), "y": (-1, 1)}, intercept=False)
    distribution, sampler = distribution_of(design), _Bulk()
    domain = RowDomain.of(design)
    exact = totals_of({"x": [1.0, 0.5], "y": [1.0, 0.0]}, design)
    assert eigenvalue_of(exact, design) == 4**16 + 4**15
    drawn = []
    for _ in range(300):
        passes = AdaptiveSufficientStatistics().passes(RunContext(design, domain, distribution, THIRD, sampler))
        next(passes)
        with pytest.raises(StopIteration) as done:
            passes.send(Totals(exact, 4**16, RowCounts(2)))
        published = done.value.value
        assert sampler.asked[-1] == [distribution.sigma[EIGENVALUE]]
        drawn.append((published.scalars[EIGENVALUE] - eigenvalue_of(exact, design)) / distribution.sigma[EIGENVALUE])
    statistic = float(np.sum(np.square(drawn)))
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(drawn))
    assert low < statistic < high
    # six standard deviations of 8 % each either way, and as much again for the draw
    assert not low < statistic * 0.4**2 < high
    assert not low < statistic * 1.8**2 < high
    many = np.array(ExactSampler().draw([distribution.sigma[EIGENVALUE]] * 20_000)) / distribution.sigma[EIGENVALUE]
    statistic = float(np.sum(np.square(many)))
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(many))
    assert low < statistic < high
    assert not low < statistic * 0.93**2 < high
    assert not low < statistic * 1.07**2 < high


def test_where_the_gap_is_not_small_the_discrete_distribution_is_calibrated_itself():
    design = Design("y", NUMBERS["one number"])
    distribution = distribution_of(design, PrivacyBudget(1e4, 1e-6))
    assert distribution.calibration == "discrete-zcdp"
    mu2 = spent(design, distribution) ** 2
    assert delta_from_rho(1e4, mu2 / 2) <= 1e-6
    assert delta_from_rho(1e4, mu2 * 1.01 / 2) > 1e-6


def test_the_noise_is_less_than_that_of_algorithms_2_and_3_of_the_thesis():
    """X'X and X'y on the unit ball at (1, 1e-6), from draws; the count that is not public costs X'X 4 % of noise."""
    columns = {**{f"x{j}": (-1, 1) for j in range(5)}, "y": (-1, 1)}
    second, third = 3 * math.sqrt(math.log(6 / 1e-6)), 3 * math.sqrt(2 * math.log(3.75 / 1e-6))
    distribution = distribution_of(Design("y", columns, intercept=False, radius=1.0))
    sd = {block: np.std(ExactSampler().draw([sigma] * 20_000)) / 4**16 for block, sigma in distribution.sigma.items()}
    # a standard deviation of 20,000 draws is known to 0.5 %: seven of these
    near = {"rel": 0.035}
    for block, by_second, by_third in (
        ("cross", 1.62, 2.26),
        (EIGENVALUE, 1.62, 2.26),
        ("gram_diagonal", 1.55, 2.16),
        ("gram_off_diagonal", 2.20, 3.06),
    ):
        assert second / sd[block] == pytest.approx(by_second, **near)
        assert third / sd[block] == pytest.approx(by_third, **near)


TABLE = {
    # epsilon: exact joint sigma / reach, ratios of Algorithms 2 and 3, for delta = 1e-5, 1e-6 and 1e-8
    0.1: ((53.26, 2.05, 2.85), (62.88, 1.88, 2.63), (79.57, 1.70, 2.37)),
    0.5: ((12.18, 1.80, 2.50), (13.96, 1.70, 2.37), (17.08, 1.58, 2.21)),
    1.0: ((6.46, 1.69, 2.35), (7.32, 1.62, 2.26), (8.83, 1.53, 2.13)),
    3.0: ((2.41, 1.51, 2.10), (2.67, 1.48, 2.06), (3.15, 1.43, 1.99)),
    10.0: ((0.87, 1.26, 1.76), (0.94, 1.26, 1.76), (1.07, 1.26, 1.77)),
}


@pytest.mark.parametrize("epsilon", TABLE)
def test_the_noise_of_three_equal_parts_against_the_thesis_at_fifteen_budgets(epsilon):
    design = Design("y", {"x": (-1, 1), "y": (-1, 1)}, intercept=False)
    for delta, (joint, by_second, by_third) in zip((1e-5, 1e-6, 1e-8), TABLE[epsilon], strict=True):
        sd = distribution_of(design, PrivacyBudget(epsilon, delta)).sd(EIGENVALUE)
        assert sd == pytest.approx(joint, abs=0.0051)
        second, third = (
            3 * math.sqrt(math.log(6 / delta)) / epsilon,
            3 * math.sqrt(2 * math.log(3.75 / delta)) / epsilon,
        )
        assert second / sd == pytest.approx(by_second, abs=0.0051)
        assert third / sd == pytest.approx(by_third, abs=0.0051)
        # enough together, though not piece by piece
        assert delta_from(epsilon, math.sqrt(3) / second) < delta
    assert delta_from(epsilon / 3, 1 / second) > delta / 3


# -- the release and the estimator -----------------------------------------------------------------------------------


def table(count=4000, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, 3))
    y = np.clip(x @ [0.4, -0.2, 0.1] + 0.1 * rng.normal(size=count), -1, 1)
    return {"a": x[:, 0].tolist(), "b": x[:, 1].tolist(), "c": x[:, 2].tolist(), "y": y.tolist()}


def test_a_release_carries_the_eigenvalue_and_is_read_again():
    design = Design("y", dict.fromkeys("abcy", (-1, 1)))
    made = discreet.release(table(400), design, mechanism="adassp", epsilon=1.0, delta=1e-6)
    again = Release.from_json(made.to_json())
    assert again == made
    assert set(again.scalars) == {EIGENVALUE}
    assert made.settings["eigenvalue_share"] == 1 / 3
    assert made.totals[-1] is None


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_as_epsilon_grows_the_adaptive_fit_meets_least_squares_without_noise_to_four_digits(intercept, shift):
    design = Design("y", dict.fromkeys("abcy", (-1 - shift, 1 + 3 * shift)), intercept=intercept)
    rows = table()
    with pytest.warns(PrivacyNotice, match="WEAK"):
        made = discreet.release(rows, design, mechanism="adassp", epsilon=1e6, delta=1e-6, allow_weak_privacy=True)
    got, wanted = discreet.fit(made, penalty="adaptive"), discreet.fit(exact_release(rows, design))
    assert got.ridge == 0.0
    np.testing.assert_allclose(got.coefficients, wanted.coefficients, atol=5e-5)
    exact = eigenvalue_of(totals_of(rows, design), design)
    assert made.scalars[EIGENVALUE] / exact == pytest.approx(1, abs=1e-3)


# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"delta": 0.0}, "delta"),
        ({"settings": {"eigenvalue_share": 0.95}}, "0.005 to 0.9"),
        ({"settings": {"eigenvalue_share": 0.0}}, "0.005 to 0.9"),
        ({"settings": {"share": 0.5}}, "unknown setting"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_the_table_is_opened(spec, message):
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    with pytest.raises(SpecError, match=message):
        discreet.release("/no/such/file.csv", design, **{"mechanism": "adassp", "epsilon": 1.0, "delta": 1e-6} | spec)


def test_more_columns_than_can_be_eliminated_in_good_time_are_refused():
    columns = {f"x{j}": (0, 1) for j in range(100)}
    distribution_of(Design("y", {**dict(list(columns.items())[:99]), "y": (0, 1)}))
    with pytest.raises(SpecError, match=r"at most 100 columns, including the intercept, .*; got 101"):
        distribution_of(Design("y", {**columns, "y": (0, 1)}))


def test_the_promise_is_that_of_the_budget():
    promise = Guarantee.promised(Design("y", {"x": (0, 1), "y": (0, 1)}).unit, BUDGET)
    assert (promise.epsilon, promise.delta, promise.neighbours) == (1.0, 1e-6, "add-remove")
