"""Kalaja's thesis (2020): AdaSSP, the effect of preprocessing, and the methods it is compared with.

NOT PRIVATE: tables are public or simulated, and rows are scaled by statistics of the data. The package has figures 4.1
to 4.8 with their criteria, and the errata of the thesis.
"""

from __future__ import annotations
