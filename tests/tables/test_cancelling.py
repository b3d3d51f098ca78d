"""A run stops when it is asked to, with nothing spent; once the spend has begun, asking does nothing."""

from __future__ import annotations

from threading import Barrier, Thread

import pytest

import discreet
from discreet import CancelToken, ComputeOptions

DESIGN = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
TABLE = {"x": [1.0, 2.0, 3.0] * 10, "y": [2.0, 4.0, 6.0] * 10}


def compute(token, **more):
    return ComputeOptions(batch_rows=3, cancel=token, workers=1, **more)


def test_a_cancelled_release_has_spent_nothing():
    token, asked = CancelToken(), []
    token.cancel()
    with pytest.raises(discreet.Cancelled, match="nothing was spent"):
        discreet.release(TABLE, DESIGN, epsilon=1.0, compute=compute(token), spend=asked.append)
    assert asked == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_release_stops_in_the_middle_of_its_table(workers):
    token, seen, asked = CancelToken(), [], []

    def progress(share):
        seen.append(share)
        token.cancel()

    options = ComputeOptions(batch_rows=3, cancel=token, workers=workers, progress=progress)
    with pytest.raises(discreet.Cancelled):
        discreet.release(TABLE, DESIGN, epsilon=1.0, compute=options, spend=asked.append)
    assert len(seen) < 10
    assert asked == []


def test_a_check_stops_too():
    token = CancelToken()
    with pytest.raises(discreet.Cancelled):
        discreet.check(TABLE, DESIGN, compute=compute(token, progress=lambda _: token.cancel()))


def test_from_the_spend_on_it_is_too_late():
    token, answers = CancelToken(), []

    def spend(request):
        answers.append(token.cancel())
        return discreet.privacy.untracked(request)

    made = discreet.release(TABLE, DESIGN, epsilon=1.0, compute=compute(token), spend=spend)
    assert made.private
    assert answers == [False]
    assert (token.closed, token.cancelled) == (True, False)


def test_a_race_has_one_winner():
    for _ in range(20):
        token, gate, outcome = CancelToken(), Barrier(2), {}

        def ask(token=token, gate=gate, outcome=outcome):
            gate.wait()
            outcome["cancelled"] = token.cancel()

        other = Thread(target=ask)
        other.start()
        gate.wait()
        try:
            token.close()
            outcome["spent"] = True
        except discreet.Cancelled:
            outcome["spent"] = False
        other.join()
        assert outcome["cancelled"] != outcome["spent"]


def test_anything_else_is_refused():
    with pytest.raises(discreet.DiscreetError, match="cancel: expected a CancelToken, got str"):
        ComputeOptions(cancel="now")
