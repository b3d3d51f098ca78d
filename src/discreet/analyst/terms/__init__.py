"""The terms of a model: what a declared column as a whole, or the model as a whole, adds to it.

Sees: a model, its normal equations and what is known of its errors.
Never: rows, or a test of its own: every p-value is one of `inference`.
Hands on: an `Anova`, a `PairwiseTest`, inflation factors, the likelihood of a line.
"""
