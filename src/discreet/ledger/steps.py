"""Named places of a tracked release, in order: nothing happens there, except in tests of what a crash leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

STEPS: Final = (
    "advised",  # the budget was looked at, no row was read
    "summed",  # the exact sums are made
    "reserving",  # the spend is written, but not committed
    "reserved",  # the spend is on disk, no noise was drawn
    "staging",  # counts that decide are drawn and written, but not committed
    "staged",  # counts that decide are on disk, and nothing was done with them
    "drawn",  # the release is made and nobody has seen it
    "committing",  # the release is written, but not committed
    "committed",  # the release is on disk
    "read",  # it was read back
    "writing",  # its file is about to be written
    "written",  # its file is complete, nothing was printed
)


def _nothing(step: str) -> None:
    """Go on."""


_observer: Callable[[str], None] = _nothing


def at(step: str) -> None:
    """Say that a place is reached."""
    _observer(step)
