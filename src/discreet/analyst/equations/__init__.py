"""Normal equations of a model, read from a release, with the covariance of their noise.

Input: released sums and the distribution of their noise. Output: `NormalEquations` in scaled units, and the conversion
to original units. Nothing is solved here.
"""
