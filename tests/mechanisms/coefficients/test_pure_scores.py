"""Robust regression under epsilon alone: what one unit can move in the L1 norm and spends, and the noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.accounting.iterations import gram_l1_sensitivity, score_l1_sensitivity
from discreet.accounting.privacy_loss import iteration_count
from discreet.audit.pairs import worst_pairs
from discreet.curator.sums.gram import ExactGram, Totals
from discreet.curator.sums.residuals import ScoreSum
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import PrivacyNotice, SpecError
from discreet.mechanisms.irls import PrivateIRLS, RobustLoss, noisy_gram, noisy_score
from discreet.mechanisms.sampler import ExactSampler
from discreet.testing.not_private import SeededSampler
from support.iterative_runs import COLUMNS, carried_out, grid_rows, neighbours_of, prepared, simulated, summed
from support.tables import Untouchable, random_design, random_table

RELATIONS = ("add-remove", "replace")
EPSILON = 1.0
FALSE_ALARM = 1e-9
IRLS = PrivateIRLS()


def pure(design, epsilon=EPSILON, **given):
    return prepared(IRLS, design, epsilon, 0.0, **given)


def changes(one, other, scales) -> Fraction:
    return sum((Fraction(abs(a - b), s) for a, b, s in zip(one, other, scales, strict=True)), start=Fraction(0))


def epsilon_between(one, other, context, theta) -> Fraction:
    """Exact epsilon of the whole release between two sets of rows if every iterate were `theta`."""
    design, domain, sigma = context.design, context.domain, context.distribution.sigma
    size, first = len(design.released) - 1, 0 if design.intercept else 1
    entries = [(i, j) for i in range(size + 1) for j in range(i, size + 1)]
    kept = [k for k, (i, j) in enumerate(entries) if i >= first and j < size]
    scales = [sigma["gram_diagonal" if entries[k][0] == entries[k][1] else "gram_off_diagonal"] for k in kept]
    grams = [[summed(ExactGram(size + 1, domain.grid_bits), rows)[k] for k in kept] for rows in (one, other)]
    loss = RobustLoss(context.settings["power"], context.settings["threshold"])
    scores = [
        [domain.unit * total for total in
         summed(ScoreSum(domain, size, theta, loss.score, intercept=design.intercept), rows)[first:]]
        for rows in (one, other)
    ]  # fmt: skip
    times = iteration_count(context.settings, pure=True)
    return changes(*grams, scales) + times * changes(*scores, [sigma["score"]] * (size - first))


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_neighbour_spends_more_than_epsilon(neighbours):
    """Exact rational loss of all passes together under the noise that is drawn; any coefficients, no tolerance."""
    rng = np.random.default_rng(51 + len(neighbours))
    for _ in range(30):
        made = random_design(rng, neighbours=neighbours, derived=bool(rng.random() < 0.3))
        design = Design("y", made.columns, radius=made.radius, unit=made.unit, intercept=bool(rng.random() < 0.6))
        settings = {
            "iterations": int(rng.integers(0, 20)),
            "threshold": float(10 ** rng.uniform(-3, 0.3)),
            "power": float(rng.choice([1.0, rng.uniform(1, 2), 2.0])),
        }
        context = pure(design, grid_bits=int(rng.choice([8, 16])), **settings)
        rows = grid_rows(random_table(design, 30, rng), design, context.domain.grid_bits)
        for index in range(10):
            theta = rng.normal(size=len(rows) - 1) * 10.0 ** rng.integers(-2, 9)
            theta[0] *= design.intercept
            one, other = neighbours_of(rows, index, neighbours)
            assert epsilon_between(one, other, context, theta.tolist()) <= EPSILON


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1e4])
def test_an_added_corner_row_spends_the_whole_budget(intercept, epsilon):
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)}, intercept=intercept)
    context = pure(design, epsilon, threshold=1.0)
    corner = np.full((4, 1), 2.0**16)
    spent = epsilon_between(corner, corner[:, :0], context, [0.0] * 3)
    assert epsilon * (1 - 1e-6) <= spent <= epsilon


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_worst_pairs_spend_the_budget_and_no_more(neighbours):
    design = Design("y", {"x": (0, 1), "b": bool, "g": ["a", "b", "c"], "y": (0, 1)}, unit={"neighbours": neighbours})
    context = pure(design, threshold=1.0)
    zero = [0.0] * (len(design.released) - 1)
    spent = max(
        float(epsilon_between(grid_rows(pair.table, design), grid_rows(pair.neighbour, design), context, zero))
        for pair in worst_pairs("irls", design)
    )
    # under replace the Gram and the scores have their maxima on different pairs
    assert (0.999 if neighbours == "add-remove" else 0.86) <= spent <= EPSILON


def test_a_replaced_row_can_move_the_scores_as_far_as_claimed():
    design = Design("y", {"x": (-1, 1), "z": (-1, 1), "y": (-1, 1)}, unit={"neighbours": "replace"})
    domain = RowDomain.of(design)
    weight = RobustLoss(1.0, 1.0).score
    corner, other = np.full((4, 1), 2.0**16), np.array([[1.0], [1.0], [1.0], [-1.0]]) * 2.0**16
    moved = [summed(ScoreSum(domain, 3, [0.0] * 3, weight), rows) for rows in (corner, other)]
    assert sum(abs(a - b) for a, b in zip(*moved, strict=True)) / 2**16 == score_l1_sensitivity(design, domain) == 6.0


def test_all_rows_of_a_person_and_a_row_that_is_dropped_are_covered():
    corner = np.full((3, 1), 2.0**16)
    for neighbours in RELATIONS:
        persons = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"id": "who", "max_rows": 3, "neighbours": neighbours})
        three = np.repeat(corner, 3, axis=1)
        assert epsilon_between(three, three[:, :0], pure(persons, threshold=1.0), [0.0, 0.0]) <= EPSILON
        columns = {"x": {"bounds": [0, 1], "missing": "drop"}, "y": (0, 1)}
        dropping = Design("y", columns, unit={"neighbours": neighbours})
        assert epsilon_between(corner, corner[:, :0], pure(dropping, threshold=1.0), [0.0, 0.0]) <= EPSILON
    persons = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"id": "who", "max_rows": 3})
    alone = Design("y", {"x": (0, 1), "y": (0, 1)})
    for sensitivity in (score_l1_sensitivity, gram_l1_sensitivity):
        domain = RowDomain.of(alone)
        assert sensitivity(persons, domain) == pytest.approx(3 * sensitivity(alone, domain))


@pytest.mark.no_cover
def test_noise_is_laplace_of_the_stated_scale_and_others_are_rejected():
    """3,000 draws of the Gram, 9,000 of scores: false alarm 1e-9; twice the scale and normal noise fail."""
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)})
    context = pure(design, sampler=ExactSampler())
    scale = {name: value / context.distribution.unit for name, value in context.distribution.sigma.items()}
    found = {"gram_diagonal": [], "gram_off_diagonal": [], "score": []}
    for _ in range(1000):
        gram = noisy_gram(Totals((0,) * 10, 4**16, RowCounts(0)), context)
        found["gram_diagonal"] += list(np.diag(gram))
        found["gram_off_diagonal"] += list(gram[np.triu_indices(3, 1)])
    for _ in range(3000):
        found["score"] += list(noisy_score(Totals((0,) * 3, 2**16, RowCounts(0)), context))
    for name, values in found.items():
        assert stats.kstest(values, stats.laplace(0, scale[name]).cdf).pvalue > FALSE_ALARM
        assert stats.kstest(values, stats.laplace(0, 2 * scale[name]).cdf).pvalue < FALSE_ALARM
        assert context.distribution.sd(name) == pytest.approx(scale[name] * 2**0.5)
    joint = np.array(found["score"]) / context.distribution.sd("score")
    assert stats.kstest(joint, stats.norm.cdf).pvalue < FALSE_ALARM


def test_off_the_diagonal_the_scale_is_smaller_by_the_square_root_of_two_and_no_more():
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)})
    sigma = pure(design).distribution.sigma
    assert 2 * sigma["gram_off_diagonal"] ** 2 >= sigma["gram_diagonal"] ** 2
    assert sigma["gram_off_diagonal"] == pytest.approx(sigma["gram_diagonal"] / 2**0.5, rel=1e-6)


def test_more_iterations_mean_more_noise_in_proportion():
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    few, many = (pure(design, iterations=count).distribution.sd("score") for count in (5, 50))
    assert many / few == pytest.approx(10)
    assert iteration_count(pure(design).settings, pure=True) == 20


def test_as_epsilon_grows_it_meets_the_robust_fit_of_gaussian_noise():
    design = Design("y", COLUMNS)
    rows = grid_rows(simulated(1500, np.random.default_rng(1)), design)
    settings = {"iterations": 60, "threshold": 0.15, "average": False, "sampler": SeededSampler(4)}
    laplace = carried_out(IRLS, pure(design, 1e6, **settings), rows)
    gaussian = carried_out(IRLS, prepared(IRLS, design, 1e6, **settings), rows)
    assert laplace.values == pytest.approx(gaussian.values, abs=1e-3)
    assert np.abs(np.linalg.lstsq(rows[:-1].T, rows[-1], rcond=None)[0] - laplace.values).max() > 0.01


# through the public functions


def test_a_release_without_delta_promises_none():
    table = simulated(3000, np.random.default_rng(6))
    made = discreet.release(table, Design("y", COLUMNS), epsilon=2.0, mechanism="irls")
    assert (made.guarantee.epsilon, made.guarantee.delta) == (2.0, 0.0)
    assert (made.noise.family, made.noise.calibration) == ("discrete-laplace", "pure")
    assert len(made.coefficients.trace) == 20
    assert made.settings["noise"] == "auto"
    assert discreet.Release.from_json(made.to_json()) == made


def test_laplace_noise_leaves_delta_unused_and_says_so():
    table = simulated(300, np.random.default_rng(6))
    with pytest.warns(PrivacyNotice, match="does not use delta = 1e-06"):
        made = discreet.release(
            table, Design("y", COLUMNS), epsilon=2.0, delta=1e-6, mechanism="irls", settings={"noise": "laplace"}
        )
    assert made.guarantee.delta == 0


@pytest.mark.parametrize(
    "settings",
    [{"form": "moment"}, {"composition": "zcdp"}, {"composition": "cdp"}, {"composition": "advanced"},
     {"noise": "gaussian"}],
)  # fmt: skip
def test_what_needs_delta_is_refused_before_data_is_read(settings):
    with pytest.raises(SpecError, match="delta"):
        discreet.release(Untouchable(), Design("y", COLUMNS), epsilon=1.0, mechanism="irls", settings=settings)
