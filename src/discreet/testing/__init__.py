"""For tests and studies on data that needs no protection: releases without noise or with seeded noise.

Sees: whatever table a test gives it.
Never: makes a private release; everything it hands on is marked NOT PRIVATE and cannot be saved under another name.
Hands on: `Release` values with no guarantee.
"""

from __future__ import annotations

from discreet.testing.not_private import SeededSampler, SummedTable, exact_release, seeded_release, summed_table

__all__ = ["SeededSampler", "SummedTable", "exact_release", "seeded_release", "summed_table"]
