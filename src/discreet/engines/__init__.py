"""ENGINES: programs that read and sum a table where its rows are. Spark is the one that is built in.

Sees: names and types of columns on the driver; rows inside the workers alone, through the curator's own tasks.
Never: draws noise, prints or repeats what another program says (its messages quote cells), writes rows to a named file.
Hands on: exact sums of all parts, or the rows that count, to the curator's `Table`.
"""
