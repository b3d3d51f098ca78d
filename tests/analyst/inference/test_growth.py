"""Products for many combinations at once, and what few directions say of them, against whole matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.analyst.equations.noise import EntryNoise, product_covariance
from discreet.analyst.inference import nuisance as module
from discreet.analyst.inference import nuisance as nuisance_module
from discreet.analyst.inference.nuisance import (
    Growth,
    covariance_root,
    growth_bound,
    largest_growth,
    nuisance,
    nuisances,
    reduced,
    runs,
)
from discreet.analyst.inference.score import score_from_sums

SIZE = 60


def noise_of(size, random, copies=()):
    sd = random.uniform(0.5, 2.0, (size, size))
    sd = (sd + sd.T) / 2
    for column in copies:
        sd[column, column] = sd[0, column] = sd[column, 0]
    return EntryNoise(sd, copies)


def matrices(growth):
    """Every S as its definition has it."""
    for w, variance, fixed in zip(growth.weights, growth.variance, growth.fixed, strict=True):
        P = np.eye(len(fixed)) - np.outer(fixed, fixed)
        yield P @ growth.steps @ product_covariance(growth.noise, w) @ growth.steps.T @ P / variance


def example(seed, copies=(), fixed=True):
    random = np.random.default_rng(seed)
    unit = random.normal(size=(4, SIZE))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    return Growth(
        noise_of(SIZE + 1, random, copies),
        random.normal(size=(SIZE, SIZE + 1)) / 10,
        random.normal(size=(4, SIZE + 1)),
        random.uniform(1, 3, 4),
        unit if fixed else np.zeros_like(unit),
    )


@pytest.mark.parametrize("copies", [(), (2, 5)])
def test_one_product_multiplies_every_matrix_with_its_own_vectors(copies):
    growth = example(1, copies)
    x = np.random.default_rng(2).normal(size=(4, 2, SIZE))
    x -= (x @ growth.fixed[:, :, None]) * growth.fixed[:, None, :]
    found = growth.times(x)
    found -= (found @ growth.fixed[:, :, None]) * growth.fixed[:, None, :]
    expected = np.array([own @ S for own, S in zip(x, matrices(growth), strict=True)])
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("copies", [(), (2, 5)])
def test_few_directions_have_the_largest_eigenvalues_and_the_forms_of_the_whole(copies):
    growth = example(3, copies)
    starts = np.random.default_rng(4).normal(size=(4, 2, SIZE))
    found = reduced(growth, starts)
    assert found is not None
    assert found.values.shape[1] < SIZE
    for values, coordinates, own, fixed, S in zip(
        found.values, found.starts, starts, growth.fixed, matrices(growth), strict=True
    ):
        whole = np.linalg.eigvalsh(S)
        assert values[-2:] == pytest.approx(whole[-2:], rel=1e-9)
        beside = own - np.outer(own @ fixed, fixed)
        near = 0.9 / whole[-1]
        expected = beside @ np.linalg.solve(np.eye(SIZE) - near * S, beside.T)
        assert (coordinates / (1 - near * values)) @ coordinates.T == pytest.approx(expected, rel=1e-9)


def test_a_direction_that_the_given_vectors_do_not_see_is_found():
    """Noise in two blocks that know nothing of each other: the vectors are in one, the growth is in the other."""
    sd = np.zeros((SIZE, SIZE))
    half = SIZE // 2
    sd[:half, :half], sd[half:, half:] = 1.0, 5.0
    growth = Growth(EntryNoise(sd), np.eye(SIZE), np.ones((1, SIZE)), np.ones(1), np.zeros((1, SIZE)))
    starts = np.zeros((1, 2, SIZE))
    starts[0, 0, :half] = starts[0, 1, 0] = 1.0
    found = reduced(growth, starts)
    (S,) = matrices(growth)
    assert found is not None
    assert found.values[0, -1] == pytest.approx(np.linalg.eigvalsh(S)[-1], rel=1e-9)
    assert found.values[0, -1] > 20 * np.linalg.eigvalsh(S[:half, :half])[-1]


def test_vectors_that_are_0_or_the_same_are_no_trouble():
    growth = example(5)
    growth = replace(growth, steps=growth.steps * 0.7 ** np.arange(SIZE)[:, None])
    starts = np.random.default_rng(6).normal(size=(4, 2, SIZE))
    starts[0], starts[1, 1] = 0.0, starts[1, 0]
    found = reduced(growth, starts)
    assert found is not None
    expected = [np.linalg.eigvalsh(S)[-1] for S in matrices(growth)]
    assert found.values[:, -1] == pytest.approx(expected, rel=1e-9)
    assert not found.starts[0].any()
    assert np.allclose(found.starts[1, 0], found.starts[1, 1])


@pytest.mark.parametrize("dense", [0, 100])
def test_the_largest_growth_and_a_bound_on_it(dense, monkeypatch):
    monkeypatch.setattr(module, "DENSE", dense)
    growth = example(7, (3,), fixed=False)
    expected = np.array([np.linalg.eigvalsh(S)[-1] for S in matrices(growth)])
    found = largest_growth(growth.noise, growth.steps, growth.weights, growth.variance)
    assert found == pytest.approx(expected, rel=1e-9)
    largest = np.linalg.eigvalsh(growth.steps.T @ growth.steps)[-1]
    bound = growth_bound(growth.noise, growth.weights, np.full(4, largest)) / growth.variance
    assert (bound >= expected).all()


def test_the_bound_is_reached():
    """One weight: K has one entry on its diagonal that is largest and nothing beside it."""
    noise = EntryNoise(np.array([[1.0, 2.0], [2.0, 1.0]]))
    w = np.array([[0.0, 3.0]])
    expected = np.linalg.eigvalsh(product_covariance(noise, w[0]))[-1]
    assert growth_bound(noise, w, np.ones(1)) == pytest.approx([expected], rel=1e-12)


@pytest.mark.parametrize("hidden", [False, True])
def test_what_is_open_beside_many_coefficients_is_as_one_by_one(hidden, monkeypatch):
    monkeypatch.setattr(nuisance_module, "DENSE", 40)
    score = many_columns(hidden)
    L = np.eye(SIZE + 1)[[0, 1, 30, SIZE]]
    root = covariance_root(score)
    together = nuisances(score, L)
    assert len(together[0].growth) < SIZE
    seen = []
    for row, one in zip(L, together, strict=True):
        toward = score.covariance @ row
        whole = nuisance(score, row[None, :], row, toward / (row @ toward), root)
        assert one.kappa == pytest.approx(whole.kappa, rel=1e-8)
        for u in (2.0, -7.0):
            assert one.statistic(u * one.sigma, one.sigma**2) == pytest.approx(
                whole.statistic(u * one.sigma, one.sigma**2), rel=1e-9
            )
        for c in (3.84, 0.9 / whole.growth[-1]):
            assert one.widened(c) == pytest.approx(whole.widened(c), rel=1e-6, abs=1e-12)
        seen.append(whole.kappa)
    assert (min(seen) < 20) == hidden, "one of the two cases has coefficients that the noise hides"


def test_too_many_directions_are_left_to_the_whole_matrix(monkeypatch):
    monkeypatch.setattr(nuisance_module, "DENSE", 40)
    score = many_columns(hidden=True)
    L = np.eye(SIZE + 1)[:2]
    expected = nuisances(score, L)
    assert len(expected[0].growth) < SIZE
    monkeypatch.setattr(module, "_MOST", 9)
    whole = nuisances(score, L)
    assert len(whole[0].growth) == SIZE
    assert [one.kappa for one in whole] == pytest.approx([one.kappa for one in expected], rel=1e-9)


def many_columns(hidden):
    random = np.random.default_rng(8)
    rows = 4_000
    Z = np.column_stack([np.ones(rows), random.uniform(-1, 1, (rows, SIZE))])
    data = np.column_stack([Z, np.clip(0.2 * Z[:, :5].sum(axis=1) + random.normal(0, 0.2, rows), -1, 1)])
    sums = data.T @ data
    F = noise_of(SIZE + 2, random)
    size = 60.0 if hidden else 2.0
    drawn = np.triu(random.normal(size=F.sd.shape) * F.sd * size)
    noisy = sums + drawn + np.triu(drawn, 1).T
    score = score_from_sums(noisy, float(rows), np.eye(SIZE + 2), EntryNoise(F.sd * size))
    assert score is not None
    return score


def test_runs_cover_all_combinations_once():
    pieces = runs(3_000, 100)
    assert len(pieces) > 1
    assert [index for piece in pieces for index in range(piece.start, piece.stop)] == list(range(100))
