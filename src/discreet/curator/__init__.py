"""The only package that sees people.

Sees: rows of the sensitive table, one batch at a time.
Never: prints, logs or serialises a value, a count, or a row number beyond the line of a broken CSV row; never draws
noise.
Hands on: `Totals`, exact sums on a public integer grid, to a mechanism and to nothing else. `inspection` alone counts
for the curator's own eyes.
"""
