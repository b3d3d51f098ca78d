"""Mechanisms: the only package, apart from `primitives`, that draws privacy noise.

A mechanism turns exact sums, the public set of possible rows and a budget into noisy totals with their noise
distribution. No module here reads rows or files. Every noise scale is computed from public quantities only. The proof
of `x.py` is in `x.proof.md`.
"""
