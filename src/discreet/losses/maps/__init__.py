"""What each mechanism costs, forwards: one map for each name and version.

Sees: a law of noise, a design, settings, the epsilon at which a delta is asked for.
Never: rows, sums, draws; a calibration.
Hands on: a `Loss`.
"""
