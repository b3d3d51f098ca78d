"""Park & Welling (2016): privacy-preserving iteratively reweighted least squares, as written in the note.

NOT PRIVATE: rows are simulated, and the noise of the second moment does not satisfy the claimed guarantee. The package
has the algorithm, its noise levels, its experiment with our `irls` for comparison, and the errata.
"""
