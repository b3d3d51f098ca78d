"""Read the rows of a sensitive table and sum them exactly.

The curator reads the table in batches. Its sums are `Totals`, exact integers on a public grid, which only a mechanism
receives. The counts of `inspection` are only for the curator. Values, counts and row numbers are never printed, logged
or serialised, except for the line number of a broken CSV row. No noise is drawn here.
"""
