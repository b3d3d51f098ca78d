"""The Gram that a penalty acts on: the intercept partialled out, its smallest eigenvalue and the size of its noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.analyst.equations.noise_norm import noise_norm_quantile
from discreet.analyst.equations.normal import NormalEquations
from discreet.exact.arrays import FloatArray

_ROWS_IN_SDS: Final = 3  # below this many standard deviations of its noise a count is no count


@dataclass(frozen=True, eq=False)
class PenalisedGram:
    """Normal equations of the coefficients that a penalty may shrink to 0, m of the k.

    Attributes
    ----------
    gram, right, square
        Sums of products of their columns, of these with the target, and of the target with itself, in released units;
        shapes (m, m) and (m,).
    noise_map
        Shape (m+1, k+1): what these columns and the target are of the released ones, (1, features, target), to first
        order.
    noise_norm
        95% quantile of the operator norm of the noise in `gram`; 0 where there is none.
    smallest
        Smallest eigenvalue of `gram`; infinite for m = 0.
    penalised
        Which of the k coefficients these are.
    """

    gram: FloatArray
    right: FloatArray
    square: float
    noise_map: FloatArray
    noise_norm: float
    smallest: float
    penalised: npt.NDArray[np.bool_]


def penalised_gram(equations: NormalEquations, digest: str, *, whole: bool = False) -> PenalisedGram:
    """Partial the intercept out and measure what is left against its noise, from released quantities only.

    With m the noisy means of the features the Gram is A - n m m' and its noise, to first order,
    E - e m' - m e' + e_n m m'. Where the noisy count of rows is no larger than three standard deviations of its noise
    there are no means to speak of, and the intercept stays among the coefficients that are shrunk to 0.

    Parameters
    ----------
    equations
        Of the model.
    digest
        Fingerprint of the release, which seeds the simulated quantile.
    whole
        Whether the intercept stays among them in any case.
    """
    count = equations.A[0, 0] if equations.intercept else 0.0
    penalised = np.ones(len(equations.A), dtype=np.bool_)
    if not equations.intercept:
        moments = equations.moments
        noise_map = np.column_stack([equations.shift, np.eye(len(moments))])
    elif not whole and count > _ROWS_IN_SDS * equations.block_sd[0, 0]:
        penalised[0] = False
        moments = _partialled(equations)
        means = equations.moments[0, 1:] / count
        # the true means lie in the public range; noisy ones beyond it would overstate the noise
        noise_map = np.column_stack([-np.clip(means, equations.low, equations.high), np.eye(len(moments))])
    else:
        moments = equations.moments
        noise_map = np.eye(len(moments))
    gram, right, square = moments[:-1, :-1], moments[:-1, -1], float(moments[-1, -1])
    if len(gram) == 0:
        return PenalisedGram(gram, right, square, noise_map, 0.0, math.inf, penalised)
    feature_map = noise_map[:-1, :-1]
    noise_norm = noise_norm_quantile(equations.noise.without_last(), feature_map, digest, equations.law)
    smallest = float(np.linalg.eigvalsh(gram)[0])
    return PenalisedGram(gram, right, square, noise_map, noise_norm, smallest, penalised)


def _partialled(equations: NormalEquations) -> FloatArray:
    """Take the means out in integers: in doubles a narrow column inside wide bounds would lose its digits."""
    whole = equations.whole
    count = whole[0, 0]
    times_count = whole[1:, 1:] * count - np.outer(whole[1:, 0], whole[0, 1:])
    moments: FloatArray = (times_count / (count * equations.unit)).astype(np.float64)
    return moments
