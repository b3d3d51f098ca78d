"""Public and simulated tables for the demo, the tests and the papers, and a user's own files by path.

Sees: samples that were published long ago, and random numbers from fixed seeds. Nobody's secret.
Never: reads a row of a user's file, derives a bound from rows, or needs the network.
Hands on: a `Dataset`: what to release and the design declared for it.
"""

from __future__ import annotations

from discreet.datasets.catalogue import load, names
from discreet.datasets.simulated import simulated_rows
from discreet.datasets.tables import Dataset

__all__ = ["Dataset", "load", "names", "simulated_rows"]
