"""Normal equations of a model, read from a release, with the covariance of their noise.

The input is released sums and their noise distribution. The output is `NormalEquations` in scaled units, and the
conversion to original units. Nothing is solved here.
"""
