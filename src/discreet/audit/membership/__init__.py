"""MEMBERSHIP: how well somebody who knows all other rows finds out whether one row is in a table.

Sees: a public table of `datasets`, and mechanisms as production runs them.
Never: a sensitive table.
Hands on: the attacker's errors beside the curves that a promise allows, and the same without noise, NOT PRIVATE.
"""
