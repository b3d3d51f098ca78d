"""What is declared about a table before any data is opened.

The curator declares names, bounds, levels and rules. They determine a `Design` and its `RowDomain`, the set of possible
scaled rows. Bounds, levels, scales and types are never computed from rows.
"""
