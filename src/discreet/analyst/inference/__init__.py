"""Standard errors, confidence sets and tests that include sampling error and privacy noise.

The input is normal equations, solved coefficients and the noise distribution; the output is sets, p-values and
covariances.
"""
