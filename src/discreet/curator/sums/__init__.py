"""Exact sums over rows, one module for each kind of sum.

Sees: chunks of rows in steps of a public grid.
Never: the source of the rows; a floating-point sum whose order could matter.
Hands on: exact totals, to a mechanism only.
"""
