"""The whole public path: releases, the estimator, and counts of a guard that stopped one."""

from __future__ import annotations

import pytest

from discreet.audit.audited_mechanisms import PublicPath, mechanism_entries
from discreet.design.design import Design
from discreet.mechanisms import guard
from discreet.privacy.budget import PrivacyBudget
from discreet.release_request import ReleaseRequest

DESIGN = Design("y", {"y": (-1, 1), "x": (-1, 1)})
TABLE = {"x": [1.0, 0.5], "y": [1.0, 1.0]}


def path(name):
    entry = mechanism_entries()[name]
    asked = ReleaseRequest.checked(DESIGN, PrivacyBudget(1.0, entry.delta), entry.options(DESIGN))
    return PublicPath(entry, asked)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("gaussian", 6),
        ("gaussian estimator", 6),
        ("gaussian clip counts", 8),
        ("gaussian robust", 16),
        ("gaussian robust models", 19),
        ("output", 2),
    ],
)
def test_all_numbers_of_a_release(name, numbers):
    made = path(name)
    assert len(made.numbers(TABLE)) == len(made.numbers(TABLE)) == numbers
    assert len(made.rests) == 1


@pytest.mark.parametrize(("factor", "numbers"), [(1e9, 8), (-1e9, 2)])
def test_a_guard_lets_go_on_or_leaves_its_counts(factor, numbers, monkeypatch):
    monkeypatch.setattr(guard, "GAUSSIAN_FACTOR", factor)
    assert len(path("gaussian guard").numbers(TABLE)) == numbers
