"""Exact arithmetic: integers, directed rounding, and functions that round the same way on every machine.

This package holds array types, integer linear algebra, elementary functions, interval arithmetic and projection onto a
ball. It has nothing to do with people, privacy or random numbers, and imports no other package of discreet.
"""
