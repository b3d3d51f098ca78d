"""Findings about rows that a release by `staged` shortened, or gave less weight."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import discreet
from discreet.analyst.diagnostics import findings
from discreet.analyst.inference.clipped_scores import distant_rows, long_tail
from discreet.pages.page import render
from discreet.pages.view import report_view
from discreet.releases.staged_moments import bound_choice
from discreet.testing import seeded_release

DESIGN = discreet.Design("y", {"x0": (-8, 300), "x1": (-8, 300), "y": (-50, 5000)})


@cache
def released(kind, rows, epsilon=1.0, mechanism="staged", seed=2):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(rows, 2))
    errors = np.exp(2.5 * rng.normal(size=rows)) if kind == "long" else rng.normal(size=rows)
    if kind == "distant":
        # a tenth of the rows is far from all others
        x = np.where(rng.random((rows, 2)) < 0.1, 40 + x, x)
    table = {"x0": x[:, 0], "x1": x[:, 1], "y": 1 + x @ [1.0, 0.5] + errors}
    return seeded_release(table, DESIGN, seed=seed, epsilon=epsilon, delta=1e-6, mechanism=mechanism)


@pytest.mark.parametrize(("kind", "number"), [("long", "D024"), ("distant", "D025")])
def test_a_known_failure_is_a_finding_in_summary_and_report(kind, number):
    made = released(kind, 20_000)
    fit = discreet.fit(made)
    (finding,) = (one for one in findings(made, fit) if one.number == number)
    assert finding.severity == "caution"
    assert finding.text in fit.to_dict()["notes"]
    assert " ".join(finding.text.split()) in " ".join(fit.summary().split())
    assert f'id="{number.lower()}"' in render(report_view(made, fit))


def test_they_state_released_numbers():
    long, distant = released("long", 20_000), released("distant", 20_000)
    choice = bound_choice(long, long.staged)
    assert f"is {choice.slope:.2g} there" in long_tail(long)
    assert "rows times mu is 4," in long_tail(long)
    assert f"take away {distant.staged.missing:.0%} of the squared lengths" in distant_rows(distant)


def test_normal_tables_and_other_mechanisms_show_neither():
    for made in (released("normal", 20_000), released("normal", 20_000, mechanism="gaussian")):
        assert not {"D024", "D025"} & {one.number for one in findings(made)}


def test_where_nothing_was_clipped_no_tail_is_reported():
    made = released("long", 3000, epsilon=1e7)
    assert bound_choice(made, made.staged).clipped < 0.01
    assert long_tail(made) is None
