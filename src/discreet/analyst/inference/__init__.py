"""Standard errors, confidence sets and tests that include sampling and privacy noise.

Sees: normal equations, solved coefficients, the law of the noise.
Never: prints anything.
Hands on: sets, p-values, covariances.
"""
