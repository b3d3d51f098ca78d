"""Counts that are released before a mechanism runs: how many there are, and how far one unit moves them."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.losses.law import Block


@dataclass(frozen=True, slots=True)
class CountsBefore:
    """One block of counts.

    Attributes
    ----------
    block
        Its name in the law of the noise.
    numbers
        How many counts there are.
    sensitivity, l1_sensitivity
        Of all of them together, in rows.
    """

    block: Block
    numbers: int
    sensitivity: float
    l1_sensitivity: int
