"""Parts of a release beside its moments: settings, coefficients, what robust standard errors need."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Coefficients:
    """What a mechanism publishes that fits one model inside the wall.

    Attributes
    ----------
    values
        Scaled coefficients of (1, x), the constant first; the constant is 0 in a design without intercept.
    trace
        Released coefficients after each pass, in order, where the mechanism publishes its way.
    ranges
        Where the mechanism clipped each released column of x, in scaled units, in order, if it did so closer than the
        declared bounds. A prediction clips there too, and is itself cut to the bounds of the target.
    """

    values: tuple[float, ...]
    trace: tuple[tuple[float, ...], ...] = ()
    ranges: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class ScalingPart:
    """Released numbers by which rows were scaled and weighted, all in scaled units of the declared columns.

    A row has z = (x - centre) / scale, the weight w = min(1, radius / norm of (1, z)), a = w (1, z) / radius and
    t = w (y - target_centre) / target_bound, clipped to [-1, 1]; the moments of the release are those of (a, t).

    Attributes
    ----------
    centres, scales
        One for each released column of x.
    radius
        Of (1, z).
    target_centre, target_bound
        Of the target.
    fourth
        Upper triangle of the noisy sum of w^2 a a', row by row, on the product grid, which plain standard errors need;
        empty in a release that has residuals instead.
    target_clipped
        Noisy numbers of rows whose t was clipped from below and from above, on the product grid; empty for a boolean
        target, which is never clipped.
    """

    centres: tuple[float, ...]
    scales: tuple[float, ...]
    radius: float
    target_centre: float
    target_bound: float
    fourth: tuple[int, ...] = ()
    target_clipped: tuple[int, ...] = ()


@dataclass(frozen=True)
class RatioPart:
    """What a robust interval of R^2 needs: a noisy sum of q^2, q = residual^2 - ratio (target - mean)^2, scaled.

    Attributes
    ----------
    ratio, mean
        Residual variance over that of the target, and mean of the scaled target, both read off the noisy moments.
    bound
        Where q was clipped, in squared scaled units of the target.
    total
        Noisy sum of (q / bound)^2 on the product grid.
    """

    ratio: float
    mean: float
    bound: float
    total: int


@dataclass(frozen=True)
class ResidualPart:
    """What robust standard errors need: a noisy sum of squared residuals times products of (1, x).

    Attributes
    ----------
    coefficients
        Scaled coefficients of (1, x), read off the noisy moments, at which the residuals were taken.
    bound
        Where residuals were clipped, in scaled units of the target: declared, or read off the noisy moments.
    totals
        Upper triangle of the noisy sum of v v', v = (residual / bound) * (1, x), row by row, on the product grid.
    ratio
        For the interval of R^2 of the full model; releases made by earlier versions have none.
    further
        The same for each further model that was declared, in the order of `NoiseLaw.models`, over its own features.
    """

    coefficients: tuple[float, ...]
    bound: float
    totals: tuple[int, ...]
    ratio: RatioPart | None = None
    further: tuple[ResidualPart, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """The part as plain values for JSON, integers as decimal text."""
        plain: dict[str, object] = {
            "coefficients": list(self.coefficients),
            "bound": self.bound,
            "totals": [str(total) for total in self.totals],
        }
        if self.ratio is not None:
            ratio = self.ratio
            plain["ratio"] = {
                "ratio": ratio.ratio, "mean": ratio.mean, "bound": ratio.bound, "total": str(ratio.total),
            }  # fmt: skip
        return plain | ({"further": [one.to_dict() for one in self.further]} if self.further else {})


@dataclass(frozen=True)
class GuardPart:
    """What a guard released before anything else.

    Attributes
    ----------
    sigma
        Scale of the noise of both counts, in steps of the product grid.
    fitting, other
        Noisy numbers of rows that fit the design and of rows that its rules drop, on the product grid.
    """

    sigma: int
    fitting: int
    other: int


@dataclass(frozen=True, slots=True)
class NoisyCount:
    """A number of rows with noise of a standard deviation: it may lie below 0 or above the number of rows."""

    value: float
    sd: float

    @property
    def words(self) -> str:
        """The number in print: a noisy one to whole rows and never as if it were exact.

        >>> NoisyCount(20_074.3, 24.41).words, NoisyCount(500.0, 0.0).words
        ('about 20,074 (noisy count, standard deviation 24.4)', '500')
        """
        rows = f"{round(self.value):,}"
        return f"about {rows} (noisy count, standard deviation {self.sd:.3g})" if self.sd > 0 else rows


@dataclass(frozen=True, slots=True)
class TargetClipping:
    """Released bounds at which private scaling clipped the target, and noisy numbers of rows clipped there.

    Attributes
    ----------
    bounds
        In original units, of a row of weight 1. A row of weight w keeps values 1 / w times as far from their middle.
    below, above
        Rows clipped from below and from above.
    """

    bounds: tuple[float, float]
    below: NoisyCount
    above: NoisyCount

    def inside(self, declared: tuple[float, float]) -> tuple[float, float]:
        """Give the part of the bounds that is inside the declared ones, to which values are clipped before."""
        return max(self.bounds[0], declared[0]), min(self.bounds[1], declared[1])

    def to_dict(self) -> dict[str, object]:
        """Give the bounds and counts as plain values for JSON."""
        counts = {"below": self.below, "above": self.above}
        return {"bounds": list(self.bounds)} | {k: {"count": one.value, "sd": one.sd} for k, one in counts.items()}
