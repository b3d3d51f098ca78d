"""Critical values for several intervals that shall hold together."""

from __future__ import annotations

import math
from typing import Final, Literal, get_args

import numpy as np

from discreet.analyst.equations.seeded import seeded_stream, standard_normals
from discreet.analyst.inference.contrasts import Contrasts
from discreet.errors import SpecError
from discreet.exact.arrays import FloatArray

Simultaneous = Literal["bonferroni", "max-t"]
WAYS: Final[tuple[Simultaneous, ...]] = get_args(Simultaneous)
_DRAWS: Final = 9_999  # level (draws + 1) is then an integer for every level of up to four digits


def checked_way(way: object) -> Simultaneous | None:
    """Check the name of a way to make intervals hold together; none for one by one."""
    for known in WAYS:
        if isinstance(way, str) and known == way:
            return known
    if way is None:
        return None
    raise SpecError.unknown_name("method", way, WAYS, " of simultaneous intervals")


def simultaneous_value(about: Contrasts, level: float, way: Simultaneous, digest: str) -> float:
    """Critical value at which all intervals hold at once with probability `level`.

    `bonferroni` shares the misses out evenly. `max-t` takes the quantile of the largest of the standardised errors,
    which have the correlations of the sandwich covariance, and is never wider than the former but for simulation.
    Correlations do not determine the joint law of pure-epsilon noise: there both are Bonferroni's value.

    Parameters
    ----------
    about
        The combinations, m of them.
    level
        Between 0 and 1.
    way
        How.
    digest
        Fingerprint of the release.
    """
    count = len(about.names)
    bonferroni = about.critical(1 - (1 - level) / count)
    rank = math.ceil(round(level * (_DRAWS + 1), 6))
    if way == "bonferroni" or count == 1 or rank > _DRAWS or about.family == "laplace":
        return bonferroni
    from scipy.special import chdtri

    stream = seeded_stream("max-t", digest)
    normals = standard_normals(stream, _DRAWS, count) @ _root(about).T
    # a residual variance shared by all: over the root of an independent chi-square over its degrees of freedom
    df = about.inference.df
    share = chdtri(df, (np.arange(_DRAWS) + 0.5) / _DRAWS) / df
    order = np.argsort(stream.random_raw(_DRAWS), kind="stable")
    largest = np.sort(np.abs(normals).max(axis=1) / np.sqrt(share[order]))
    return min(float(largest[rank - 1]), bonferroni)


def _root(about: Contrasts) -> FloatArray:
    """Square root of the correlation matrix, shape (m, m); a combination without variance has its own direction."""
    covariance = about.L @ about.inference.covariance @ about.L.T
    sd = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    sd[sd == 0] = 1.0
    values, axes = np.linalg.eigh(covariance / np.outer(sd, sd))
    root: FloatArray = axes * np.sqrt(np.maximum(values, 0.0))
    return root
