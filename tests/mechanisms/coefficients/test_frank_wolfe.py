"""Private Frank-Wolfe: what one unit can do to a score, the distribution and privacy of a choice, and the path without
noise."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.accounting.iterations import coordinate_sensitivity
from discreet.accounting.settings import checked_settings
from discreet.audit.pairs import worst_pairs
from discreet.curator.sums.residuals import ScoreSum
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.frank_wolfe import PrivateFrankWolfe, clipped_at, epsilon_of_a_choice, select  # fmt: skip
from discreet.mechanisms.protocol import RunContext
from discreet.mechanisms.sampler import ExactSampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import delta_from_rho
from discreet.privacy.guarantee import Guarantee
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.person_pairs import person_changes, person_design
from support.tables import neighbouring_table, random_design, random_table

RELATIONS = ("add-remove", "replace")
PAIRS = 1200
# a statistical test below alarms falsely with probability at most this
FALSE_ALARM = 1e-9
COLUMNS = {"x": (0, 10), "z": (-1, 1), "b": bool, "y": (-5, 5)}


def distribution_for(design, epsilon=1.0, delta=0.0, **given):
    settings = checked_settings("frank-wolfe", PrivateFrankWolfe.info.settings, given)
    return PrivateFrankWolfe().noise_model(design, RowDomain.of(design), PrivacyBudget(epsilon, delta), settings)


def scores_of(table, design, theta, bound) -> np.ndarray:
    domain = RowDomain.of(design)
    sums = ScoreSum(domain, len(theta), theta, clipped_at(bound), intercept=design.intercept)
    return np.array(accumulate(open_source(table), design, domain, ComputeOptions(), sums).values, dtype=object)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_neighbour_moves_a_score_by_more_than_claimed(neighbours, missing):
    """Exact integers, no tolerance; wild and tame coefficients, balls, derived columns, rows that are dropped."""
    rng = np.random.default_rng(11 + len(neighbours) + len(missing))
    reached = 0
    for _ in range(PAIRS // 40):
        design = random_design(rng, neighbours=neighbours, missing=missing, derived=bool(rng.random() < 0.3))
        theta = (rng.normal(size=len(design.released) - 1) * 10.0 ** rng.integers(-2, 9)).tolist()
        bound = float(10.0 ** rng.uniform(-3, 1))
        sensitivity = coordinate_sensitivity(design.unit) * RowDomain.of(design).unit
        base = random_table(design, 5, rng)
        before = scores_of(base, design, theta, bound)
        for _ in range(20):
            other = neighbouring_table(design, base, rng, missing=missing)
            change = int(abs(scores_of(other, design, theta, bound) - before).max())
            assert change <= sensitivity
            reached += change == sensitivity
    assert reached > 50, "the claim is far above what rows can do"


@pytest.mark.no_cover
@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_person_moves_a_score_by_more_than_claimed(neighbours, missing):
    """1,000 persons a relation of one to four rows that count, in exact integers; the claim is reached."""
    rng = np.random.default_rng(4 + len(missing))
    reached = 0
    for _ in range(10):
        design = person_design(rng, neighbours, missing=missing, derived=bool(rng.random() < 0.3))
        domain, size = RowDomain.of(design), len(design.released) - 1
        theta = (rng.normal(size=size) * 10.0 ** rng.integers(-2, 9)).tolist()
        weight = clipped_at(float(10.0 ** rng.uniform(-3, 0)))
        sensitivity = coordinate_sensitivity(design.unit) * domain.unit
        changes = person_changes(rng, design, partial(ScoreSum, domain, size, theta, weight), 50)
        assert len(changes) == 50
        for change in changes:
            farthest = int(abs(change).max())
            assert farthest <= sensitivity
            reached += farthest == sensitivity
    # teeth: a claim any smaller is broken by these many persons
    assert reached > 25


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_worst_pairs_reach_the_claim_in_the_first_pass(neighbours):
    design = Design("y", COLUMNS, unit={"neighbours": neighbours})
    theta = [0.0] * 4
    worst = max(
        int(abs(scores_of(pair.table, design, theta, 1.0) - scores_of(pair.neighbour, design, theta, 1.0)).max())
        for pair in worst_pairs("frank-wolfe", design)
    )
    assert worst == coordinate_sensitivity(design.unit) * 2**16


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("grid_bits", [8, 16])
def test_the_scores_that_are_chosen_from_spend_the_budget_on_worst_pairs_and_no_more(
    neighbours, grid_bits, monkeypatch
):
    """Scores and scale as `passes` really hands them over: the range of log ratios, in exact fractions."""
    design = Design("y", COLUMNS, unit={"neighbours": neighbours})
    domain = RowDomain.of(design, grid_bits)
    settings = checked_settings("frank-wolfe", PrivateFrankWolfe.info.settings, {"iterations": 1})
    distribution = PrivateFrankWolfe().noise_model(design, domain, PrivacyBudget(0.7), settings)
    seen = []

    def watched(scores, scale, sampler):
        seen.append((scores, scale))
        return 0

    monkeypatch.setattr("discreet.mechanisms.frank_wolfe.select", watched)
    losses = []
    for pair in worst_pairs("frank-wolfe", design):
        for table in (pair.table, pair.neighbour):
            passes = PrivateFrankWolfe().passes(RunContext(design, domain, distribution, settings, ExactSampler()))
            summed = accumulate(open_source(table), design, domain, ComputeOptions(), next(passes))
            with pytest.raises(StopIteration):
                passes.send(summed)
        (one, scale), (other, _) = seen[-2:]
        change = [a - b for a, b in zip(one, other, strict=True)]
        losses.append(Fraction(max(change) - min(change), scale))
    assert max(losses) <= Fraction(0.7)
    assert max(losses) * (1 + Fraction(1, 10**3)) > Fraction(0.7)


def with_signs(scores):
    return [*scores, *(-score for score in scores)]


def log_distributions(scores, scale) -> list[Decimal]:
    """Logarithms of the probabilities of `select`, to fifty digits."""
    with localcontext(prec=60):
        exponents = [Decimal(score) / Decimal(scale) for score in scores]
        best = max(exponents)
        total = sum((exponent - best).exp() for exponent in exponents).ln()
        return [exponent - best - total for exponent in exponents]


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("unit", [{}, {"id": "who", "max_rows": 2}])
def test_the_privacy_of_a_choice_computed_exactly(neighbours, unit):
    """Log ratios of all outcomes on worst and random pairs of score vectors: within epsilon, and 99 % of it reached."""
    rng = np.random.default_rng(2)
    design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"neighbours": neighbours, **unit})
    each = 0.5
    distribution = distribution_for(design, each, iterations=1)
    scale, sensitivity = distribution.sigma["selection"], coordinate_sensitivity(design.unit) * 4**16
    losses = []
    for trial in range(60):
        size = int(rng.integers(1, 5))
        scores = [int(value) for value in rng.normal(size=size) * sensitivity * 10.0 ** rng.integers(-1, 3)]
        change = (
            rng.choice([-sensitivity, sensitivity, 0], size)
            if trial % 2
            else rng.integers(-sensitivity, sensitivity, size)
        )
        if trial == 0:
            # the sign that loses nearly always gains the most
            scores, change = [-100 * sensitivity], [sensitivity]
        moved = [score + int(step) for score, step in zip(scores, change, strict=True)]
        one, other = log_distributions(with_signs(scores), scale), log_distributions(with_signs(moved), scale)
        losses.append(max(abs(a - b) for a, b in zip(one, other, strict=True)))
    assert max(losses) <= Decimal(each)
    # teeth: one per cent less noise would break it
    assert max(losses) > Decimal("0.99") * Decimal(each)


def test_the_divergence_of_a_choice_is_at_most_an_eighth_of_its_squared_epsilon():
    """Renyi divergences of many orders on random pairs; a pair around a tie comes to 99 % of the bound."""
    rng = np.random.default_rng(3)
    worst = Decimal(0)
    with localcontext(prec=60):
        for trial in range(80):
            size, scale = int(rng.integers(1, 5)), 1000
            sensitivity = int(rng.choice([20, 300, 2000]))
            epsilon = Decimal(2 * sensitivity) / scale
            scores = [int(value) for value in rng.normal(size=size) * scale * 2]
            change = [int(step) for step in rng.choice([-sensitivity, sensitivity], size)]
            if trial == 0:
                sensitivity, epsilon, scores, change = 20, Decimal(40) / scale, [-10], [20]
            moved = [score + step for score, step in zip(scores, change, strict=True)]
            one, other = log_distributions(with_signs(scores), scale), log_distributions(with_signs(moved), scale)
            for order in ("1.01", "2", "5", "40"):
                a = Decimal(order)
                divergence = sum((a * p + (1 - a) * q).exp() for p, q in zip(one, other, strict=True)).ln() / (a - 1)
                assert divergence <= a * epsilon**2 / 8 * (1 + Decimal("1e-40"))
                worst = max(worst, divergence / (a * epsilon**2 / 8))
    assert worst > Decimal("0.99")


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("iterations", [1, 4, 20, 300])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_all_choices_together_spend_the_budget_and_no_more(delta, iterations, neighbours):
    design = Design("y", COLUMNS, unit={"neighbours": neighbours})
    for epsilon in (0.1, 1.0, 7.7):
        distribution = distribution_for(design, epsilon, delta, iterations=iterations)
        each = Fraction(2 * coordinate_sensitivity(design.unit) * 4**16, distribution.sigma["selection"])
        assert distribution.parameters["iterations"] == iterations
        if delta == 0 or iterations == 1:
            assert distribution.calibration == "pure"
        elif iterations >= 20:
            assert distribution.calibration == "composed"
        if distribution.calibration == "pure":
            assert each * iterations <= Fraction(epsilon)
            assert each * iterations > Fraction(epsilon) * (1 - Fraction(1, 10**6))
        else:
            rho = float(iterations * each**2 / 8)
            assert delta_from_rho(epsilon, rho) <= delta
            assert delta_from_rho(epsilon, rho * 1.001) > delta


def test_the_larger_epsilon_of_the_two_rules_is_taken():
    assert epsilon_of_a_choice(PrivacyBudget(1.0, 1e-6), 2) == (0.5, "pure")
    each, how = epsilon_of_a_choice(PrivacyBudget(1.0, 1e-6), 100)
    assert (how, each > 0.01) == ("composed", True)


def chosen(scores, scale, times) -> np.ndarray:
    sampler = ExactSampler()
    counted = Counter(select(scores, scale, sampler) for _ in range(times))
    return np.array([counted[index] for index in range(len(scores))])


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize(("scores", "scale"), [([0, 3, 7, 7, -2, 5], 5), ([2**40, 2**40 - 2**33], 2**33)])
def test_choices_have_the_stated_probabilities_and_wrong_scales_are_rejected(scores, scale):
    """Chi-square of 2,500 choices; half or twice the scale is seen. Ties share alike."""
    counts = chosen(scores, scale, 2500)
    assert counts.sum() == 2500

    def p_value(used):
        distribution = np.exp((np.array(scores, dtype=float) - max(scores)) / used)
        return stats.chisquare(counts, distribution / distribution.sum() * 2500).pvalue

    assert p_value(scale) > FALSE_ALARM
    assert p_value(scale / 2) < FALSE_ALARM
    assert p_value(scale * 2) < FALSE_ALARM


def test_a_variate_is_large_enough_with_probability_exp_of_minus_the_lack_times_a_constant():
    """What `select` leans on, summed from the discrete Laplace distribution itself."""
    for scale in (1, 3, 50):
        z = np.arange(-60 * scale, 60 * scale + 1)
        distribution = np.exp(-np.abs(z) / scale)
        distribution /= distribution.sum()
        for lack in (0, 1, 2, 4 * scale):
            expected = math.exp(-lack / scale) / (1 + math.exp(-1 / scale))
            assert distribution[z >= lack].sum() == pytest.approx(expected, rel=1e-10)


class _Script:
    """A sampler that gives what it was told to."""

    private = False

    def __init__(self, indices, variates):
        self.indices, self.variates = iter(indices), variates

    def laplace(self, scales):
        return (self.variates * len(scales))[: len(scales)]

    def bits(self, how_many):
        index = next(self.indices)
        assert index < 2**how_many
        return index


def test_places_beyond_the_last_and_variates_too_small_are_drawn_again():
    # 3 of 3 does not exist; 0 lacks 5; 1 is the best, but its first variate is negative
    assert select([0, 5, 4], 2, _Script([3, 0, 1, 2], [9, 4, -1, 1])) == 2
    assert select([0, 5, 4], 2, _Script([0] * 32 + [1], [4])) == 1


def a_table(rows=500, seed=9):
    rng = np.random.default_rng(seed)
    x, z, b = rng.uniform(0, 10, rows), rng.uniform(-1, 1, rows), rng.random(rows) < 0.5
    return {"x": x, "z": z, "b": b, "y": np.clip(0.5 * (x - 5) + 1.5 * b - 1 + rng.normal(0, 0.5, rows), -5, 5)}


def encoded(table):
    grid = lambda v: np.rint(np.asarray(v, dtype=float) * 2**16) / 2**16  # noqa: E731
    Z = np.column_stack([np.ones(len(table["x"])), grid((table["x"] - 5) / 5), grid(table["z"]), table["b"]])
    return Z.astype(float), grid(table["y"] / 5)


def frank_wolfe_by_hand(Z, y, radius, iterations, bound) -> np.ndarray:
    theta = np.zeros(Z.shape[1])
    for t in range(iterations):
        slope = Z.T @ np.clip(y - Z @ theta, -bound, bound)
        column = int(np.abs(slope).argmax())
        share = 2 / (t + 2)
        theta = (1 - share) * theta
        theta[column] += share * math.copysign(radius, slope[column])
    return theta


def released(design, epsilon, table=None, **settings):
    return discreet.release(
        table or a_table(), design, epsilon=epsilon, mechanism="frank-wolfe", settings=settings, allow_weak_privacy=True
    )


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("radius", "bound"), [(0.9, 2.0), (2.0, 0.1)])
def test_as_epsilon_grows_it_meets_frank_wolfe_without_noise_bit_for_bit(intercept, radius, bound):
    Z, y = encoded(a_table())
    kept = Z if intercept else Z[:, 1:]
    expected = frank_wolfe_by_hand(kept, y, radius, 15, bound)
    # the same scaled rows, around 0 where there is no intercept
    centred = a_table() | {"x": a_table()["x"] - 5}
    design = Design("y", COLUMNS) if intercept else Design("y", COLUMNS | {"x": (-5, 5)}, intercept=False)
    table = a_table() if intercept else centred
    made = released(design, 1e7, table, radius_l1=radius, iterations=15, residual_bound=bound).coefficients
    assert list(made.values) == [*([] if intercept else [0.0]), *expected.tolist()]
    assert len(made.trace) == 15
    assert made.trace[-1] == made.values
    assert np.count_nonzero(expected) >= 2, "one column only: the choice was not tested"


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
def test_without_noise_the_loss_comes_within_the_known_distance_of_the_lasso():
    """The gap after T steps is at most 2 C / (T + 2), C at most (2 radius)^2 here (Jaggi 2013)."""
    Z, y = encoded(a_table())
    radius, steps = 0.8, 150
    made = released(Design("y", COLUMNS), 1e7, radius_l1=radius, iterations=steps, residual_bound=4.0)
    theta = np.array(made.coefficients.values)
    best = frank_wolfe_by_hand(Z, y, radius, 10_000, 4.0)

    def loss(coefficients):
        return float(np.mean((y - Z @ coefficients) ** 2)) / 2

    assert loss(theta) - loss(best) <= 8 * radius**2 / (steps + 2)
    assert loss(np.zeros(4)) - loss(best) > 8 * radius**2 / (steps + 2), "doing nothing would pass as well"


def test_every_step_stays_in_the_ball_and_a_release_survives_its_file(tmp_path):
    design = Design("y", COLUMNS, unit={"neighbours": "replace"})
    made = released(design, 0.5, iterations=7, radius_l1=1.25)
    made.save(tmp_path / "r.json")
    assert discreet.Release.load(tmp_path / "r.json") == made
    for step in made.coefficients.trace:
        assert sum(map(abs, step)) <= 1.25 * (1 + 1e-12)
    assert made.numerics == "exact"
    assert Guarantee.promised(design.unit, PrivacyBudget(0.5)).epsilon == 0.5


def test_other_currencies_and_bad_settings_are_refused_before_data():
    design = Design("y", COLUMNS)
    settings = checked_settings("frank-wolfe", PrivateFrankWolfe.info.settings, None)
    for budget in (PrivacyBudget.zcdp(0.1), PrivacyBudget.gdp(0.5)):
        with pytest.raises(SpecError, match="epsilon and delta"):
            PrivateFrankWolfe().noise_model(design, RowDomain.of(design), budget, settings)
    for wrong in ({"iterations": 0}, {"iterations": 1.5}, {"radius_l1": 0.0}, {"residual_bound": -1.0}):
        with pytest.raises(SpecError, match=next(iter(wrong))):
            released(design, 1.0, table="no such file.csv", **wrong)
    with pytest.raises(SpecError, match="raise epsilon"):
        distribution_for(design, 1e-6, iterations=1000)
