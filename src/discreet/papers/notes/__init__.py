"""The class notes on differential privacy: randomised response, counts, noisy max and the mean, as they are written.

Sees: simulated numbers only.
Never: makes a private release; noise comes from NumPy and a seed (NOT PRIVATE).
Hands on: four figures (`figures`), five errata (`errata`), and the mechanisms with their claimed and true guarantees.
"""

from __future__ import annotations
