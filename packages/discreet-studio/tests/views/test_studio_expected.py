"""Results of a plan are computed once, at once for few columns and on request for many."""

from __future__ import annotations

import pytest

import discreet
from discreet_studio.views import expected_results
from discreet_studio.views.expected_results import known, piece, waits
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
    monkeypatch.setitem(expected_results.LIVE_COLUMNS, "savings", len(design.released) - 1)
    assert waits(space, "savings", design, asked)
    piece(space, "savings", design, asked)
    assert not waits(space, "savings", design, asked)


def test_a_run_tells_how_far_it_is_and_ends_when_it_is_cancelled():
    seen, token = [], discreet.CancelToken()
    run = expected_results.Run(token, seen.append)
    run.step(0.5)
    token.cancel()
    with pytest.raises(discreet.Cancelled):
        run.step(0.75)
    assert seen == [0.5]


@pytest.mark.parametrize("what", ["plan", "widths", "mechanisms", "smallest"])
def test_every_long_piece_can_be_cancelled(space, what):
    space.store.change(plan=space.state.plan | {"coefficient": "age", "width": "50"})
    token = discreet.CancelToken()
    token.cancel()
    with pytest.raises(discreet.Cancelled):
        piece(space, what, *known(space), expected_results.Run(token))
