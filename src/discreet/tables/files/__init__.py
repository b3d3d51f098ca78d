"""Files of rows: CSV, Parquet, Arrow, and what else can be opened as a source.

Sees: paths, names of columns, bytes.
Never: imported by the analyst's room, which has no rows to open.
Hands on: a `Source` of batches that is read once.
"""
