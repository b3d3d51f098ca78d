"""Mechanisms: the only package that draws privacy noise.

Sees: exact moments, the public geometry of a row, a budget.
Never: a row, a file, a report; never sets a scale from anything but public quantities.
Hands on: noisy totals with the distribution of their noise, and the proof beside each mechanism (x.py + x.proof.md).
"""
