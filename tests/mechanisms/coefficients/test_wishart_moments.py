"""Robust regression with Wishart noise: the length of weighted rows, the delta of all passes, the noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.accounting.iterations import weighted_row_shift
from discreet.accounting.privacy_loss import iteration_count
from discreet.audit.pairs import worst_pairs
from discreet.curator.sums.gram import Totals
from discreet.curator.sums.residuals import WeightedGram
from discreet.curator.sums.row_counts import RowCounts
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.mechanisms import irls as wishart_moments
from discreet.mechanisms.irls import DEGREES, PrivateIRLS, RobustLoss, noisy_moments
from discreet.mechanisms.sampler import ExactSampler
from discreet.privacy import advanced_composition
from discreet.testing.not_private import SeededSampler
from support.iterative_runs import COLUMNS, carried_out, grid_rows, prepared, simulated
from support.tables import Untouchable, random_design, random_table

RELATIONS = ("add-remove", "replace")
EPSILON, DELTA = 1.0, 1e-6
IRLS = PrivateIRLS()


def context_of(design, epsilon=EPSILON, delta=DELTA, **given):
    return prepared(IRLS, design, epsilon, delta, **{"form": "moment", "noise": "wishart", **given})


def scales(context):
    row = round(context.distribution.sigma["gram_diagonal"] ** 0.5)
    assert row * row == context.distribution.sigma["gram_diagonal"] == context.distribution.sigma["gram_off_diagonal"]
    target = context.distribution.sigma["cross"] // row
    assert target * target == context.distribution.sigma["target_square"]
    return row, target


def lengths(context, rows, theta):
    """Exact squared length of each weighted row, its columns divided by their scales."""
    design, (row, target) = context.design, scales(context)
    loss = RobustLoss(context.settings["power"], context.settings["threshold"])
    gram = WeightedGram(context.domain, len(rows) - 1, theta, loss.root, intercept=design.intercept)
    weighted = gram.rows(rows).astype(np.int64).T.tolist()
    return [sum(Fraction(x * x, row**2) for x in v[:-1]) + Fraction(v[-1] ** 2, target**2) for v in weighted]


SPLITS = np.linspace(0.05, 0.95, 91)


def delta_of_one_pass(shift, nu, epsilon, relation):
    """Delta of a chi-square variate that is shifted, by quadrature of the positive part of the difference."""
    c = np.linspace(1e-9, nu + 60 * np.sqrt(2 * nu), 400_001)
    distribution = stats.chi2(nu)
    density, earlier, later = distribution.pdf(c), distribution.pdf(c - shift), distribution.pdf(c + shift)

    def absent(e):
        return np.trapezoid(np.maximum(density - np.exp(e) * earlier, 0), c)

    def present(e):
        return np.trapezoid(np.maximum(density - np.exp(e) * later, 0), c)

    if relation == "add-remove":
        return max(absent(epsilon), present(epsilon))
    return min(absent(epsilon * s) + np.exp(epsilon * s) * present(epsilon * (1 - s)) for s in SPLITS)


@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_weighted_row_is_longer_than_the_shift_that_was_calibrated(neighbours):
    rng = np.random.default_rng(31 + len(neighbours))
    tried = 0
    for _ in range(40):
        made = random_design(rng, neighbours=neighbours, derived=bool(rng.random() < 0.3))
        if made.unit.max_rows > 1:
            continue
        design = Design("y", made.columns, radius=made.radius, unit=made.unit, intercept=bool(rng.random() < 0.6))
        context = context_of(
            design, grid_bits=int(rng.choice([8, 16])), threshold=float(10 ** rng.uniform(-3, 0.3)),
            power=float(rng.choice([1.0, 1.5, 2.0])), iterations=int(rng.integers(1, 12)),
        )  # fmt: skip
        rows = grid_rows(random_table(design, 30, rng), design, context.domain.grid_bits)
        theta = rng.normal(size=len(rows) - 1) * 10.0 ** rng.integers(-2, 9)
        assert max(lengths(context, rows, theta.tolist())) <= weighted_row_shift(context.domain, *scales(context))
        tried += 1
    assert tried >= 10


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(("rule", "iterations"), [("exact", 1), ("exact", 4), ("basic", 4), ("advanced", 40)])
def test_corner_rows_spend_delta_of_all_passes_and_no_more(neighbours, rule, iterations):
    """The delta of a pass by quadrature at its epsilon; a shift larger by a fiftieth, or less noise, breaks it."""
    design = Design("y", {"x": (0, 1), "z": (0, 1), "y": (0, 1)}, unit={"neighbours": neighbours})
    context = context_of(design, threshold=1.0, composition=rule, iterations=iterations)
    corner = np.full((4, 1), 2.0**16)
    (shift,) = lengths(context, corner, [0.0] * 3)
    assert shift == weighted_row_shift(context.domain, *scales(context))
    if rule == "advanced":
        steps = np.geomspace(1e-4, 1, 20_001)
        fit = [e for e in steps if advanced_composition(float(e), 0.0, iterations, DELTA / 2)[0] <= EPSILON]
        epsilon, delta = float(fit[-1]), DELTA / 2 / iterations
    else:
        epsilon, delta = EPSILON / iterations, DELTA / iterations
    nu = DEGREES - 4 + 1
    spent = delta_of_one_pass(float(shift), nu, epsilon, neighbours)
    assert 0.9 * delta <= spent <= delta * 1.01
    assert delta_of_one_pass(float(shift) * 1.02, nu, epsilon, neighbours) > delta


def test_a_shift_that_is_proposed_too_large_is_lowered_until_it_is_proved(monkeypatch):
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    before = context_of(design).distribution
    honest = wishart_moments.largest_shift

    def too_large(*given, **more):
        shift, share = honest(*given, **more)
        return shift * (1 + 2e-5), share

    monkeypatch.setattr(wishart_moments, "largest_shift", too_large)
    after = context_of(design).distribution
    assert after.sigma["gram_diagonal"] == pytest.approx(before.sigma["gram_diagonal"], rel=3e-6)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_worst_pair_has_a_row_of_the_full_length(neighbours):
    design = Design("y", {"x": (0, 1), "b": bool, "g": ["a", "b", "c"], "y": (0, 1)}, unit={"neighbours": neighbours})
    context = context_of(design, threshold=1.0)
    zero = [0.0] * (len(design.released) - 1)
    longest = max(
        max(lengths(context, grid_rows(pair.table, design), zero)) for pair in worst_pairs("irls", design)
    )  # fmt: skip
    assert longest == weighted_row_shift(context.domain, *scales(context))


@pytest.mark.no_cover
def test_noise_has_the_stated_distribution_and_wrong_degrees_are_rejected():
    """400 draws of a pass, Kolmogorov-Smirnov at false alarm 1e-9; a tenth fewer degrees are rejected."""
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    context = context_of(design, sampler=ExactSampler())
    row, target = scales(context)
    diagonal, cross = [], []
    for _ in range(400):
        gram, products = noisy_moments(Totals((0,) * 6, 4**16, RowCounts(0)), context)
        diagonal += [gram[1, 1] * 4**16 / row**2 + DEGREES]
        cross += [products[1] * 4**16 / (row * target) / DEGREES**0.5]
    assert stats.kstest(diagonal, stats.chi2(DEGREES).cdf).pvalue > 1e-9
    assert stats.kstest(diagonal, stats.chi2(0.9 * DEGREES).cdf).pvalue < 1e-9
    # a product of normals over 1,000 degrees is normal to a per mille
    assert stats.kstest(cross, stats.norm.cdf).pvalue > 1e-9
    assert context.distribution.sd("cross") == pytest.approx(row * target * DEGREES**0.5 / 4**16)


@pytest.mark.parametrize("intercept", [True, False])
def test_as_epsilon_grows_it_meets_the_fit_of_gaussian_noise(intercept):
    design = Design("y", COLUMNS, intercept=intercept)
    rows = grid_rows(simulated(20_000, np.random.default_rng(1)), design)
    settings = {"iterations": 12, "threshold": 0.15, "average": False, "sampler": SeededSampler(4)}
    got = carried_out(IRLS, context_of(design, 1e4, 1e-3, **settings), rows)
    gaussian = carried_out(IRLS, prepared(IRLS, design, 1e6, form="moment", **settings), rows)
    assert got.values == pytest.approx(gaussian.values, abs=0.02)
    assert got.values[0] == 0 or intercept
    assert len(got.trace) == iteration_count(context_of(design, **settings).settings) == 12


def test_a_release_through_the_front_door():
    settings = {"form": "moment", "noise": "wishart", "iterations": 2}
    table = simulated(4000, np.random.default_rng(6))
    made = discreet.release(table, Design("y", COLUMNS), epsilon=2.0, delta=1e-6, mechanism="irls", settings=settings)
    assert (made.noise.family, made.noise.calibration) == ("wishart", "composed")
    assert (made.guarantee.epsilon, made.guarantee.delta) == (2.0, 1e-6)
    assert discreet.Release.from_json(made.to_json()) == made


@pytest.mark.parametrize(
    ("design", "budget", "settings", "message"),
    [
        ({}, {}, {"form": "score"}, "form = 'moment'"),
        ({}, {}, {"composition": "cdp"}, "composition"),
        ({}, {"delta": 0.0}, {}, "delta"),
        ({}, {"delta": 1e-30}, {}, "noise = 'wishart' needs epsilon from"),
        ({"unit": {"id": "who", "max_rows": 2}}, {}, {}, "max_rows = 2"),
        ({"columns": {f"x{j}": (0, 1) for j in range(200)} | {"y": (0, 1)}}, {}, {}, "at most 200"),
        ({}, {"epsilon": 1e-5}, {"iterations": 10}, "noise = 'wishart' needs epsilon from"),
    ],
)
def test_what_is_not_proved_is_refused_before_data_is_read(design, budget, settings, message):
    declared = Design("y", **{"columns": COLUMNS, **design})
    with pytest.raises(SpecError, match=message):
        discreet.release(
            Untouchable(), declared, mechanism="irls", settings={"form": "moment", "noise": "wishart", **settings},
            **{"epsilon": 1.0, "delta": 1e-6, **budget},
        )  # fmt: skip
