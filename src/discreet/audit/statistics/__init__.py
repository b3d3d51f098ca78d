"""Lower bounds on privacy loss from draws alone, and tests of stated laws.

Sees: arrays of numbers that were drawn for two tables, and a claim.
Never: what made them.
Hands on: `Judgement` values and p-values.
"""
