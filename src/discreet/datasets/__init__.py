"""Public and simulated tables with declared designs, and access to a user's files by path.

The public tables were published long ago, and the simulated tables are drawn from seeds. No function here reads rows of
a user's file, computes bounds from rows, or uses the network.
"""

from __future__ import annotations

from discreet.datasets.catalogue import load, names
from discreet.datasets.simulated import simulated_rows
from discreet.datasets.tables import Dataset

__all__ = ["Dataset", "load", "names", "simulated_rows"]
