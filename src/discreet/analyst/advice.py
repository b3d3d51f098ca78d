"""Say what would help a fit whose confidence sets are mostly unbounded, or wide because of privacy noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from discreet.analyst.confidence_sets import REMEDY, known_values
from discreet.analyst.values import bounded
from discreet.design.model_columns import has_all_regressors
from discreet.privacy.gaussian_dp import epsilon_from, mu_from
from discreet.releases.fields import released_count
from discreet.releases.release import Release
from discreet.releases.staged_rules import effective_mu
from discreet.wording import Message, Option, SetOption

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit

# rows times mu for each coefficient from which `staged` bounds nine in ten sets, for numbers with correlations up to
# 1/2 (unbalanced levels and stronger correlations need more); `tests/studies/test_study_staged.py`
ROWS_TIMES_MU: Final = 40.0
# part of the variance that is privacy noise from which a set counts as wide: it is twice as long as without noise
_WIDE: Final = 0.75
# from here on the part that is not noise is too small to tell how many rows would help
_NEARLY_ALL: Final = 0.999
# an epsilon above this hardly protects, so it is not advised
_LARGEST_EPSILON: Final = 8.0
_STAGED: Final = "staged"


def advice(fit: Fit, level: float) -> str | None:
    """Return what would help if most sets of a fit are unbounded or wide, with numbers, or None.

    All numbers come from released quantities and public planning.
    """
    if fit.penalised or fit.fitted_inside or fit.release.noise.family != "discrete-gaussian":
        return None
    sets = fit.conf_int(level)
    unbounded = [name for name, ends in sets.items() if not bounded(ends)]
    if 2 * len(unbounded) > len(sets):
        return _for_unbounded(fit)
    shares = known_values(fit.privacy_share)
    wide = [share for name, share in shares.items() if bounded(sets[name]) and share >= _WIDE]
    return _for_wide(fit, sorted(wide)[len(wide) // 2]) if 2 * len(wide) > len(sets) else None


def _for_unbounded(fit: Fit) -> str:
    """Say what would bound the sets, in the order of what costs least."""
    release, count = fit.release, released_count(fit.release)
    start = "The release bounds few of the coefficients or none. "
    information = None if count is None else _information(release, count.value)
    predictions = ["For predictions, ", SetOption("penalty", REMEDY), *_with_refined(release), "."]
    if information is None:
        return Message(start, *predictions)
    size = len(release.columns) - 1
    needed, most = size * ROWS_TIMES_MU, math.floor(information / ROWS_TIMES_MU)
    factor = needed / max(information, 1.0)
    if release.staged is None:
        return Message(start, *predictions, *_with_staged(release, size, factor))
    if factor <= 1:
        return Message(
            start,
            *predictions,
            " For bounded intervals: centre a number before it is squared or multiplied by another column, and leave "
            "out columns that are nearly combinations of others. Otherwise use about twice the rows.",
        )
    fewer = f"release at most {most} coefficients instead of {size}, or " if most > 1 else ""
    return Message(
        start,
        *predictions,
        f" For bounded intervals: {fewer}use about {_rounded(factor * _rows(release))} rows"
        f"{_or_epsilon(release, factor)}. In simulations nine in ten sets are bounded with this many rows.",
    )


def _with_refined(release: Release) -> list[object]:
    """Return what the mechanism 'refined' would do, where it can be used."""
    design = release.design
    if design.weights is not None or release.curators is not None or not (design.intercept or design.centred):
        return []
    return [", or release with ", Option("mechanism", "refined"), ", which spends the whole budget on one line"]


def _with_staged(release: Release, size: int, factor: float) -> list[object]:
    """Describe what to expect of 'staged' if it could have been used instead of the mechanism of a release."""
    design = release.design
    if design.weights is not None or design.radius is not None or release.curators is not None:
        return []
    named = Option("mechanism", _STAGED)
    if factor <= 1:
        return [" For intervals, release with ", named, f": the rows are enough for its {size} coefficients."]
    return [
        " For intervals, release with ", named,
        f" from about {_rounded(factor * _rows(release))} rows{_or_epsilon(release, factor)} on, or with fewer "
        "columns.",
    ]  # fmt: skip


def _for_wide(fit: Fit, share: float) -> str:
    """Say at how many rows or which epsilon privacy noise would be half of the variance, to first order."""
    release = fit.release
    start: list[object] = [f"Privacy noise is more than {_WIDE:.0%} of the variance of most coefficients."]
    if share < _NEARLY_ALL:
        ratio = share / (1 - share)
        changes = f"about {_rounded(ratio * _rows(release))} rows{_or_epsilon(release, math.sqrt(ratio))}"
        start.append(f" It would be half of it or less with {changes}.")
    if release.staged is None and release.guarantee is not None and release.design.weights is None:
        start += [" Or release with ", Option("mechanism", _STAGED), ", in which bounds that are too wide cost little."]
    elif release.staged is not None and not has_all_regressors(release.design, fit.features):
        start.append(" A release of these features alone would have less noise: the declared model has the least.")
    return Message(*start, " For predictions, ", SetOption("penalty", REMEDY), ".")


def _rows(release: Release) -> float:
    """Return the released number of rows, at least 1."""
    count = released_count(release)
    return 1.0 if count is None else max(count.value, 1.0)


def _information(release: Release, rows: float) -> float | None:
    """Return rows times mu of one row, or None if mu is not known."""
    if release.staged is not None:
        return rows * effective_mu(release.noise, release.design)
    guarantee, unit = release.guarantee, release.design.unit
    if guarantee is None or not guarantee.delta > 0:
        return None
    replaced = 2.0 if unit.neighbours == "replace" else 1.0
    return rows * mu_from(guarantee.epsilon, guarantee.delta) / (unit.max_rows * replaced)


def _or_epsilon(release: Release, factor: float) -> str:
    """Return the epsilon whose mu is this many times as large, or nothing if it would hardly protect."""
    guarantee = release.guarantee
    if guarantee is None or not guarantee.delta > 0:
        return ""
    mu = factor * mu_from(guarantee.epsilon, guarantee.delta)
    epsilon = epsilon_from(mu, guarantee.delta) if mu < _LARGEST_EPSILON else math.inf
    return f", or epsilon {epsilon:.2g}" if epsilon <= _LARGEST_EPSILON else ""


def _rounded(rows: float) -> str:
    """Format a number of rows with two digits.

    >>> _rounded(12_345.0)
    '12,000'
    """
    digits = max(math.floor(math.log10(max(rows, 1.0))) - 1, 0)
    return f"{round(rows / 10**digits) * 10**digits:,.0f}"
