"""Random numbers that estimate quantiles of known laws; they protect nobody.

They are seeded from the fingerprint of a release, so that one file gives one result everywhere.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np

from discreet.exact.arrays import FloatArray


def seeded_stream(purpose: str, digest: str) -> np.random.PCG64:
    """Give a stream of its own to each purpose and release."""
    seed = hashlib.sha256(f"discreet {purpose} {digest}".encode()).digest()
    # NumPy promises the stream of a bit generator for good, that of its normal variates only within a version
    return np.random.PCG64(int.from_bytes(seed, "big"))


def uniforms(stream: np.random.PCG64, *shape: int) -> FloatArray:
    """Draw uniform variates in (0, 1], whose logarithm is finite."""
    raw = stream.random_raw(math.prod(shape)).reshape(shape) >> np.uint64(11)
    return (raw.astype(np.float64) + 1) * 2.0**-53


def standard_normals(stream: np.random.PCG64, count: int, entries: int) -> FloatArray:
    """Draw standard normal variates by the polar transform of Box and Muller (1958), shape (count, entries)."""
    pairs = (entries + 1) // 2
    uniform = uniforms(stream, count, 2, pairs)
    radius = np.sqrt(-2 * np.log(uniform[:, 0]))
    angle = 2 * np.pi * uniform[:, 1]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)[:, :entries]
