"""Release a noisy histogram, and fit a model to the centres of its cells. Proof: dpme.proof.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from discreet.accounting.fitted_models import cells_query
from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.privacy_maps import VERSION
from discreet.accounting.settings import DECLARED
from discreet.curator.sums.cell_counts import CellCounts, Partition
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import OptionError, UnsupportedError
from discreet.exact.arrays import FloatArray
from discreet.mechanisms.calibration import in_steps, queries_distribution
from discreet.mechanisms.protocol import MechanismInfo, Passes, RunContext
from discreet.mechanisms.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget, as_pair
from discreet.releases.fields import Coefficients

MAX_CELLS: Final = 2**20
# memory for exact counts, variates and noisy counts as Python integers, and for the arrays of the fit
_BYTES_PER_CELL: Final = 250
_COPIES_OF_CENTRES: Final = 3
MAX_MEGABYTES: Final = 512
_FEWEST_BINS: Final = 2
_HUBER_STEPS: Final = 500
_HUBER_CLOSE: Final = 1e-13


class PerturbedHistogram:
    """Histogram with noisy cell counts, and a model fitted to the centres of the cells."""

    name: Final = "dpme"
    version: Final = VERSION
    kind: Final[Literal["coefficients"]] = "coefficients"
    info: Final = MechanismInfo(
        summary="Noisy counts of cells of (x, y), then least squares or Huber regression on their centres.",
        document="technical report of Dandekar et al., which uses it for comparison",
        notion="both",
        domain="box",
        needs=(
            "few columns: the number of cells is a product over columns",
            "no radius, no spline and no interaction with a number",
        ),
        numerics="exact",
        references=("Lei 2011", "Huber 1964", "Canonne, Kamath & Steinke 2020"),
        settings=DECLARED["dpme"],
    )

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Calibrate the noise of the cell counts to the budget, and record the numbers of bins and cells."""
        epsilon, _ = as_pair(budget)
        if domain.norm2_bound < domain.box_norm2:
            raise UnsupportedError(
                f"the mechanism 'dpme' takes no radius, got radius = {domain.radius:g}; a radius would bias the fit "
                "without reducing the noise",
                option="radius",
                remedy="leave out the radius",
            )
        bins = public_bins(design, epsilon, settings)
        cells = Partition.of(design, bins).cells
        query = cells_query(design, cells)
        if settings["noise"] == "laplace":
            scale = in_steps("cells", query.laplace_sensitivity / epsilon, domain)
            distribution = NoiseDistribution(domain.grid_bits, {"cells": scale}, "pure", "discrete-laplace")
        else:
            distribution = queries_distribution(domain, budget, [(query, 1.0)])
        return replace(distribution, parameters={"bins": bins, "cells": cells})

    def passes(self, context: RunContext) -> Passes:
        """Count the rows in every cell in one pass, add noise to the counts, and fit the model."""
        partition = Partition.of(context.design, context.distribution.parameters["bins"])
        counted = yield CellCounts(context.domain, partition)
        noisy = self.randomise(counted.on_grid(context.distribution.unit), context.distribution, context.sampler)
        weights = np.array([total / context.distribution.unit for total in noisy])
        cells = BinnedModel.of(partition, weights, context.distribution.sd("cells"), intercept=context.design.intercept)
        huber = context.settings["loss"] == "huber"
        fitted = cells.huber(float(context.settings["threshold"])) if huber else cells.squares()
        values = fitted.tolist() if context.design.intercept else [0.0, *fitted.tolist()]
        return Coefficients(tuple(values))

    def randomise(self, totals: Sequence[int], distribution: NoiseDistribution, sampler: Sampler) -> list[int]:
        """Add an independent noise variate to each exact count, in unbounded integers."""
        scales = [distribution.sigma["cells"]] * len(totals)
        noise = sampler.laplace(scales) if distribution.family == "discrete-laplace" else sampler.draw(scales)
        return [total + variate for total, variate in zip(totals, noise, strict=True)]  # [P:cell-noise]


