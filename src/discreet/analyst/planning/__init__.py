"""Expected errors of a release before it is made, from stated assumptions.

Input: a design, a noise distribution and the assumptions of the planner, never data. Output: a `Plan`.
"""
