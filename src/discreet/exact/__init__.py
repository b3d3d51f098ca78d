"""ARITHMETIC: integers, rounding and functions that are exact or rounded the same way everywhere.

Sees: numbers and arrays.
Never: a person, a privacy parameter, a random number; imports no other package.
Hands on: array types, integer linear algebra, elementary functions, ranges of formulas, the ball.
"""
