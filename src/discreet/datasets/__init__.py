"""Small public tables for the demo, the tests and the papers.

Sees: samples that were published long ago, and random numbers from fixed seeds. Nobody's secret.
Never: reads a user's file, derives a bound from rows, or needs the network.
Hands on: a `Dataset`: a table and the design declared for it.
"""

from __future__ import annotations

from discreet.datasets.catalogue import load, names

__all__ = ["load", "names"]
