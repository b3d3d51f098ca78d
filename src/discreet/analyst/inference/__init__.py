"""Standard errors, confidence sets and tests that include sampling error and privacy noise.

Input: normal equations, solved coefficients and the noise distribution. Output: sets, p-values and covariances.
"""
