"""DECLARATION: what is said before data is opened.

Sees: names, bounds, levels and rules that a person declared.
Never: learns a bound, a level, a scale or a type from rows; there is no `from_data` anywhere.
Hands on: a `Design` and its `RowDomain`, the public geometry of a scaled row.
"""
