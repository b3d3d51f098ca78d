"""What a release would give, before it is made: expected errors from stated assumptions.

Sees: a design, a noise law, assumptions that the planner states.
Never: data.
Hands on: a `Plan`.
"""
