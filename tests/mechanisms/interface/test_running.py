"""A mechanism is given the sums it asks for, in order, and what it returns is what it publishes."""

from __future__ import annotations

import pytest

from discreet.mechanisms.protocol import run_passes


def asking(many):
    given = []
    for number in range(many):
        given.append((yield f"sums {number}"))
    return given


@pytest.mark.parametrize("many", [1, 2, 5])
def test_every_pass_gets_what_it_asked_for(many):
    asked, passes = [], asking(many)

    def read(wanted):
        asked.append(wanted)
        return f"totals of {wanted}"

    first = read(next(passes))
    assert run_passes(passes, first, read) == [f"totals of sums {number}" for number in range(many)]
    assert asked == [f"sums {number}" for number in range(many)]


def test_what_reading_raises_is_not_caught():
    passes = asking(2)

    def read(wanted):
        raise OSError(wanted)

    next(passes)
    with pytest.raises(OSError, match="sums 1"):
        run_passes(passes, "totals", read)
