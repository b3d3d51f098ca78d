"""From a release and a model to normal equations, with the covariance of their noise.

Sees: released sums and the distribution of their noise.
Never: solves anything.
Hands on: `NormalEquations` in scaled units, and the way back to original ones.
"""
