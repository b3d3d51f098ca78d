"""How large the noise in a matrix of sums is: the 95% quantile of its operator norm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np

from discreet.analyst.equations.noise_covariance import EntryNoise
from discreet.analyst.equations.noise_draws import noise_draws
from discreet.analyst.equations.seeded import seeded_stream
from discreet.exact.arrays import FloatArray
from discreet.releases import NoiseLaw

MISS: Final = Fraction(1, 20)  # how often the noise may exceed the quantile
_SIMULATED_ROWS: Final = 100
_GAUSSIAN: Final = NoiseLaw(8, {}, "none")


def noise_norm_quantile(noise: EntryNoise, noise_map: FloatArray, digest: str, law: NoiseLaw = _GAUSSIAN) -> float:
    """Simulate the 95% quantile of the operator norm of C E C', E symmetric noise.

    Of B simulated norms it takes the one of rank 0.95 (B+1), which a further norm exceeds with probability 5%
    exactly, on average over fingerprints, however few the draws. Fewer are made where they are costly: the norm of a
    large matrix hardly varies, unless the shifts or means in C single out one direction.

    Parameters
    ----------
    noise
        E, shape (p, p).
    noise_map
        C, shape (k, p).
    digest
        Fingerprint of the release.
    law
        Family of the noise.

    Examples
    --------
    >>> noise_norm_quantile(EntryNoise(np.zeros((2, 2))), np.eye(2), "sha256:00")
    0.0
    """
    if not noise:
        return 0.0
    if len(noise_map) > _SIMULATED_ROWS:
        # one deviation of an entry covers what an entry on the diagonal shares with another
        return ensemble_edge(noise.sd, noise_map, law)
    draws = _draws(len(noise_map))
    norms = np.sort(np.concatenate(list(_norms(noise, noise_map, draws, digest, law))))
    rank = math.ceil((1 - MISS) * (draws + 1))
    return float(norms[rank - 1])


def ensemble_edge(sd: FloatArray, noise_map: FloatArray, law: NoiseLaw = _GAUSSIAN) -> float:
    """Edge of the spectrum of C E C' for many rows, where C is the identity or (v, identity).

    The core of E has its edge at 2r, r^2 the largest row sum of its variances. The first column of C adds
    v e' + e v' + e_n v v' for the first row (e_n, e) of E. The middle two have the eigenvalues v.e +- |v||e|; one of
    size t > r leaves the bulk and is at t + r^2/t [Benaych-Georges & Nadakuditi 2011].
    The last is at most 1.96 deviations of e_n times |v|^2, and one deviation of an entry covers the fluctuation.

    The edge does not depend on the law of independent entries, and K-norm noise of many entries is close to Gaussian.
    Wishart noise of m degrees of freedom leans to one side: its edge is at 2r + r^2 / (sqrt(m) s), s the smallest
    deviation of an entry beside the diagonal [Marchenko & Pastur 1967, for equal deviations].
    """
    if noise_map.shape[0] == noise_map.shape[1]:
        core, spike, count = sd, 0.0, 0.0
    else:
        core = sd[1:, 1:]
        length = float(np.linalg.norm(noise_map[:, 0]))
        spike = length * float(np.linalg.norm(sd[0, 1:]) + sd[0, 1:].max())
        count = 1.96 * float(sd[0, 0]) * length**2
    radius = math.sqrt((core**2).sum(axis=1).max())
    edge = 2 * radius if spike <= radius else spike + radius**2 / spike
    if law.family == "wishart":
        edge += radius**2 / (math.sqrt(law.parameters["degrees"]) * float(core[np.triu_indices(len(core), 1)].min()))
    return edge + count + float(core.max())


def _draws(size: int) -> int:
    """How many norms to simulate: each count makes 0.95 (B+1) an integer."""
    return 399 if size <= 20 else 99


def _norms(
    noise: EntryNoise, noise_map: FloatArray, draws: int, digest: str, law: NoiseLaw = _GAUSSIAN
) -> Iterator[FloatArray]:
    stream = seeded_stream("noise norm", digest)
    batch = max(1, 2**21 // noise.sd.size)
    for start in range(0, draws, batch):
        E = noise_draws(law, noise, stream, min(batch, draws - start))
        ends = np.linalg.eigvalsh(noise_map @ E @ noise_map.T)[:, [0, -1]]
        yield np.abs(ends).max(axis=1)
