"""Dandekar, Basu and Bressan (2018), report TRB6/18: regularised regression by the functional mechanism.

NOT PRIVATE: tables are public or simulated, and noise comes from NumPy with a seed. `dandekar_methods` has the noisy
loss, its minimisers and the baseline. `dandekar_experiment` has the data and the runs.
"""

from __future__ import annotations
