"""The class notes on differential privacy, as written: randomised response, counts, noisy max and the mean.

NOT PRIVATE: data is simulated, and noise comes from NumPy with a seed.
"""

from __future__ import annotations
