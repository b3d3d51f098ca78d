"""What is recorded and said where released counts stop a release."""

from __future__ import annotations

import pytest

from discreet.errors import BoundsNotFound, GuardStop, LedgerError
from discreet.losses.law import GUARD, NoiseLaw
from discreet.mechanisms.guard import GuardCounts
from discreet.mechanisms.verdicts import bounds_record, guard_record, how_to_stop, stop_of
from discreet.privacy.loss import Loss
from discreet.privacy.spend import SpendReceipt


def test_a_guard_is_recorded_in_rows():
    law = NoiseLaw(8, {GUARD: 2 * 4**8}, "gaussian")
    record = guard_record(GuardCounts(3 * 4**8, 700 * 4**8), law)
    stop = stop_of(record, SpendReceipt("here", balance=lambda: "Much is left"))
    assert isinstance(stop, GuardStop)
    assert "about 3 rows fit the design and about 700 do not (noisy counts, standard deviation 2). Much is" in str(stop)


def test_columns_whose_bounds_were_not_found_are_named_with_what_to_do():
    record = bounds_record(["x", "a b"], Loss.pure(0.05))
    stop = stop_of(record, SpendReceipt("here", balance=lambda: "Much is left", request_id="r1"))
    assert isinstance(stop, BoundsNotFound)
    assert stop.columns == ("x", "a b")
    for words in (
        "the bounds of 'x', 'a b' were not found at this budget",
        "The search costs epsilon = 0.05, delta = 0 by itself. Much is left. The same request gives the same verdict",
        "or a narrower range (within = [low, high]), from public knowledge",
    ):
        assert words in str(stop)
    alone = str(stop_of(record, SpendReceipt("untracked")))
    assert "The search has spent epsilon = 0.05, delta = 0 by itself, which nobody counts" in alone


def test_a_hook_that_cannot_record_a_verdict_is_refused():
    with pytest.raises(LedgerError, match="cannot record that a guard stopped the release"):
        how_to_stop(SpendReceipt("here"))
    assert how_to_stop(SpendReceipt("here", stop=lambda record, loss: record))("said", Loss.pure(1.0)) == "said"
