"""Critical values for several intervals that shall hold together."""

from __future__ import annotations

import math
from typing import Final, Literal, get_args

import numpy as np

from discreet.analyst.equations.seeded import seeded_stream, standard_normals
from discreet.analyst.inference.contrasts import Contrasts
from discreet.analyst.values.estimates import ByName, Number
from discreet.analyst.values.not_estimable import mapped
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
    if rank > _DRAWS or not _drawn(about, way):
        return bonferroni
    return min(float(_largest(about, digest)[rank - 1]), bonferroni)


def simultaneous_tails(about: Contrasts, pvalues: ByName[Number], way: Simultaneous, digest: str) -> ByName[Number]:
    """P-values of several tests for all of them together: the smallest 1 - level whose sets exclude the value tested.

    Parameters
    ----------
    about
        The combinations, m of them.
    pvalues
        One by one, by the name of the combination.
    way, digest
        As for `simultaneous_value`.
    """
    largest = _largest(about, digest) if _drawn(about, way) else None

    def together(p: float) -> float:
        bonferroni = min(1.0, len(about.names) * p)
        if largest is None or p <= 0:
            return bonferroni
        beyond = _DRAWS - int(np.searchsorted(largest, about.critical(1 - p)))
        return min((beyond + 1) / (_DRAWS + 1), bonferroni)

    return ByName(tuple(pvalues), [mapped(p, together) for p in pvalues.values()])


def _drawn(about: Contrasts, way: Simultaneous) -> bool:
    """Whether the law of the largest error is drawn; else the value is Bonferroni's."""
    return way == "max-t" and len(about.names) > 1 and about.family != "laplace"


def _largest(about: Contrasts, digest: str) -> FloatArray:
    """Draws of the largest of the standardised errors, from small to large, shape (draws,)."""
    from scipy.special import chdtri

    stream = seeded_stream("max-t", digest)
    normals = standard_normals(stream, _DRAWS, len(about.names)) @ _root(about).T
    # a residual variance shared by all: over the root of an independent chi-square over its degrees of freedom
    df = about.inference.df
    share = chdtri(df, (np.arange(_DRAWS) + 0.5) / _DRAWS) / df
    order = np.argsort(stream.random_raw(_DRAWS), kind="stable")
    return np.sort(np.abs(normals).max(axis=1) / np.sqrt(share[order]))


def _root(about: Contrasts) -> FloatArray:
    """Square root of the correlation matrix, shape (m, m); a combination without variance has its own direction."""
    covariance = about.L @ about.inference.covariance @ about.L.T
    sd = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    sd[sd == 0] = 1.0
    values, axes = np.linalg.eigh(covariance / np.outer(sd, sd))
    root: FloatArray = axes * np.sqrt(np.maximum(values, 0.0))
    return root
