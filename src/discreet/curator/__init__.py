"""Read the rows of a sensitive table and sum them exactly.

Sees: rows of the sensitive table, one batch at a time.
Never: prints, logs or serialises a value, a count or a row number, except the line number of a broken CSV row. It
never draws noise.
Hands on: `Totals`, exact sums on a public integer grid, to a mechanism only. `inspection` counts for the curator only.
"""
