"""Public and simulated tables with declared designs, and access to a user's files by path.

The public tables were published long ago, and the simulated ones are drawn from fixed seeds. Nothing here reads a row
of a user's file, derives a bound from rows, or uses the network.
"""

from __future__ import annotations

from discreet.datasets.catalogue import load, names
from discreet.datasets.simulated import simulated_rows
from discreet.datasets.tables import Dataset

__all__ = ["Dataset", "load", "names", "simulated_rows"]
