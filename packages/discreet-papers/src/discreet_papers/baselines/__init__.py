"""Baselines from the literature with a proved guarantee, and references without privacy. NOT PRIVATE: noise is seeded.

Every method has `fit` and `predict` for `compare-methods`. Figures check each baseline against its paper.
"""
