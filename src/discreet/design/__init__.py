"""Declarations made before any data is opened.

Input: the names, bounds, levels and rules that a person declares.
Output: a `Design` and its `RowDomain`, the public geometry of a scaled row.
Bounds, levels, scales and types are never learned from rows.
"""
