"""INSIDE: what a table holds against its design, for the eyes of the curator alone.

Sees: rows of the sensitive table, one batch at a time, through the readers that a release uses.
Never: spends or draws noise, quotes a cell, proposes a bound, or hands anything to a mechanism or a release.
Hands on: `CheckNotForPublication`, exact counts and places of rows, to the curator who asked.
"""
