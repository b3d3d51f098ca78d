"""The note of Park & Welling (2016) on privacy preserving iteratively reweighted least squares, as it is written.

Sees: simulated rows.
Never: makes a private release; the noise of its second moment does not keep what the note claims (NOT PRIVATE).
Hands on: the algorithm, its noise levels, its experiment with our `irls` beside it, and what is wrong in it.
"""
