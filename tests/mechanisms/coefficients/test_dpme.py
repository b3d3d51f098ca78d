"""The perturbed histogram: what one unit can do to the counts, their noise, and the model fitted to the cells."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import optimize, stats

import discreet
from discreet.accounting.settings import checked_settings
from discreet.audit.pairs import worst_pairs
from discreet.curator.sums.cell_counts import CellCounts, Partition
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms import dpme
from discreet.mechanisms.dpme import MAX_CELLS, BinnedModel, PerturbedHistogram, public_bins
from discreet.mechanisms.protocol import RunContext
from discreet.mechanisms.sampler import ExactSampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import delta_from
from discreet.privacy.guarantee import Guarantee
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.testing.not_private import SeededSampler
from support.person_pairs import person_changes, person_design
from support.tables import neighbouring_table, random_design, random_table

RELATIONS = ("add-remove", "replace")
PAIRS = 1200
# a statistical test below alarms falsely with probability at most this
FALSE_ALARM = 1e-9
COLUMNS = {"x": (0, 10), "y": (-5, 5)}


def settings_with(**given):
    return checked_settings("dpme", PerturbedHistogram.info.settings, given)


def distribution_for(design, epsilon=1.0, delta=0.0, **given):
    return PerturbedHistogram().noise_model(
        design, RowDomain.of(design), PrivacyBudget(epsilon, delta), settings_with(**given)
    )


def exact_counts(table, design, bins) -> np.ndarray:
    domain = RowDomain.of(design)
    sums = CellCounts(domain, Partition.of(design, bins))
    return np.array(accumulate(open_source(table), design, domain, ComputeOptions(), sums).values, dtype=object)


def largest_mu(epsilon, delta) -> float:
    return float(optimize.brentq(lambda mu: delta_from(epsilon, mu) - delta, 0.01, 10, xtol=1e-13))


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_neighbour_moves_the_counts_by_more_than_claimed(neighbours, missing):
    """Exact integers, no tolerance: corners, levels, rows outside their bounds, rows that a rule drops."""
    rng = np.random.default_rng(71 + len(neighbours) + len(missing))
    reached = checked = 0
    while checked < PAIRS // 2:
        design = random_design(rng, neighbours=neighbours, ball=False, missing=missing)
        if Partition.of(design, 2).cells > 2000:
            continue
        distribution = distribution_for(design, bins=2)
        base = random_table(design, 5, rng)
        before = exact_counts(base, design, 2)
        for _ in range(20):
            other = neighbouring_table(design, base, rng, missing=missing)
            change = exact_counts(other, design, 2) - before
            l1, l2 = int(abs(change).sum()), int((change * change).sum())
            # at epsilon = 1 the scale is the L1 sensitivity, rounded up
            assert l1 <= distribution.sigma["cells"]
            assert l2 <= (1 if neighbours == "add-remove" else 2) * 4**32
            reached += l1 * (1 + 1e-9) >= distribution.sigma["cells"]
            checked += 1
    assert reached >= checked // 4, "the claim is far above what rows can do"


@pytest.mark.no_cover
@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_person_moves_the_counts_by_more_than_claimed(neighbours, missing):
    """1,000 persons a relation of one to four rows that count, in exact integers; both claims are reached."""
    rng = np.random.default_rng(8 + len(missing))
    mu, checked, l1_reached, l2_reached = largest_mu(1.0, 1e-6), 0, 0, 0
    while checked < 500:
        design = person_design(rng, neighbours, ball=False, missing=missing)
        if Partition.of(design, 2).cells > 2000:
            continue
        k, domain, partition = design.unit.max_rows, RowDomain.of(design), Partition.of(design, 2)
        pure = distribution_for(design, bins=2).sigma["cells"]
        wide = distribution_for(design, 1.0, 1e-6, bins=2, noise="gaussian").sigma["cells"]
        claim2 = k * k * (1 if neighbours == "add-remove" else 2) * 4**32
        # the noise is for this claim: more than is needed by rounding alone
        assert math.sqrt(claim2) / mu <= wide <= math.sqrt(claim2) / mu * (1 + 1e-6)
        for change in person_changes(rng, design, partial(CellCounts, domain, partition), 50):
            l1, l2 = int(abs(change).sum()), int((change * change).sum())
            assert l1 <= pure
            assert l2 <= claim2
            l1_reached += l1 * (1 + 1e-9) >= pure
            l2_reached += l2 == claim2
            checked += 1
    # teeth: a claim any smaller is broken by these many persons
    assert l1_reached >= checked // 10
    assert l2_reached >= checked // 20


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("columns", [COLUMNS, {**COLUMNS, "b": bool, "g": ["a", "b", "c"]}, {"b": bool, "y": bool}])
def test_worst_pairs_spend_the_budget_and_no_more(neighbours, columns):
    design = Design("y", columns, unit={"neighbours": neighbours})
    pairs = worst_pairs("dpme", design)
    for epsilon in (0.1, 1.0, 3.3):
        pure = distribution_for(design, epsilon, bins=4)
        changes = [exact_counts(pair.table, design, 4) - exact_counts(pair.neighbour, design, 4) for pair in pairs]
        worst = Fraction(max(int(abs(change).sum()) for change in changes), pure.sigma["cells"])
        assert worst <= Fraction(epsilon)
        # teeth: a noise one part in a billion smaller would break the promise
        assert worst * (1 + Fraction(1, 10**9)) > Fraction(epsilon)
        wide = distribution_for(design, epsilon, 1e-6, bins=4, noise="gaussian")
        mu = max(math.sqrt(int((change * change).sum())) for change in changes) / wide.sigma["cells"]
        assert delta_from(epsilon, mu) <= 1e-6
        assert delta_from(epsilon, mu * 1.001) > 1e-6


def test_delta_is_not_needed_for_laplace_and_changes_nothing():
    design = Design("y", COLUMNS)
    assert distribution_for(design, 1.0) == distribution_for(design, 1.0, 1e-6)
    distribution = distribution_for(design, 1.0)
    assert (distribution.family, distribution.calibration, distribution.parameters["bins"]) == (
        "discrete-laplace",
        "pure",
        10,
    )
    assert distribution.sigma["cells"] == pytest.approx(4**16, rel=1e-9)
    wide = distribution_for(design, 1.0, 1e-6, noise="gaussian")
    assert (wide.family, wide.calibration, wide.parameters["cells"]) == ("discrete-gaussian", "gaussian", 100)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_drawn_noise_has_the_stated_distribution_and_wrong_scales_are_rejected(noise):
    """Sum of sizes over the scale is Gamma(N), or of squares chi-square(N); 10 % off is seen."""
    design = Design("y", COLUMNS)
    distribution = distribution_for(design, 0.7, 1e-6, noise=noise)
    totals = [7 * 4**16] * 20_000
    z = np.array(PerturbedHistogram().randomise(totals, distribution, ExactSampler()), dtype=float) - totals[0]
    z /= distribution.sigma["cells"]
    reference = stats.gamma(len(z)) if noise == "laplace" else stats.chi2(len(z))
    low, high = reference.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2])
    for factor in (1.0, 0.9, 1.1):
        statistic = np.abs(z * factor).sum() if noise == "laplace" else np.square(z * factor).sum()
        assert (low < statistic < high) == (factor == 1.0)
    assert abs(np.sign(z).mean()) < 7 / math.sqrt(len(z))
    assert abs(np.corrcoef(z[1:], z[:-1])[0, 1]) < 7 / math.sqrt(len(z))


class _Counting:
    private = False

    def laplace(self, scales):
        return list(range(len(scales)))


def test_noise_is_added_in_unlimited_integers():
    noisy = PerturbedHistogram().randomise([2**80, 0, 5], distribution_for(Design("y", COLUMNS)), _Counting())
    assert noisy == [2**80, 1, 7]


class _Known:
    """Variates of seven rows and more, by name of the distribution."""

    private = False

    def laplace(self, scales):
        return [(7 + index) * 4**16 for index in range(len(scales))]

    def draw(self, sigmas):
        return [-(7 + index) * 4**16 for index in range(len(sigmas))]


@pytest.mark.parametrize(("noise", "sign"), [("laplace", 1), ("gaussian", -1)])
def test_the_fit_sees_the_counts_with_their_noise_and_nothing_else(noise, sign):
    design = Design("y", COLUMNS)
    domain, settings = RowDomain.of(design), settings_with(bins=3, noise=noise)
    distribution = PerturbedHistogram().noise_model(design, domain, PrivacyBudget(1.0, 1e-6), settings)
    table = {"x": [0.0, 9.0, 9.0], "y": [-5.0, 4.0, 0.0]}
    passes = PerturbedHistogram().passes(RunContext(design, domain, distribution, settings, _Known()))
    counted = accumulate(open_source(table), design, domain, ComputeOptions(), next(passes))
    with pytest.raises(StopIteration) as done:
        passes.send(counted)
    weights = np.array([1, 0, 0, 0, 0, 0, 0, 1, 1]) + sign * (7.0 + np.arange(9))
    model = BinnedModel.of(Partition.of(design, 3), weights, distribution.sd("cells"), intercept=True)
    assert done.value.value.values == tuple(model.squares().tolist())


def a_table(rows=4000, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, rows)
    b = rng.random(rows) < 0.4
    g = rng.choice(["red", "green", "blue"], rows)
    y = 0.6 * x - 3 + b + 0.5 * (g == "blue") + rng.standard_t(3, rows) * 0.4
    return {"x": x, "b": b, "g": g, "y": np.clip(y, -5, 5)}


def binned_by_hand(table, bins):
    """Rows moved to the centres of their cells, in scaled units: (1, x, b, green, blue) and y."""
    centre = lambda v: (2 * np.minimum(np.floor((v + 1) / 2 * bins), bins - 1) + 1 - bins) / bins  # noqa: E731
    x, y = centre((np.asarray(table["x"]) - 5) / 5), centre(np.asarray(table["y"]) / 5)
    g = np.asarray(table["g"])
    Z = np.column_stack([np.ones(len(x)), x, table["b"], g == "green", g == "blue"]).astype(float)
    return Z, y


WITH_LEVELS = {"x": (0, 10), "b": bool, "g": ["red", "green", "blue"], "y": (-5, 5)}


def released(table, design, epsilon=1e6, delta=0.0, **settings):
    return discreet.release(
        table, design, epsilon=epsilon, delta=delta, mechanism="dpme", settings=settings, allow_weak_privacy=True
    )


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("intercept", [True, False])
def test_as_epsilon_grows_it_meets_least_squares_on_the_centres(noise, intercept):
    table = a_table()
    Z, y = binned_by_hand(table, 9)
    kept = Z if intercept else Z[:, 1:]
    expected = np.linalg.lstsq(kept, y, rcond=None)[0]
    design = Design("y", WITH_LEVELS)
    if not intercept:
        # the same scaled rows, around 0
        table = table | {"x": table["x"] - 5}
        design = Design("y", WITH_LEVELS | {"x": (-5, 5)}, intercept=False)
    # Gaussian noise falls with the root of epsilon only
    epsilon, close = (1e6, 1e-6) if noise == "laplace" else (1e9, 2e-5)
    values = np.array(released(table, design, epsilon, delta=1e-6, noise=noise, bins=9).coefficients.values)
    np.testing.assert_allclose(values[0 if intercept else 1 :], expected, atol=close)
    assert intercept or values[0] == 0.0
    # other cells give another fit, so that the agreement says something
    other = np.array(released(table, design, bins=4).coefficients.values)
    assert np.abs(other - values).max() > 100 * close


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
def test_as_epsilon_grows_it_meets_huber_regression_on_the_centres():
    table = a_table()
    Z, y = binned_by_hand(table, 9)
    c = 0.1

    def loss(theta):
        r = np.abs(y - Z @ theta)
        return np.where(r <= c, r * r / 2, c * r - c * c / 2).sum()

    def gradient(theta):
        return -Z.T @ np.clip(y - Z @ theta, -c, c)

    start = np.linalg.lstsq(Z, y, rcond=None)[0]
    expected = optimize.minimize(loss, start, jac=gradient, method="BFGS", options={"gtol": 1e-9}).x
    values = np.array(released(table, Design("y", WITH_LEVELS), bins=9, loss="huber", threshold=c).coefficients.values)
    np.testing.assert_allclose(values, expected, atol=1e-5)
    assert np.abs(values - start).max() > 1e-3, "the two losses agree here, and nothing was tested"
    wide = released(table, Design("y", WITH_LEVELS), bins=9, loss="huber", threshold=10.0).coefficients.values
    np.testing.assert_allclose(wide, start, atol=1e-6)


def test_a_release_survives_its_file(tmp_path):
    made = released(a_table(200), Design("y", WITH_LEVELS, unit={"neighbours": "replace"}), epsilon=1.0)
    made.save(tmp_path / "r.json")
    assert discreet.Release.load(tmp_path / "r.json") == made
    assert made.numerics == "exact"


def noisy_model(seed, rows, epsilon, bins=16, *, clip=False):
    table = {name: values for name, values in a_table(rows).items() if name in COLUMNS}
    design = Design("y", COLUMNS)
    distribution = distribution_for(design, epsilon, bins=bins)
    totals = PerturbedHistogram().randomise(
        exact_counts(table, design, bins).tolist(), distribution, SeededSampler(seed)
    )
    weights = np.array([total / 4**16 for total in totals])
    return BinnedModel.of(
        Partition.of(design, bins),
        np.maximum(weights, 0) if clip else weights,
        distribution.sd("cells"),
        intercept=True,
    )


def test_negative_counts_are_kept_because_cutting_them_off_pulls_the_slope_to_zero():
    truth = noisy_model(0, 4000, 1e5).squares()[1]
    kept = np.array([noisy_model(seed, 4000, 1.0).squares()[1] for seed in range(40)])
    cut = np.array([noisy_model(seed, 4000, 1.0, clip=True).squares()[1] for seed in range(40)])
    assert abs(kept.mean() - truth) < 4 * kept.std() / math.sqrt(40)
    assert truth - cut.mean() > 10 * cut.std() / math.sqrt(40)


@pytest.mark.parametrize("seed", range(10))
def test_a_gram_drowned_by_noise_is_shifted_and_the_fit_stays_small(seed):
    model = noisy_model(seed, 20, 0.05)
    gram = (model.x * model.weights.sum(axis=1, keepdims=True)).T @ model.x
    assert np.linalg.eigvalsh(gram)[0] < model.noise_norm
    right = model.x.T @ (model.weights @ model.y)
    for fitted in (model.squares(), model.huber(0.1)):
        assert np.isfinite(fitted).all()
        assert np.linalg.norm(fitted) <= 5 * np.linalg.norm(right) / model.noise_norm
    shift = model.noise_norm - np.linalg.eigvalsh(gram)[0]
    np.testing.assert_allclose(model.squares(), np.linalg.solve(gram + shift * np.eye(2), right), rtol=1e-8)
    # with a threshold that no residual meets both losses have one minimum
    np.testing.assert_allclose(model.huber(1e6), model.squares(), rtol=1e-6)


def test_the_noise_norm_is_what_the_noise_hardly_exceeds():
    design = Design("y", COLUMNS)
    partition = Partition.of(design, 8)
    distribution = distribution_for(design, 1.0, bins=8)
    sampler = SeededSampler(5)
    norms = []
    for _ in range(400):
        noise = np.array(PerturbedHistogram().randomise([0] * 64, distribution, sampler), dtype=float) / 4**16
        model = BinnedModel.of(partition, noise, distribution.sd("cells"), intercept=True)
        norms.append(np.linalg.norm((model.x * model.weights.sum(axis=1, keepdims=True)).T @ model.x, 2))
    assert np.quantile(norms, 0.95) < model.noise_norm < 2 * np.quantile(norms, 0.95)


def test_huber_steps_stay_bounded_where_negative_counts_outweigh_the_noise_by_far():
    x, y = np.array([[1.0, -0.5], [1.0, 0.5]]), np.array([-0.5, 0.5])
    weights = np.array([[-30.0, -10.0], [-25.0, -40.0]])
    model = BinnedModel(x, y, weights, noise_norm=1.0)
    least = np.linalg.eigvalsh((x * weights.sum(axis=1, keepdims=True)).T @ x)[0]
    assert least < -100
    # the pull of the shift outweighs scores that are bounded by the threshold
    largest_score = 0.05 * np.abs(weights).sum() * np.sqrt(1.25)
    assert np.linalg.norm(model.huber(0.05)) <= largest_score / (1.0 - least) * (1 + 1e-9)


def test_huber_steps_end_even_where_they_do_not_stand_still(monkeypatch):
    monkeypatch.setattr(dpme, "_HUBER_STEPS", 2)
    model = noisy_model(1, 4000, 1.0)
    assert np.isfinite(model.huber(0.05)).all()


@pytest.mark.parametrize(
    ("columns", "epsilon", "rows", "bins"),
    [
        (COLUMNS, 1.0, 10_000, 10),
        (COLUMNS, 1.0, 1_000_000, 32),
        (COLUMNS, 0.0001, 10, 2),
        ({**COLUMNS, "z": (0, 1)}, 1.0, 10_000, 7),
        ({**COLUMNS, "g": ["a", "b", "c"]}, 1.0, 10_000, 10),
        ({"b": bool, "y": bool}, 1.0, 10_000, 2),
        (COLUMNS, 1000.0, 10**12, 1024),
        ({f"x{j}": (0, 1) for j in range(18)} | {"y": (0, 1)}, 1e6, 10**12, 2),
        # the matrix of centres is what memory is short for
        ({"g": [f"g{k}" for k in range(700)], "x": (0, 1), "y": (0, 1)}, 1e6, 10**12, 31),
    ],
)
def test_the_public_rule_of_bins(columns, epsilon, rows, bins):
    made = public_bins(Design("y", columns), epsilon, settings_with(expected_rows=rows))
    assert made == bins
    assert Partition.of(Design("y", columns), made).cells <= MAX_CELLS


MANY_LEVELS = {name: [f"{name}{k}" for k in range(300)] for name in ("g", "h")}
BAD = [
    (MANY_LEVELS | {"y": bool}, {}, r"360,000 cells and about 2,\d\d\d MB; at most 1,048,576 cells and 512 MB"),
    ({}, {"bins": 1}, r"bins: expected at least 2, .*got 1"),
    (
        {},
        {"bins": 2000},
        r"4,000,000 cells and about 953 MB; at most 1,048,576 cells and 512 MB are allowed; set fewer bins",
    ),
    ({f"x{j}": (0, 1) for j in range(40)}, {}, r"at least 2\^42 cells"),
    ({f"x{j}": (0, 1) for j in range(1500)}, {"bins": 100_000}, r"at least 2\^\d+ cells"),
    ({f"g{j}": list("abcdefghij") for j in range(8)}, {}, r"cells.*fewer columns or levels"),
    ({"curve": {"formula": "spline(x, 5)"}}, {}, "is a spline"),
]


@pytest.mark.parametrize(("columns", "settings", "message"), BAD)
def test_too_many_cells_and_splines_are_refused_before_data(columns, settings, message):
    with pytest.raises(SpecError, match=message):
        discreet.release(
            "no such file.csv", Design("y", COLUMNS | columns), epsilon=1.0, mechanism="dpme", settings=settings
        )


def test_other_currencies_a_small_ball_and_gaussian_noise_without_delta_are_refused():
    design = Design("y", COLUMNS)
    for budget in (PrivacyBudget.zcdp(0.1), PrivacyBudget.gdp(0.5)):
        with pytest.raises(SpecError, match="epsilon and delta"):
            PerturbedHistogram().noise_model(design, RowDomain.of(design), budget, settings_with())
    with pytest.raises(SpecError, match=r"radius = 0.5.*leave out the radius"):
        distribution_for(Design("y", COLUMNS, radius=0.5))
    assert distribution_for(Design("y", COLUMNS, radius=5.0)) == distribution_for(design)
    with pytest.raises(SpecError, match="delta above 0"):
        distribution_for(design, noise="gaussian")
    with pytest.raises(SpecError, match="raise epsilon"):
        distribution_for(design, 1e-9)
    assert Guarantee.promised(design.unit, PrivacyBudget(1.0)).delta == 0
