"""Mechanisms that publish noisy sums, from which any model can be fitted; proof beside each.

Sees: exact totals of one pass, a calibrated law, a sampler.
Never: a row; a scale that is not public.
Hands on: `NoisyMoments`.
"""
