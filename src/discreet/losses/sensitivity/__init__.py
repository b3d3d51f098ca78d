"""How far one unit can move each statistic: one home for every sensitivity, used forwards and by calibrations.

Sees: a design, its `RowDomain`, a privacy unit, public settings.
Never: rows, sums, noise, a budget.
Hands on: sensitivities, rounded up.
"""
