"""The middle of the sandwich, held against errors of one variance."""

from __future__ import annotations

import numpy as np

from discreet.analyst.inference.score import Middle


def test_without_noise_the_middle_of_the_sandwich_is_taken_as_it_is():
    random = np.random.default_rng(8)
    root = random.normal(size=(3, 3))
    good = root @ np.diag([0.3, 0.8, 40.0]) @ root.T
    middle = Middle(good, np.zeros((3, 3)), root @ root.T)
    np.testing.assert_allclose(middle.joint(), good, rtol=1e-9)
    np.testing.assert_allclose(middle.along(np.eye(3)), good.diagonal(), rtol=1e-9)


def test_the_middle_of_the_sandwich_is_moved_by_its_noise_and_no_farther_than_the_plain_one():
    """In the axes of the diagonal the noise of a direction is that of its own entry."""
    unit, sds = np.eye(4), np.array([0.2, 0.5, 3.0, 4.0])
    variance = np.full((4, 4), 0.01)
    np.fill_diagonal(variance, sds**2)

    def moved(values, plain=unit):
        middle = Middle(np.diag(values), variance, plain)
        joint = middle.joint()
        np.testing.assert_allclose(joint, np.diag(joint.diagonal()), atol=1e-12)
        return middle.along(unit), joint.diagonal()

    for found, wanted in (
        (moved([0.3, 0.8, 4.0, 30.0]), ([0.5, 1.0, 4.0, 22.0], [0.6, 1.0, 4.0, 22.0])),
        # half of what lies below 0 is believed of one combination
        (moved([-1.0, 0.8, 4.0, 12.0]), ([0.0, 1.0, 4.0, 10.0], [0.0, 1.0, 4.0, 10.0])),
        (moved([0.3, -0.4, 4.0, 12.0]), ([0.5, 0.3, 4.0, 10.0], [0.6, 0.35, 4.0, 10.0])),
        # no residual variance to measure by
        (moved([-1.0, 0.8, 4.0, 30.0], 0 * unit), ([0.0, 0.8, 4.0, 30.0], [0.0, 0.8, 4.0, 30.0])),
    ):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)


def test_the_noise_of_a_direction_is_that_of_the_form():
    """10,000 draws: a relative error of 5% has a false-alarm rate far below 1e-9 (seven standard errors)."""
    random = np.random.default_rng(9)
    variance = np.array([[4.0, 1.0], [1.0, 9.0]])
    rows = random.normal(size=(5, 2))
    draws = random.normal(size=(10_000, 2, 2)) * np.sqrt(variance)
    noise = np.triu(draws) + np.triu(draws, 1).transpose(0, 2, 1)
    sds = np.einsum("ij,njk,ik->ni", rows, noise, rows).std(axis=0)
    np.testing.assert_allclose(Middle(np.eye(2), variance, np.eye(2)).noise(rows), sds, rtol=0.05)
