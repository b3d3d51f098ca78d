"""AUDIT: what an attacker would try.

Sees: designs, mechanisms by name.
Never: a sensitive table.
Hands on: neighbouring tables on which mechanisms come closest to their claims.
"""
