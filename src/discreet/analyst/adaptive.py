"""How much ridge the noise calls for: the corrected adaptive rule, from released quantities only.

The random numbers of this module estimate a quantile of a *known* law; they protect nobody. They are seeded from the
fingerprint of the release, so that one file gives one fit everywhere.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.analyst.normal_equations import NormalEquations
from discreet.releases import FloatArray

MISS: Final = Fraction(1, 20)  # how often the noise may exceed the quantile
_SIMULATED_ROWS: Final = 100
_ROWS_IN_SDS: Final = 3  # below this many standard deviations of its noise a count is no count


@dataclass(frozen=True, eq=False)
class AdaptiveRidge:
    """The ridge, the noise quantile and the smallest eigenvalue behind it, and which coefficients it pulls to 0."""

    ridge: float
    noise_norm: float
    smallest: float
    penalised: npt.NDArray[np.bool_]


def adaptive_ridge(equations: NormalEquations, digest: str) -> AdaptiveRidge:
    """Smallest ridge that keeps the noise in the Gram below half of what it is added to.

    With q the 95 % quantile of the operator norm of the noise in the penalised Gram and l its smallest noisy
    eigenvalue, l - q is a lower bound for the true one, and ridge = max(0, 2q - max(0, l - q))
    [Wang 2018, with the eigenvalue read off the release instead of bought]. Should l fall below -q, which noise of this
    law hardly ever does, the ridge grows to q - l, so that what is solved is always positive definite.

    An intercept is partialled out and not penalised: with m the noisy means of the features the Gram is A - n m m' and
    its noise, to first order, E - e m' - m e' + e_n m m'. Where the noisy count of rows is no larger than three
    standard deviations of its noise there are no means to speak of, and all coefficients are pulled to 0.
    """
    A = equations.A
    size = len(A)
    penalised = np.ones(size, dtype=np.bool_)
    if not equations.intercept:
        gram = A
        noise_map = np.column_stack([equations.shift[:-1], np.eye(size)])
    elif A[0, 0] > _ROWS_IN_SDS * equations.nobs_sd:
        penalised[0] = False
        means = A[0, 1:] / A[0, 0]
        gram = A[1:, 1:] - A[0, 0] * np.outer(means, means)
        # the true means lie in the public range; noisy ones beyond it would overstate the noise
        noise_map = np.column_stack([-np.clip(means, equations.low, 1.0), np.eye(size - 1)])
    else:
        gram = A
        noise_map = np.eye(size)
    if len(gram) == 0:
        return AdaptiveRidge(0.0, 0.0, math.inf, penalised)
    noise_norm = noise_norm_quantile(equations.block_sd[:-1, :-1], noise_map, digest)
    smallest = float(np.linalg.eigvalsh(gram)[0])
    ridge = max(0.0, 2 * noise_norm - max(0.0, smallest - noise_norm))
    if noise_norm > 0:
        ridge = max(ridge, noise_norm - smallest)
    return AdaptiveRidge(ridge, noise_norm, smallest, penalised)


def noise_norm_quantile(sd: FloatArray, noise_map: FloatArray, digest: str) -> float:
    """Simulate the 95 % quantile of the operator norm of C E C', E symmetric Gaussian with entry deviations `sd`.

    Of B simulated norms it takes the one of rank 0.95 (B+1), which a further norm exceeds with probability 5 %
    exactly, on average over fingerprints, however few the draws. Fewer are made where they are dear: the norm of a
    large matrix hardly varies, unless the shifts or means in C single out one direction.

    Parameters
    ----------
    sd
        Standard deviations of the independent entries on and above the diagonal, shape (p, p).
    noise_map
        C, shape (k, p).
    digest
        Fingerprint of the release.

    Examples
    --------
    >>> noise_norm_quantile(np.zeros((2, 2)), np.eye(2), "sha256:00")
    0.0
    """
    if not sd.any():
        return 0.0
    if len(noise_map) > _SIMULATED_ROWS:
        return ensemble_edge(sd, noise_map)
    draws = _draws(len(noise_map))
    norms = np.sort(np.concatenate(list(_norms(sd, noise_map, draws, digest))))
    rank = math.ceil((1 - MISS) * (draws + 1))
    return float(norms[rank - 1])


def ensemble_edge(sd: FloatArray, noise_map: FloatArray) -> float:
    """Edge of the spectrum of C E C' for many rows, where C is the identity or (v, identity).

    The core of E has its edge at 2r, r^2 the largest row sum of its variances. The first column of C adds
    v e' + e v' + e_n v v' for the first row (e_n, e) of E. The middle two have the eigenvalues v.e +- |v||e|; one of
    size t > r leaves the bulk and stands at t + r^2/t [Benaych-Georges & Nadakuditi 2011].
    The last is at most 1.96 deviations of e_n times |v|^2, and one deviation of an entry covers the fluctuation.
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
    return edge + count + float(core.max())


def _draws(size: int) -> int:
    """How many norms to simulate: each count makes 0.95 (B+1) a whole number."""
    return 399 if size <= 20 else 99


def _norms(sd: FloatArray, noise_map: FloatArray, draws: int, digest: str) -> Iterator[FloatArray]:
    size = len(sd)
    rows, columns = np.triu_indices(size)
    entries = len(rows)
    seed = hashlib.sha256(f"discreet noise norm {digest}".encode()).digest()
    # NumPy promises the stream of a bit generator for good, that of its normal variates only within a version
    stream = np.random.PCG64(int.from_bytes(seed, "big"))
    batch = max(1, 2**21 // (size * size))
    for start in range(0, draws, batch):
        count = min(batch, draws - start)
        upper = _normals(stream, count, entries) * sd[rows, columns]
        E = np.empty((count, size, size))
        E[:, rows, columns] = upper
        E[:, columns, rows] = upper
        ends = np.linalg.eigvalsh(noise_map @ E @ noise_map.T)[:, [0, -1]]
        yield np.abs(ends).max(axis=1)


def _normals(stream: np.random.PCG64, count: int, entries: int) -> FloatArray:
    """Draw standard normal variates by the polar transform of Box and Muller (1958), shape (count, entries)."""
    pairs = (entries + 1) // 2
    raw = stream.random_raw(count * pairs * 2).reshape(count, 2, pairs) >> np.uint64(11)
    # in (0, 1], so that the logarithm is finite
    uniform = (raw.astype(np.float64) + 1) * 2.0**-53
    radius = np.sqrt(-2 * np.log(uniform[:, 0]))
    angle = 2 * np.pi * uniform[:, 1]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)[:, :entries]
