"""Rivals from the literature, in versions whose privacy is proved, and references without privacy; NOT PRIVATE.

Sees: public and simulated tables only.
Never: makes a private release or is a mechanism of this library; noise here comes from NumPy and a seed.
Hands on: objects with `fit` and `predict` for `compare-methods`, and the figures that check each against its paper.
"""
