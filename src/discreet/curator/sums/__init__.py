"""What rows are summed into, one module for each kind of sum.

Sees: chunks of rows in steps of a public grid.
Never: where the rows come from; a floating-point sum whose order could matter.
Hands on: exact totals, to a mechanism and to nothing else.
"""
