"""Formulas of derived columns: text to tree to values, with ranges from declared bounds alone.

Sees: the text of a formula and declared bounds.
Never: evaluates Python, learns a range from rows.
Hands on: a checked `Formula`, its values and its range.
"""
