"""A fit as plain text and as table columns.

Sees: a fit.
Never: computes a statistic of its own.
Hands on: text, and the columns that other writers share.
"""
