"""Noise of a release drawn anew, to learn how large it may be; seeded from the release, it protects nobody."""

from __future__ import annotations

import math

import numpy as np

from discreet.analyst.equations.noise_covariance import EntryNoise
from discreet.analyst.equations.seeded import standard_normals, uniforms
from discreet.exact.arrays import FloatArray
from discreet.releases import NoiseLaw


def noise_draws(law: NoiseLaw, noise: EntryNoise, stream: np.random.PCG64, count: int) -> FloatArray:
    """Symmetric matrices of noise with these standard deviations and the joint law of the family.

    Parameters
    ----------
    law
        Family of the noise, and its parameters.
    noise
        Of the entries, shape (p, p), and which are the same.
    stream
        Random bits.
    count
        How many.

    Returns
    -------
    numpy.ndarray
        Shape (count, p, p).

    Examples
    --------
    >>> noise_draws(NoiseLaw(8, {}, "none"), EntryNoise(np.zeros((2, 2))), np.random.PCG64(1), 3).any()
    np.False_
    """
    sd = noise.sd
    if law.family == "wishart":
        return _wishart(law.parameters["degrees"], sd, stream, count)
    size = len(sd)
    rows, columns = np.triu_indices(size)
    scale = sd[rows, columns]
    if law.family == "discrete-laplace":
        upper = scale * _laplace(stream, count, len(scale))
    elif law.family == "k-norm":
        noisy = scale > 0
        upper = np.zeros((count, len(scale)))
        upper[:, noisy] = scale[noisy] * _k_norm(law.parameters["dimension"], stream, count, int(noisy.sum()))
    else:
        upper = standard_normals(stream, count, len(scale)) * scale
    out = np.empty((count, size, size))
    out[:, rows, columns] = upper
    out[:, columns, rows] = upper
    copies = list(noise.copies)
    out[:, copies, copies] = out[:, 0, copies]
    return out


def _laplace(stream: np.random.PCG64, count: int, entries: int) -> FloatArray:
    """Laplace variates of variance 1: differences of exponential ones."""
    logs = np.log(uniforms(stream, count, 2, entries))
    out: FloatArray = (logs[:, 0] - logs[:, 1]) / math.sqrt(2)
    return out


def _k_norm(dimension: int, stream: np.random.PCG64, count: int, entries: int) -> FloatArray:
    """Coordinates, each of variance 1, of a vector with density proportional to exp(-|z|).

    Its direction is uniform and its length has a gamma law. The direction is that of normal variates; the squares of
    those that are not looked at have a chi-square law together.
    """
    from scipy.special import gammaincinv

    normals = standard_normals(stream, count, entries)
    both = uniforms(stream, count, 2)
    length = gammaincinv(dimension, both[:, 0])
    unseen = dimension - entries
    rest = 2 * gammaincinv(unseen / 2, both[:, 1]) if unseen > 0 else 0.0
    out: FloatArray = normals * (length / np.sqrt(((normals**2).sum(axis=1) + rest) * (dimension + 1)))[:, None]
    return out


def _wishart(degrees: int, sd: FloatArray, stream: np.random.PCG64, count: int) -> FloatArray:
    """Wishart matrices less their mean, entry by entry scaled to these deviations [Bartlett 1933]."""
    from scipy.special import gammaincinv

    size = len(sd)
    mean = degrees * np.eye(size)
    if degrees < size:
        root = standard_normals(stream, count, size * degrees).reshape(count, size, degrees)
    else:
        root = np.tril(standard_normals(stream, count, size * size).reshape(count, size, size), -1)
        halves = (degrees - np.arange(size)) / 2
        root[:, range(size), range(size)] = np.sqrt(2 * gammaincinv(halves, uniforms(stream, count, size)))
    out: FloatArray = (root @ root.transpose(0, 2, 1) - mean) * (sd / np.sqrt(degrees + mean))
    return out
