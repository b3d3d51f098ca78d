"""The class notes on differential privacy: randomised response, counts, noisy max and the mean, as written.

NOT PRIVATE: data are simulated, and noise comes from NumPy with a seed. The package has four figures, five errata, and
the mechanisms with their claimed and true guarantees.
"""

from __future__ import annotations