def public_bins(design: Design, epsilon: float, settings: Settings) -> int:
    """Return the number of intervals for each numeric column, which is the setting or follows from a public rule.

    The rule is (epsilon * expected_rows)^(1 / (2 + p)) for p numeric columns. An error is raised if there would be too
    many cells.

    >>> design = Design("y", {"x": (0, 1), "y": (0, 1)})
    >>> public_bins(design, 1.0, {"bins": 0, "expected_rows": 10_000})
    10
    """
    coarsest = Partition.of(design, 1)
    numbers, others = coarsest.numbers, coarsest.cells
    bins = int(settings["bins"])
    if bins == 1:
        raise OptionError(
            f"bins: expected at least {_FEWEST_BINS}, or 0 to compute it from epsilon and expected_rows; got 1",
            option="bins",
            given=1,
        )
    if bins == 0:
        wanted = math.ceil(round((epsilon * float(settings["expected_rows"])) ** (1 / (2 + numbers)), 9))
        fits = (MAX_CELLS / others) ** (1 / numbers) if numbers else 0.0
        bins = max(_FEWEST_BINS, min(wanted, math.floor(fits + 1e-9)))
        while bins > _FEWEST_BINS and _megabytes(design, bins) > MAX_MEGABYTES:
            bins -= 1
    cells = others * bins**numbers
    megabytes = _megabytes(design, bins)
    if cells > MAX_CELLS or megabytes > MAX_MEGABYTES:
        raise UnsupportedError(
            f"the histogram has too many cells: {bins} bins for each of {numbers} numeric columns, times the levels of "
            f"the other columns, give {_in_words(cells)} cells and about {_in_words(megabytes)} MB; at most "
            f"{MAX_CELLS:,} cells and {MAX_MEGABYTES:,} MB are allowed",
            option="bins",
            remedy="set fewer bins, declare fewer columns or levels, or use a mechanism that publishes moments",
        )
    return bins


def _megabytes(design: Design, bins: int) -> int:
    """Return the memory that a fit needs, in megabytes.

    It is an amount for each cell, plus several copies of the matrix of cell centres.
    """
    partition = Partition.of(design, bins)
    regressors = partition.axes[:-1]
    centres = math.prod(axis.cells for axis in regressors) * (1 + sum(axis.columns for axis in regressors))
    return (partition.cells * _BYTES_PER_CELL + centres * 8 * _COPIES_OF_CENTRES) >> 20


def _in_words(number: int) -> str:
    return f"{number:,}" if number < 10**12 else f"at least 2^{number.bit_length() - 1}"


@dataclass(frozen=True, eq=False)
class BinnedModel:
    """Weighted observations, one for each histogram cell, computed from noisy counts only.

    Attributes
    ----------
    x
        Cell centres of the regressors, shape (c, k). The first column is the constant if there is an intercept.
    y
        Cell centres of the target, shape (m,).
    weights
        Noisy counts, shape (c, m). Negative counts are not replaced, so that sums of counts stay unbiased.
    noise_norm
        Bound on the norm of the noise in X'WX, which holds with probability 95%.
    """

    x: FloatArray
    y: FloatArray
    weights: FloatArray
    noise_norm: float

    @classmethod
    def of(cls, partition: Partition, weights: FloatArray, sd: float, *, intercept: bool) -> BinnedModel:
        """Build the observations from cell counts whose noise has standard deviation `sd`."""
        x = partition.regressor_centres()[:, 0 if intercept else 1 :]
        y = partition.target_centres()
        # a Gaussian series sum g_c A_c, A_c = z z', has norm at most sqrt(2 |sum A_c^2| log(2k / 0.05)) with 95%
        squares = (x * (x * x).sum(axis=1, keepdims=True)).T @ x * len(y)
        norm = sd * math.sqrt(2 * float(np.linalg.eigvalsh(squares)[-1]) * math.log(2 * x.shape[1] / 0.05))
        return cls(x, y, weights.reshape(len(x), len(y)), norm)

    def squares(self) -> FloatArray:
        """Fit weighted least squares, after raising eigenvalues that noise may dominate."""
        values, vectors, shift = self._spectrum()
        right = self.x.T @ (self.weights @ self.y)
        solved: FloatArray = vectors @ ((vectors.T @ right) / np.maximum(values + shift, self.noise_norm))
        return solved

    def huber(self, threshold: float) -> FloatArray:
        """Fit Huber regression by steps with a fixed curvature matrix, which start at the least-squares solution.

        Negative counts are not replaced, so that the noise of the score is unbiased. If all weights are nonnegative,
        every step lowers the loss. Otherwise the loss need not be convex, and the result is the point reached after a
        bounded number of steps.
        """
        values, vectors, shift = self._spectrum()
        curvature = np.maximum(values, 0.0) + shift
        fitted = self.squares()
        for _ in range(_HUBER_STEPS):
            residuals = np.clip(self.y - (self.x @ fitted)[:, None], -threshold, threshold)
            score = self.x.T @ (self.weights * residuals).sum(axis=1) - shift * fitted
            step = vectors @ ((vectors.T @ score) / curvature)
            fitted = fitted + step
            if np.abs(step).max() <= _HUBER_CLOSE:
                break
        return fitted

    def _spectrum(self) -> tuple[FloatArray, FloatArray, float]:
        """Return the eigenvalues and eigenvectors of the noisy Gram matrix, and the number to add to its diagonal."""
        values, vectors = np.linalg.eigh((self.x * self.weights.sum(axis=1, keepdims=True)).T @ self.x)
        return values, vectors, max(0.0, self.noise_norm - float(values[0]))


MECHANISM: Final = PerturbedHistogram()
