"""Run a local browser application that leads from a table to a published report.

Sees: names and types of a table, what a curator types, and the results of the public functions of `discreet`.
Never: shows a cell, computes a statistic, accepts connections from another machine, or proposes a bound.
Hands on: files in the curator's folder: a design, a release, a report, and a script and a notebook that repeat them.
"""

from __future__ import annotations

__version__ = "0.1.0"
