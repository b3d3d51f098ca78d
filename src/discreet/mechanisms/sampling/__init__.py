"""Randomness: exact samplers from the operating system's random bytes.

Sees: noise scales as integers.
Never: data, a design, a seed.
Hands on: integers with the stated law.
"""
