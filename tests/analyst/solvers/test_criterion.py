"""The criterion: an honest estimate of the prediction error, from the release alone."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.equations.normal import normal_equations
from discreet.analyst.solvers.adaptive import slope_equations
from discreet.analyst.solvers.criterion import criterion_values, optimism, residual_variance
from discreet.analyst.solvers.penalised import penalised_slopes
from discreet.design.design import Design
from discreet.design.model_columns import model_of
from discreet.releases import BLOCKS, NoiseDistribution, Release, block_of

BITS = 16
SIZE = 6
ERROR_SD = 0.3
STRENGTHS = np.geomspace(0.3, 3e-4, 10)


def design_with(bounds):
    return Design("y", {"y": (-1, 1), **{f"x{j}": bounds for j in range(SIZE)}})


def released(design, moments, sigma, random):
    """A release of these sums of (1, scaled features, scaled target), with noise of `sigma` in every entry."""
    size = len(moments)
    distribution = {block: round(sigma * 4**BITS) for block in BLOCKS}
    totals = [
        round(moments[i, j] * 4**BITS + distribution[block_of(i, j, size)] * random.standard_normal())
        for i in range(size)
        for j in range(i, size)
    ]
    return Release(
        design,
        None,
        "none",
        "1",
        NoiseDistribution(BITS, distribution, "none"),
        tuple(totals),
        None,
        "untracked",
        "a test",
    )


class Study:
    """Repeated data and noise on fixed regressors: the criterion, the noisy residual sum and the true error."""

    def __init__(self, rows, sigma, l1_share, *, intercept=True, bounds=(-1, 1), repeats=150, seed=0):
        random = np.random.default_rng(seed)
        scaled = random.uniform(-0.7, 0.9, (rows, SIZE))
        middle = (bounds[0] + bounds[1]) / (bounds[1] - bounds[0])
        z = np.column_stack([np.ones(rows), scaled]) if intercept else scaled + middle
        mean = scaled @ [0.2, -0.15, 0.1, 0, 0, 0] + 0.1 if intercept else z @ [0.1, -0.05, 0.05, 0, 0, 0]
        design = design_with(bounds)
        true, corrected, naive, variances = [], [], [], []
        self.repaired = 0
        for _ in range(repeats):
            y = mean + ERROR_SD * random.standard_normal(rows)
            columns = np.column_stack([np.ones(rows), scaled, y])
            release = released(design, columns.T @ columns, sigma, random)
            problem = slope_equations(
                normal_equations(release, model_of(release.design, intercept=intercept)), release.digest
            )
            along = penalised_slopes(problem, STRENGTHS.tolist(), l1_share)
            self.repaired += along[-1].repair > 0
            A, b = problem.equations.A, problem.equations.b
            errors = []
            for slopes in along:
                theta = slopes.values
                if intercept:
                    constant = (b[0] - A[0, 1:] @ theta) / (A[0, 0] + problem.intercept_shift)
                    theta = np.append(constant, theta)
                errors.append(ERROR_SD**2 + ((z @ theta - mean) ** 2).mean())
            true.append(errors)
            # noise of mean 0 in the sum of squares of the target: every strength has it, so it chooses nothing
            luck = (problem.equations.c - mean @ mean - rows * ERROR_SD**2) / problem.rows
            corrected.append(criterion_values(problem, along) - luck)
            naive.append([optimism(problem, slopes).residual / problem.rows - luck for slopes in along])
            variances.append(residual_variance(problem))
        self.true, self.corrected, self.naive = map(np.array, (true, corrected, naive))
        self.variances = np.array(variances)

    def bias(self, values):
        """Mean difference from the true error, at the strength where it is largest, and its standard error."""
        differences = values - self.true
        worst = int(np.argmax(np.abs(differences.mean(axis=0))))
        return differences.mean(axis=0)[worst], differences[:, worst].std() / np.sqrt(len(differences))


CASES = {
    "lasso, little noise": (200, 1.0, 1.0, {}),
    "lasso, much noise": (1000, 10.0, 1.0, {}),
    "lasso, repaired": (500, 30.0, 1.0, {}),
    "elastic net": (1000, 10.0, 0.5, {}),
    "ridge": (1000, 10.0, 0.0, {}),
    "ridge, repaired": (500, 30.0, 0.0, {}),
    "no intercept": (1000, 10.0, 1.0, {"intercept": False}),
    "no intercept, moved origin": (1000, 10.0, 1.0, {"intercept": False, "bounds": (0, 4)}),
}


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize(("rows", "sigma", "l1_share", "more"), CASES.values(), ids=CASES)
def test_the_corrected_criterion_is_closer_to_the_prediction_error_than_the_noisy_residuals(
    rows, sigma, l1_share, more
):
    study = Study(rows, sigma, l1_share, **more)
    corrected, naive = study.bias(study.corrected), study.bias(study.naive)
    # the residual sum flatters beyond any doubt, and the correction takes most of it away
    assert naive[0] < -6.5 * naive[1]
    assert abs(corrected[0]) < 0.4 * abs(naive[0])
    squared = [((values - study.true) ** 2).mean() for values in (study.corrected, study.naive)]
    assert squared[0] < squared[1]


def test_the_chosen_strength_predicts_better_than_the_one_with_the_smallest_residuals():
    study = Study(500, 20.0, 1.0, repeats=200, seed=5)
    chosen, flattered, best = (
        study.true[np.arange(200), index.argmin(axis=1)].mean() - ERROR_SD**2
        for index in (study.corrected, study.naive, study.true)
    )
    assert best < chosen < flattered
    assert chosen - best < 0.8 * (flattered - best)


def test_without_noise_it_is_the_criterion_of_mallows():
    random = np.random.default_rng(2)
    X = random.uniform(-1, 1, (80, SIZE))
    y = np.clip(X @ [0.2, -0.1, 0, 0, 0, 0] + 0.1 * random.standard_normal(80), -1, 1)
    columns = np.column_stack([np.ones(80), X, y])
    release = released(design_with((-1, 1)), columns.T @ columns, 0.0, random)
    problem = slope_equations(normal_equations(release, model_of(release.design)), release.digest)
    Z = columns[:, :-1]
    residuals = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    s2 = residuals @ residuals / (80 - SIZE - 1)
    assert residual_variance(problem) == pytest.approx(s2, rel=1e-6)
    along = penalised_slopes(problem, [0.05, 0.01, 0.001], 1.0)
    for slopes, value in zip(along, criterion_values(problem, along), strict=True):
        theta = np.append(y.mean() - X.mean(axis=0) @ slopes.values, slopes.values)
        cp = ((y - Z @ theta) ** 2).sum() + 2 * s2 * (1 + np.count_nonzero(slopes.values))
        assert value == pytest.approx(cp / 80, rel=1e-6)
        assert optimism(problem, slopes).privacy == 0.0


def test_the_residual_variance_is_unbiased_and_stays_within_what_bounds_allow():
    study = Study(1000, 5.0, 1.0, repeats=200, seed=9)
    error = study.variances.std() / np.sqrt(200)
    assert abs(study.variances.mean() - ERROR_SD**2) < 6.5 * error
    random = np.random.default_rng(3)
    for sigma in (100.0, 1000.0):
        for _ in range(20):
            release = released(design_with((-1, 1)), np.eye(SIZE + 2), sigma, random)
            problem = slope_equations(normal_equations(release, model_of(release.design)), release.digest)
            assert 0 <= residual_variance(problem) <= 1
