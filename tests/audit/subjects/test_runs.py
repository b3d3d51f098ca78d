"""All noisy numbers of a release are seen, and the rest of it is one text."""

from __future__ import annotations

import numpy as np

from discreet.audit.audited_mechanisms import MechanismSubject, mechanism_entries
from discreet.audit.runs import padded, release_numbers, rest_of_release
from discreet.design.design import Design
from discreet.workflow import release

DESIGN = Design("y", {"y": (-1, 1), "x": (-1, 1)})
TABLE = {"x": [1.0, 2.0], "y": [1.0, 1.0]}


def made(**options):
    return release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, **options)


def test_all_published_numbers_are_seen():
    assert len(release_numbers(made(clip_counts=True))) == 6 + 2
    assert len(release_numbers(made(mechanism="adassp"))) == 5 + 1
    traced = made(mechanism="gradient", settings={"iterations": 3})
    assert np.array_equal(release_numbers(traced)[2:], np.ravel(traced.coefficients.trace))
    ranged = made(mechanism="refined")
    assert np.array_equal(release_numbers(ranged)[2:], np.ravel(ranged.coefficients.ranges))
    staged = made(mechanism="staged", robust=True)
    assert release_numbers(staged)[-3:] == list(map(float, staged.staged.score_products))
    robust = made(mechanism="gaussian", robust=True)
    assert release_numbers(robust)[-1] == robust.residuals.ratio.total
    assert len(release_numbers(robust)) == 6 + 2 + 1 + 3 + 4


def test_releases_differ_in_their_noisy_numbers_alone():
    for options in (
        {},
        {"clip_counts": True},
        {"robust": True},
        {"mechanism": "gaussian", "robust": True},
        {"mechanism": "adassp"},
        {"mechanism": "output"},
        {"mechanism": "staged"},
    ):
        assert len({rest_of_release(made(**options)) for _ in range(3)}) == 1
        assert len({tuple(release_numbers(made(**options))) for _ in range(3)}) == 3


def test_a_run_that_the_guard_stops_publishes_its_counts_alone(monkeypatch):
    monkeypatch.setattr("discreet.audit.runs.stops", lambda counts, distribution: True)
    subject = MechanismSubject(mechanism_entries()["gaussian guard"], 1.0, DESIGN)
    assert subject.draws(0, 3).shape == (3, 2)


def test_runs_that_were_stopped_are_padded():
    assert np.isnan(padded([[1.0, 2.0], [1.0, 2.0, 3.0]])[0, 2])
