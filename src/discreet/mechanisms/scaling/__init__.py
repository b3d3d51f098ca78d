"""Centres, scales and a radius of the rows, from noisy counts.

Sees: exact counts of one pass, and the source of noise.
Never: a row; and no exact count leaves it.
Hands on: released numbers by which later passes scale rows.
"""
