"""What is audited: every mechanism and every primitive, on pairs of tables that are made up.

Sees: mechanisms, primitives and the workflow, as production runs them; rows of made-up tables.
Never: rows of anybody.
Hands on: `Subject` values, which give draws, exact losses and tests of the noise.
"""
