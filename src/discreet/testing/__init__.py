"""Releases without noise or with seeded noise, for tests and studies on data that needs no protection.

Nothing here is private. Every release is marked NOT PRIVATE, has no guarantee, and can be saved only under a marked
file name.
"""

from __future__ import annotations

from discreet.testing.not_private import SeededSampler, SummedTable, exact_release, seeded_release, summed_table

__all__ = ["SeededSampler", "SummedTable", "exact_release", "seeded_release", "summed_table"]
