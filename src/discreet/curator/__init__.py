"""Read the rows of a sensitive table and sum them exactly.

Input: rows of the sensitive table, one batch at a time.
Output: `Totals`, exact sums on a public integer grid, for a mechanism only. `inspection` counts for the curator only.
Values, counts and row numbers are never printed, logged or serialised, except the line number of a broken CSV row. No
noise is drawn here.
"""
