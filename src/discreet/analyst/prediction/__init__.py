"""Predictions for new rows, with intervals.

Sees: a fit and rows that somebody brings.
Never: rows of the sensitive table.
Hands on: predicted values and their sets.
"""
