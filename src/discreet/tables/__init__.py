"""Read any table, batch by batch, into the arrays that a design declares. Used by release and by predict.

Input: the cells of data frames, files and databases, one batch at a time.
Output: batches of declared arrays, which the encoder scales.
No cell affects how another cell is read, no bound or level is learned from rows, and no message quotes a cell.
"""
