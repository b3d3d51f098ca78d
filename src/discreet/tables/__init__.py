"""TABLE: any table, row by row, as the arrays that a design declares. Used by release and by predict.

Sees: cells of the containers that people bring, one batch at a time.
Never: lets a cell decide how another is read, learns a bound or a level from rows, quotes a cell in a message.
Hands on: batches of declared arrays, scaled by the encoder.
"""
