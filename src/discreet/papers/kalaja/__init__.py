"""Kalaja's thesis (2020): AdaSSP and what pre-processing does to it, with the methods that it compares.

Sees: public and simulated tables only.
Never: makes a private release; its lines scale rows by statistics of the data, and are NOT PRIVATE as a whole.
Hands on: figures 4.1 to 4.8 with their criteria, and the errata of the thesis.
"""

from __future__ import annotations
