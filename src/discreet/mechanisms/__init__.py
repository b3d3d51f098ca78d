"""Mechanisms: the only package, apart from `primitives`, that draws privacy noise.

Input: exact sums, the public geometry of a row, and a budget. Output: noisy totals with their noise distribution.
No module here reads rows or files. Every noise scale is computed from public quantities only. The proof of `x.py` is in
`x.proof.md`.
"""
