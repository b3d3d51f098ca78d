"""Neighbouring tables, built from declared values, and which of them is worst for which mechanism.

Sees: a design.
Never: rows of anybody.
Hands on: `NeighbourPair` values.
"""
