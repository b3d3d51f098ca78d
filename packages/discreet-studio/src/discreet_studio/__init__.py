"""Run a local browser application that leads from a table to a published report.

The studio reads the names and types of a table's columns and what the curator types, and calls public functions of
`discreet`. It never shows a cell before a release, computes a statistic, suggests a bound, or accepts connections from
another machine. Its output is files in the curator's folder: a design, a release, a report, and a script and a notebook
that repeat them.
"""

from __future__ import annotations

__version__ = "0.1.0"
