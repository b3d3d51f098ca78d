"""Kill points can be watched, and are left as they were."""

from __future__ import annotations

import pytest

from discreet.ledger import event_log as steps
from discreet.testing.not_private import calling


def test_an_observer_is_called_until_the_block_ends_even_by_an_error():
    seen: list[str] = []

    def fail(step: str) -> None:
        seen.append(step)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), calling(fail):
        steps.at("drawn")
    steps.at("read")
    assert seen == ["drawn"]
