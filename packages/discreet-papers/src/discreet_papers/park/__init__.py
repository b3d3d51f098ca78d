"""Park & Welling (2016): privacy-preserving iteratively reweighted least squares, as written in the note.

NOT PRIVATE: rows are simulated, and the noise of the second moment does not satisfy the claimed guarantee.
"""
