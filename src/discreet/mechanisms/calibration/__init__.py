"""From a budget and public geometry to noise scales.

Sees: a `RowDomain`, a neighbouring relation, a budget.
Never: rows, sums, noise.
Hands on: sensitivities and a `NoiseLaw`.
"""
