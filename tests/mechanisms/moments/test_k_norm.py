"""The K-norm release: its sensitivity on exact neighbours, its calibration, the distribution of its noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.audit.pairs import worst_pairs
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.row_counts import RowCounts
from discreet.curator.table import accumulate
from discreet.design.declarations import column_from
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.k_norm import KNormMoments, k_norm_noise
from discreet.mechanisms.protocol import RunContext
from discreet.mechanisms.sampler import ExactSampler
from discreet.privacy.budget import PrivacyBudget
from discreet.releases import BLOCKS
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.testing.not_private import SeededSampler, exact_release
from support.farthest_pairs import farthest_rows
from support.tables import CALIBRATED, random_design, random_table

RELATIONS = ("add-remove", "replace")
PAIRS_PER_RELATION = 1200
# draws below come from a seed; the level says how unlikely a right distribution would be to fail
FALSE_ALARM = 1e-6


def distribution_of(design, epsilon, grid_bits=16):
    return KNormMoments().noise_model(design, RowDomain.of(design, grid_bits), PrivacyBudget(epsilon), {})


def moments_of(design, table) -> tuple[int, ...]:
    return accumulate(open_source(table), design, RowDomain.of(design), ComputeOptions(chunk_rows=4)).values


def norm2_of_change(design, distribution, one, other) -> Fraction:
    """Squared loss between two tables: the largest ratio of densities is e to the norm of their difference."""
    steps = distribution.steps(len(design.released))
    assert all(a == b for a, b, scale in zip(one, other, steps, strict=True) if scale == 0)
    return sum(
        (Fraction((a - b) ** 2, scale**2) for a, b, scale in zip(one, other, steps, strict=True) if scale),
        start=Fraction(0),
    )


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_neighbour_is_farther_away_than_epsilon(neighbours):
    """Exact rational comparison, no tolerance; corners, one-hot blocks, balls, rows that a rule drops."""
    rng = np.random.default_rng(71 + len(neighbours))
    checked = 0
    while checked < PAIRS_PER_RELATION:
        missing = str(rng.choice(["error", "drop"]))
        design = random_design(rng, neighbours=neighbours, missing=missing, derived=bool(rng.random() < 0.3))
        epsilon = float(10 ** rng.uniform(-2, 2))
        distribution = distribution_of(design, epsilon)
        base = random_table(design, 7, rng)
        index = int(rng.integers(0, 7))
        before = moments_of(design, base)
        for _ in range(50):
            row = random_table(design, 1, rng)
            if missing == "drop" and rng.random() < 0.2:
                row = {name: [None] for name in row}
            after = index if neighbours == "add-remove" else index + 1
            other = {name: [*values[:index], *row[name], *values[after:]] for name, values in base.items()}
            assert norm2_of_change(design, distribution, before, moments_of(design, other)) <= Fraction(epsilon) ** 2
            checked += 1


def test_no_person_is_farther_away_than_epsilon():
    rng = np.random.default_rng(8)
    for neighbours in RELATIONS:
        unit = {"id": "person", "max_rows": 3, "neighbours": neighbours}
        design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)}, unit=unit)
        distribution = distribution_of(design, 1.0)
        old = [] if neighbours == "add-remove" else [("old", 0.0, 0.0, 1.0)] * 3
        base = [(f"p{k}", *rng.random(3)) for k in (0, 0, 1, 2)]

        def totals(rows, design=design):
            names = ("person", "x", "z", "y")
            return moments_of(design, {name: [row[k] for row in rows] for k, name in enumerate(names)})

        before = totals(base + old)
        moved = []
        for trial in range(15):
            corner = [("new", 1.0, 1.0, 1.0)] * 3
            rows = corner if trial == 0 else [("new", *rng.random(3)) for _ in range(rng.integers(1, 6))]
            moved.append(norm2_of_change(design, distribution, before, totals(base + rows)))
        assert max(moved) <= 1
        if neighbours == "add-remove":
            assert moved[0] >= Fraction(999, 1000)


@pytest.mark.parametrize("columns", CALIBRATED.values(), ids=CALIBRATED)
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("drop", [False, True])
def test_worst_pairs_spend_the_budget_and_no_more(columns, neighbours, drop):
    rule = {"missing": "drop"} if drop else {}
    declared = {name: column_from(what).to_dict() | rule for name, what in columns.items()}
    for radius in (None, 0.8):
        design = Design("y", declared, unit={"neighbours": neighbours}, radius=radius)
        distribution = distribution_of(design, 0.7)
        pairs = [(pair.table, pair.neighbour) for pair in worst_pairs("k-norm", design)]
        if drop and neighbours == "replace":
            corner = pairs[0][0]
            pairs.append((corner, {name: [None] * len(values) for name, values in corner.items()}))
        changes = [
            norm2_of_change(design, distribution, *(moments_of(design, table) for table in pair)) for pair in pairs
        ]
        worst = math.sqrt(max(changes)) / 0.7
        assert worst <= 1
        if radius is None or neighbours == "add-remove":
            # teeth: a claim 10 % (adding a row: 1 per mille) smaller would be broken
            assert worst >= (0.999 if neighbours == "add-remove" else 0.9)


BALLS = {
    **CALIBRATED,
    "booleans": {"b": bool, "c": bool, "y": (0, 1)},
    "one category": {"g": ["a", "b", "c"], "y": (0, 1)},
    "a spline": {"z": (0, 1), "x": (0, 1), "s": {"formula": "spline(x, 0.2, 0.5, 0.8)"}, "y": (0, 1)},
}


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("columns", BALLS.values(), ids=BALLS)
@pytest.mark.parametrize("radius", [0.5, 0.8, 1.2])
def test_the_joint_claim_is_reached_on_a_ball_under_replace(columns, radius):
    """All blocks together, by a search over both rows: the claim is no sum of maxima of blocks that exclude another."""
    design = Design("y", columns, radius=radius, unit={"neighbours": "replace"})
    distribution = distribution_of(design, 0.7)
    pair = farthest_rows(design, distribution.steps(len(design.released)), "euclidean")
    worst = math.sqrt(norm2_of_change(design, distribution, *(moments_of(design, table) for table in pair))) / 0.7
    assert worst <= 1
    # teeth: a claim smaller by a per cent would be broken; booleans in a ball leave few directions
    assert worst >= (0.91 if columns is BALLS["booleans"] else 0.98)


def test_the_ratio_of_densities_on_the_line_through_the_worst_pair_reaches_e_to_the_epsilon():
    design = Design("y", CALIBRATED["numbers"])
    distribution = distribution_of(design, 1.3)
    (pair,) = worst_pairs("k-norm", design)
    steps = np.array(distribution.steps(5), dtype=float)
    change = (np.array(moments_of(design, pair.table)) - np.array(moments_of(design, pair.neighbour))) / steps
    rng = np.random.default_rng(2)
    losses = []
    for _ in range(2000):
        output = rng.standard_normal(15) * 10.0 ** rng.uniform(-2, 2)
        losses.append(np.linalg.norm(output - change) - np.linalg.norm(output))
    losses.append(np.linalg.norm(-5 * change - change) - np.linalg.norm(-5 * change))
    assert max(np.abs(losses)) <= 1.3
    assert max(losses) >= 1.299


def test_the_standard_deviation_of_an_entry_is_the_scale_times_the_root_of_the_dimension_plus_one():
    scales = [10**9] * 3 + [2 * 10**9] * 3
    sampler = SeededSampler(4)
    draws = np.array([k_norm_noise(scales, sampler) for _ in range(2500)], dtype=float) / scales
    # mean of z_j^2 over entries and draws: |z|^2 / 6 with |z| ~ Gamma(6), variance E|z|^4/36 - 49 = 35
    square = (draws**2).mean(axis=1)
    error = 5 * math.sqrt((6 * 7 * 8 * 9 / 36 - 49) / 2500)
    assert abs(square.mean() - 7) < error
    assert abs(square.mean() * 1.2**2 - 7) > error
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    distribution = distribution_of(design, 1.0)
    assert distribution.sd("cross") == pytest.approx(distribution.sigma["cross"] / 4**16 * math.sqrt(7), rel=1e-12)


def test_drawn_noise_has_the_stated_distribution_and_wrong_ones_are_rejected():
    """Length Gamma(m), direction uniform: a coordinate of it is Beta; both against wrong dimensions and scales."""
    scales = [2**30, 2**34, 0, 2**20, 2**33]
    sampler = SeededSampler(11)
    draws = np.array([k_norm_noise(scales, sampler) for _ in range(2500)], dtype=float)
    assert (draws[:, 2] == 0).all()
    z = draws[:, [0, 1, 3, 4]] / np.array([2.0**30, 2.0**34, 2.0**20, 2.0**33])
    length = np.linalg.norm(z, axis=1)
    assert stats.kstest(length, stats.gamma(4).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(length, stats.gamma(5).cdf).pvalue < FALSE_ALARM
    assert stats.kstest(length * 1.1, stats.gamma(4).cdf).pvalue < FALSE_ALARM
    for j in range(4):
        share = z[:, j] ** 2 / length**2
        assert stats.kstest(share, stats.beta(0.5, 1.5).cdf).pvalue > FALSE_ALARM / 4
        assert stats.kstest(share, stats.beta(0.5, 2).cdf).pvalue < FALSE_ALARM
        signs = int((z[:, j] > 0).sum())
        assert stats.binomtest(signs, 2500).pvalue > FALSE_ALARM / 4
    # direction and length are independent, and so are signs of different entries
    assert abs(np.corrcoef(length, np.abs(z[:, 0]) / length)[0, 1]) < 5 / math.sqrt(2500)
    assert np.abs(np.corrcoef(np.sign(z).T)[np.triu_indices(4, 1)]).max() < 5 / math.sqrt(2500)


def test_small_scales_are_rounded_to_whole_numbers_by_their_cells():
    """In one dimension the distribution is Laplace: probabilities of cells, and those of a wrong scale rejected."""
    sampler = SeededSampler(12)
    draws = [k_norm_noise([3], sampler)[0] for _ in range(4000)]
    cells = np.arange(-12, 13)
    for scale, right in ((3, True), (4, False)):
        expected = np.diff(stats.laplace(scale=scale).cdf(np.append(cells - 0.5, 12.5)))
        observed = np.array([draws.count(int(cell)) for cell in cells])
        p = stats.chisquare(observed, expected / expected.sum() * observed.sum()).pvalue
        assert (p > FALSE_ALARM) == right


def test_noise_is_added_in_unlimited_integers_and_a_public_count_is_left_alone():
    budget = PrivacyBudget(0.5)
    for neighbours in RELATIONS:
        design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"neighbours": neighbours})
        domain = RowDomain.of(design)
        distribution = KNormMoments().noise_model(design, domain, budget, {})
        assert distribution.parameters["dimension"] == (5 if neighbours == "replace" else 6)
        passes = KNormMoments().passes(RunContext(design, domain, distribution, {}, SeededSampler(1)))
        next(passes)
        huge = 2**90
        with pytest.raises(StopIteration) as done:
            passes.send(Totals((huge,) * 6, 4**16, RowCounts(1)))
        noise = [total - huge for total in done.value.value.totals]
        assert noise == k_norm_noise(distribution.steps(3), SeededSampler(1))
        assert (noise[0] == 0) == (neighbours == "replace")


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("person", [None, "person"])
def test_the_count_is_exact_only_where_it_is_public(neighbours, missing, person):
    columns = {"x": {"bounds": [0, 1], "missing": missing}, "y": (0, 1)}
    design = Design("y", columns, unit={"neighbours": neighbours, "id": person})
    distribution = distribution_of(design, 1.0)
    assert (distribution.sigma["count"] == 0) == (neighbours == "replace" and missing == "error" and person is None)
    assert all(distribution.sigma[block] > 0 for block in BLOCKS if block != "count")


def test_a_ball_of_radius_one_takes_far_less_noise_than_the_box():
    columns = {**{f"x{j}": (-1, 1) for j in range(10)}, "y": (-1, 1)}
    box, ball = (distribution_of(Design("y", columns, radius=radius), 1.0) for radius in (None, 1.0))
    assert ball.sigma["gram_diagonal"] * 6 < box.sigma["gram_diagonal"]


def test_as_epsilon_grows_the_release_meets_the_exact_moments():
    rng = np.random.default_rng(6)
    x = rng.uniform(0, 1, (400, 2))
    table = {"x": x[:, 0], "z": x[:, 1], "y": 0.3 + 0.4 * x[:, 0] - 0.1 * x[:, 1] + rng.normal(0, 0.05, 400)}
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)})
    with pytest.warns(discreet.errors.PrivacyNotice):
        release = discreet.release(table, design, epsilon=1e6, mechanism="k-norm", allow_weak_privacy=True)
    exact = exact_release(table, design)
    assert release.noise.family == "k-norm"
    assert np.abs(release.moments - exact.moments).max() < 1e-3
    assert np.linalg.solve(release.moments[:3, :3], release.moments[:3, 3]) == pytest.approx(
        np.linalg.solve(exact.moments[:3, :3], exact.moments[:3, 3]), abs=1e-4
    )


def test_a_release_survives_its_file_and_names_its_distribution(tmp_path):
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    release = discreet.release({"x": [0.5] * 9, "y": [0.5] * 9}, design, epsilon=1.0, mechanism="k-norm")
    release.save(tmp_path / "r.json")
    again = discreet.Release.load(tmp_path / "r.json")
    assert again == release
    assert (again.noise.family, again.noise.calibration, again.guarantee.delta) == ("k-norm", "pure", 0.0)


@pytest.mark.parametrize("budget", [PrivacyBudget.zcdp(0.1), PrivacyBudget.gdp(0.5)])
def test_budgets_in_another_currency_are_refused(budget):
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    with pytest.raises(SpecError, match="needs a budget in epsilon"):
        KNormMoments().noise_model(design, RowDomain.of(design), budget, {})


def test_a_budget_with_delta_is_served_by_epsilon_alone():
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    with_delta = KNormMoments().noise_model(design, RowDomain.of(design), PrivacyBudget(1.0, 1e-6), {})
    assert with_delta == distribution_of(design, 1.0)


def test_an_absurd_scale_is_refused_before_any_data_and_a_large_one_is_drawn():
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    with pytest.raises(SpecError, match="raise epsilon"):
        distribution_of(design, 1e-30)
    with pytest.raises(SpecError, match="raise epsilon"):
        distribution_of(design, 1e-300)
    distribution = distribution_of(design, 1e-13, grid_bits=26)
    assert max(distribution.sigma.values()) > 2**95
    assert any(abs(part) > 2**70 for part in k_norm_noise(distribution.steps(3), ExactSampler()))
