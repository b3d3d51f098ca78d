"""What anyone may do with a release, at no privacy cost.

Sees: a release, and rows that somebody brings to be predicted.
Never: rows of the sensitive table; no import from `curator` or `mechanisms`.
Hands on: a `Fit`, or a `Path` of them.
"""
