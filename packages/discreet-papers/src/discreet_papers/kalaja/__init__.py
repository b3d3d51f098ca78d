"""Kalaja's thesis (2020): AdaSSP, the effect of preprocessing, and the methods with which it is compared.

NOT PRIVATE: tables are public or simulated, and rows are scaled by statistics of the data.
"""

from __future__ import annotations
