"""DECLARATION: what is said before data is opened.

Sees: names, bounds, levels and rules that a person declared. Turns declared columns into scaled arrays.
Never: learns a bound, a level, a scale or a type from rows; there is no `from_data` anywhere.
Hands on: a `Design`, its `RowDomain` (public geometry of a scaled row), and the encoder of release and predict.
"""
