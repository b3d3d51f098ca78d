"""Technical report TRB6/18 of Dandekar, Basu and Bressan (2018): regularised regression by the functional mechanism.

Sees: public and simulated tables only.
Never: makes a private release; its algorithms are NOT PRIVATE here, because their noise comes from NumPy and a seed.
Hands on: `figures.FIGURES` and `errata.ERRATA`. `objectives` is the noisy loss, `regressions` its minimisers,
`histogram` the rival, `tables` the data and `experiment` the runs.
"""

from __future__ import annotations
