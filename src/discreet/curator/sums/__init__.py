"""Sum rows exactly, with one class for each kind of sum.

The rows come in chunks, in steps of a public grid. The exact totals are for a mechanism only. Sums do not know the
source of the rows, and no floating-point sum depends on the order of its terms.
"""
