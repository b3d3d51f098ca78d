"""Mechanisms that publish the coefficients of the declared model alone; proof beside each.

Sees: exact totals of one pass after another, a calibrated law, a sampler.
Never: a row; a later pass that depends on anything but what was drawn before it.
Hands on: `Coefficients`.
"""
