"""Exact sums over rows, with one class for each kind of sum.

Input: chunks of rows in steps of a public grid.
Output: exact totals, for a mechanism only.
Sums do not know the source of the rows, and no floating-point sum depends on the order of its terms.
"""
