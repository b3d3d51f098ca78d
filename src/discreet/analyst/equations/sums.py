"""What a release holds for a model: which sums are there, and how many rows are behind them."""

from __future__ import annotations

from typing import Final

from discreet.analyst.equations.selection import SubModel
from discreet.analyst.values.estimates import Number
from discreet.analyst.values.not_estimable import NotEstimable
from discreet.errors import SpecError
from discreet.releases import BLOCKS, Release, block_of
from discreet.releases.noise_mean import centred as centred
from discreet.releases.noise_mean import released_count

NO_SQUARE: Final = NotEstimable(
    "the release holds no sum of squares of the target, so the spread of the errors is not known; for standard errors "
    "release that sum too: with the setting target_square, or with the mechanism 'gaussian' or 'laplace'"
)
NO_COUNT: Final = NotEstimable("a release of coefficients holds no number of rows")
_WORDS: Final = {
    "sum_x": "sums of the regressors",
    "sum_y": "sum of the target",
    "gram_off_diagonal": "products of two regressors",
    "target_square": "sum of squares of the target",
}


def check_moments(release: Release, what: str) -> None:
    """Refuse a release that holds no sums, with what was asked for."""
    if release.kind != "moments":
        raise SpecError(
            f"{what} needs sums of products, but the mechanism {release.mechanism!r} published only the coefficients "
            "of one model; read that one with `discreet fit` or discreet.fit, or release with the mechanism "
            "\"gaussian\" (--mechanism gaussian) or another of kind 'moments'"
        )


def check_sums(release: Release, model: SubModel, *, moved: bool) -> None:
    """Refuse a model for which the release lacks a sum, and name it.

    Parameters
    ----------
    release, model
        What is asked of what.
    moved
        Whether the model moves columns to another origin, for which it needs their sums.
    """
    check_moments(release, "this model")
    if release.noise.sigma.keys() >= set(BLOCKS):
        return
    size = len(release.columns)
    regressors = [0, *model.positions] if model.intercept or moved else list(model.positions)
    pairs = [(i, j) for index, i in enumerate(regressors) for j in regressors[index:]]
    pairs += [(i, model.target_position) for i in regressors]
    for pair in pairs:
        block = block_of(min(pair), max(pair), size)
        if block not in release.noise.sigma:
            words = _WORDS.get(block, "sums")
            raise SpecError(
                f"the release holds no {words} ({block}), which {_why(release, model, block)} needs; the mechanism "
                f"{release.mechanism!r} leaves it out. Ask for another model, or release with a mechanism "
                "that publishes all sums, such as 'gaussian' or 'laplace'"
            )


def _why(release: Release, model: SubModel, block: str) -> str:
    if block == "target_square":
        return f"a model with {release.design.target!r} among its features"
    if model.intercept:
        return "a model with an intercept"
    return "a line through the origin of columns whose bounds are not symmetric around 0"


def counted_rows(release: Release) -> tuple[Number, float]:
    """Number of rows as far as it was released, and the standard deviation of its noise; 0 where it is public."""
    count = released_count(release)
    return (NO_COUNT, 0.0) if count is None else (count.value, count.sd)
