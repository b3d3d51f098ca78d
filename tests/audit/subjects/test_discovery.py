"""Private bounds under audit: their loss reaches the claim, noise decides about them, and mistakes are seen."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import release_request, workflow
from discreet.audit.audited_bounds import BoundsSubject, bounds_entries
from discreet.audit.auditing import Task, audited, subject_of
from support import discovery_patches

NAMES = list(bounds_entries())


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_of_the_pair_reaches_the_claim_and_nothing_is_found_wrong(name):
    """False alarms of all checks together: 1e-9."""
    found = audited(Task(name, 4.0, 30, 1e-9))
    assert not found.violations
    assert all(0.999 * loss.claimed < loss.value <= loss.claimed for loss in found.exact)
    assert {check.name for check in found.checks} >= {
        "distribution of the counts",
        "bounds inconsistent with the counts",
    }


def test_noise_decides_about_the_bounds():
    """A fair coin that falls on one side 80 times has a probability below 1e-23."""
    subject = subject_of(Task(NAMES[0], 1.0, 40, 1e-9))
    subject.draws(0, 40), subject.draws(1, 40)
    assert isinstance(subject, BoundsSubject)
    seen = {workflow.release(subject._tables[0], subject._design, epsilon=1.0, delta=1e-6).found_bounds["x"]
            for _ in range(80)}  # fmt: skip
    assert {(1.0, 2.0), (1.0, 4.0)} <= seen


def test_releases_that_find_nothing_are_no_numbers(monkeypatch):
    subject = BoundsSubject(bounds_entries()[NAMES[0]], 1.0)
    monkeypatch.setattr(release_request, "found_bounds", lambda part, *rest: dict.fromkeys(part.cells))
    assert np.isnan(subject.draws(0, 3)).all()


@pytest.mark.full
@pytest.mark.parametrize(
    ("mistake", "seen"),
    [
        (discovery_patches.counts_exact, "distribution of the counts"),
        (discovery_patches.exact_bounds, "bounds inconsistent with the counts"),
        (discovery_patches.counts_halved, "distribution of the counts"),
    ],
)
def test_a_mistake_shows_in_its_check(mistake, seen, monkeypatch):
    mistake(monkeypatch)
    found = audited(Task(NAMES[0], 4.0, 40, 1e-9))
    assert seen in [check.name for check in found.checks if not check.passed]
