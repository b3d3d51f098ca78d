"""Results of a plan are computed once, at once for few columns and on request for many."""

from __future__ import annotations

import pytest

import discreet
from discreet.studio.views import expected
from discreet.studio.views.expected import known, piece, waits
from support.studio_client import Browser


@pytest.fixture
def space(tmp_path):
    return Browser(tmp_path).declared().space


def test_a_result_is_computed_once_and_again_when_a_field_changes(space, monkeypatch):
    asked = []
    monkeypatch.setattr(discreet, "plan", lambda design, **options: asked.append(options["epsilon"]) or "made")
    for _ in range(2):
        assert piece(space, "plan", *known(space)) == "made"
    assert asked == [1.0]
    space.store.change(plan=space.state.plan | {"epsilon": "2"})
    piece(space, "plan", *known(space))
    assert asked == [1.0, 2.0]


def test_the_limit_decides_what_waits(space, monkeypatch):
    design, asked = known(space)
    assert not waits(space, "savings", design, asked)
    monkeypatch.setattr(expected, "LIVE_COLUMNS", len(design.released) - 1)
    assert waits(space, "savings", design, asked)
    piece(space, "savings", design, asked)
    assert not waits(space, "savings", design, asked)
