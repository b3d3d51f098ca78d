"""Read any table, batch by batch, into the arrays that a design declares, for releases and predictions.

The cells of data frames, files and databases are read one batch at a time and returned as batches of declared arrays,
which the encoder scales. No cell affects how another cell is read, no bound or level is learned from rows, and no
message quotes a cell.
"""
