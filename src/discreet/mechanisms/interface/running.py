"""A mechanism asks for sums, one pass after another, until it publishes."""

from __future__ import annotations

from collections.abc import Callable

from discreet.curator.sums.protocol import Sums, Totals
from discreet.mechanisms.interface.protocol import Passes, Published


def run_passes(passes: Passes, totals: Totals, read: Callable[[Sums], Totals]) -> Published:
    """What a mechanism publishes in the end.

    Parameters
    ----------
    passes
        A mechanism that runs and has asked for its first sums.
    totals
        These sums.
    read
        Goes over the table once more.
    """
    while True:
        try:
            wanted = passes.send(totals)
        except StopIteration as done:
            published: Published = done.value
            return published
        totals = read(wanted)
