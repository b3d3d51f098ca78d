"""Privacy: what is promised, and what it costs.

Sees: declared numbers only (unit, budget, noise scales).
Never: rows, noise.
Hands on: unit, budget, guarantee, exact accounting.
"""
