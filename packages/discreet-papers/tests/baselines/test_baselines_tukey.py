"""TukeyEM: the safe distance, the lemma it rests on, the distribution of the draw, and the test."""

import math

import numpy as np
import pytest

from discreet_papers.baselines import tukey
from discreet_papers.baselines.tukey import TukeyEM, log_volumes, part_models, safe_distance, tukey_draw


def depth(points: np.ndarray, place: float) -> int:
    return int(min((points <= place).sum(), (points >= place).sum()))


def density(points: np.ndarray, edges: np.ndarray, rate: float, least: int) -> np.ndarray:
    """Probability of each cell between edges under the restricted draw, on a line."""
    middles, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    depths = np.array([depth(points, one) for one in middles])
    weights = np.where(depths >= least, np.exp(rate * depths) * widths, 0.0)
    return weights / weights.sum()


def test_the_volumes_are_those_of_boxes():
    points = np.random.default_rng(1).standard_normal((20, 3))
    ordered = np.sort(points, axis=0)
    found = log_volumes(ordered)
    assert found[0] == np.inf
    for place in (1, 4, 10):
        assert found[place] == pytest.approx(np.log(ordered[-place] - ordered[place - 1]).sum())


def test_replacing_a_point_moves_the_safe_distance_by_at_most_one():
    rng = np.random.default_rng(2)
    seen = set()
    for _ in range(150):
        points = rng.standard_normal((400, 2))
        other = points.copy()
        other[rng.integers(400)] = rng.standard_normal(2) * rng.choice([0.01, 1.0, 1e6])
        first, second = (safe_distance(log_volumes(np.sort(one, axis=0)), 1.0, 1e-3, 100) for one in (points, other))
        assert abs(first - second) <= 1
        seen.add(first)
    assert max(seen) > 10


def test_where_the_distance_is_positive_the_draw_is_private_against_every_neighbour():
    """Exact hockey-stick divergences on a line, both ways."""
    rng = np.random.default_rng(3)
    epsilon, delta = 2.0, 0.02
    checked = 0
    for _ in range(60):
        points = np.sort(rng.standard_normal(48) * rng.choice([0.2, 1.0], 48))
        if safe_distance(log_volumes(points[:, None]), epsilon, delta, 12) == 0:
            continue
        for _ in range(20):
            other = points.copy()
            other[rng.integers(48)] = rng.choice([-1e3, 1e3, rng.standard_normal()])
            edges = np.unique(np.concatenate([points, other]))
            one, two = (density(each, edges, epsilon / 2, 12) for each in (points, other))
            for first, second in ((one, two), (two, one)):
                assert np.maximum(first - math.exp(epsilon) * second, 0).sum() <= delta
            checked += 1
    assert checked > 200


def test_a_table_on_the_edge_is_not_safe_and_a_neighbour_breaks_the_draw():
    """A tight cluster whose region of depth 12 reaches far out until one outer point moves in."""
    points = np.concatenate(
        [np.full(12, -1.0) - np.arange(12) / 100, np.linspace(0, 1e-6, 24), 1 + np.arange(12) / 100]
    )
    other = points.copy()
    other[11] = 5e-7
    edges = np.unique(np.concatenate([points, other]))
    one, two = (density(each, edges, 1.0, 12) for each in (points, other))
    assert np.maximum(one - math.exp(2) * two, 0).sum() > 10 * 0.02
    assert safe_distance(log_volumes(np.sort(points)[:, None]), 2.0, 0.02, 12) == 0


def test_points_that_pile_up_are_never_safe():
    points = np.zeros((100, 2))
    assert safe_distance(log_volumes(points), 1.0, 1e-3, 25) == 0
    assert tukey_draw(points, 1e6, 1.0, 0.4, np.random.default_rng(1)) is None


@pytest.mark.no_cover
def test_a_draw_has_the_distribution_of_the_exponential_mechanism():
    """Shares of 40,000 draws against exact probabilities; the worst of 23 cells within 7 standard errors."""
    points = np.sort(np.random.default_rng(4).standard_normal(24))
    edges = points[5:-5]
    exact = density(points, edges, 0.25, 6)
    rng = np.random.default_rng(5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tukey, "safe_distance", lambda *given: 10**9)
        drawn = np.array([tukey_draw(points[:, None], 1.0, 0.5, 1e-3, rng)[0] for _ in range(40_000)])
    shares = np.histogram(drawn, edges)[0] / len(drawn)
    band = 7 * np.sqrt(exact * (1 - exact) / len(drawn)) + 1e-12
    assert (np.abs(shares - exact) <= band).all()
    wrong = density(points, edges, 0.5, 6)
    assert (np.abs(shares - wrong) > band).any(), "twice the rate is seen"


def test_a_point_of_a_shell_has_its_depth():
    ordered = np.sort(np.random.default_rng(6).standard_normal((30, 3)), axis=0)
    rng = np.random.default_rng(7)
    for wanted in (7, 10, 15):
        for _ in range(200):
            point = tukey._in_shell(ordered, wanted, rng)
            assert min(depth(ordered[:, axis], point[axis]) for axis in range(3)) == wanted


def test_the_test_fails_with_the_right_probability_where_nothing_is_safe():
    """A table at distance 0 passes with probability delta; 20,000 draws at delta 0.1, a band of 7 standard errors."""
    points = np.random.default_rng(8).standard_normal((40, 1))
    rng = np.random.default_rng(9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tukey, "safe_distance", lambda *given: 0)
        passed = np.mean([tukey_draw(points, 0.5, 0.5, 0.1, rng) is not None for _ in range(20_000)])
    assert abs(passed - 0.1) < 7 * math.sqrt(0.09 / 20_000)


def test_one_row_changes_one_model():
    rng = np.random.default_rng(10)
    a, v = rng.standard_normal((300, 3)), rng.standard_normal(300)
    first = part_models(a, v, 20, np.random.default_rng(1))
    changed = a.copy()
    changed[17] *= -3
    second = part_models(changed, v, 20, np.random.default_rng(1))
    assert (np.abs(first - second).max(axis=1) > 1e-9).sum() == 1
    assert (part_models(a[:1], v[:1], 5, np.random.default_rng(1)) == 0).all(axis=1).sum() == 4


def test_it_learns_where_there_are_many_rows_and_predicts_the_middle_elsewhere():
    rng = np.random.default_rng(11)
    x = rng.uniform(-1, 1, (20_000, 2))
    y = 0.5 * x[:, 0] - 0.3 * x[:, 1] + 0.01 * rng.standard_normal(20_000)
    given = {"epsilon": 3.0, "delta": 1e-5, "bounds": [(-1.0, 1.0)] * 2, "target_bounds": (-1.0, 3.0)}
    assert np.mean((TukeyEM(**given, seed=1).fit(x, y).predict(x) - y) ** 2) < 0.01 * y.var()
    assert TukeyEM(**given, seed=1).fit(x[:100], y[:100]).predict(x[:2]).tolist() == [1.0, 1.0]
