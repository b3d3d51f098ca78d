"""Print and plot the result of membership attacks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import rankdata

from discreet.analyst.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PANELS,
    VERMILION,
    budget_words,
    house_style,
    open_axes,
)
from discreet.audit.judging import Claim, lower_limit, upper_limit
from discreet.exact.arrays import FloatArray
from discreet.pages.attacker import gaussian_power, largest_power

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# -- curves ------------------------------------------------------------------------------------------------------------
# How often a test may find a row that is there, for every rate of false alarms: what a promise allows.
#
# A test with false alarms at the rate alpha finds at most 1 - f(alpha), f the trade-off function of the promise [Dong,
# Roth & Su 2022]. For (epsilon, delta) it is made of two straight lines, for mu-Gaussian privacy it is
# Phi(Phi^-1(alpha) + mu); the least of all that is proved holds.


def allowed_power(false_alarms: npt.ArrayLike, claim: Claim) -> FloatArray:
    """Largest power that epsilon and delta of a claim allow.

    >>> [round(float(power), 4) for power in allowed_power([0.01, 0.5], Claim(1.0))]
    [0.0272, 0.8161]
    """
    return np.array([largest_power(float(one), claim.epsilon, claim.delta) for one in np.atleast_1d(false_alarms)])


def own_power(false_alarms: npt.ArrayLike, claim: Claim) -> FloatArray:
    """Largest power by the Gaussian curve that is claimed too; where none is, what epsilon and delta allow.

    >>> round(float(own_power(0.05, Claim(9.0, 0.0, 1.0))[0]), 4)
    0.2595
    """
    allowed = allowed_power(false_alarms, claim)
    if claim.mu is None:
        return allowed
    # no quantile belongs to a rate of 0
    rates = np.maximum(np.atleast_1d(false_alarms), math.ulp(0.0))
    return np.minimum(allowed, [gaussian_power(float(one), claim.mu, claim.gap) for one in rates])


def allowed_area(claim: Claim) -> float:
    """Area below the curve that epsilon and delta allow: the largest chance to order a table with the row first.

    >>> round(allowed_area(Claim(1.0)), 6), round(allowed_area(Claim(1.0, 0.5)), 6)
    (0.731059, 0.932765)
    """
    # the curve is straight between these
    corner = (1 - claim.delta) / (1 + math.exp(claim.epsilon))
    rates = np.array([0.0, corner, 1 - claim.delta, 1.0])
    return float(np.trapezoid(allowed_power(rates, claim), rates))


def gaussian_area(mu: float) -> float:
    """Area below the curve of mu-Gaussian privacy: Phi(mu / sqrt(2)).

    >>> round(gaussian_area(0.0), 3), round(gaussian_area(1.0), 4)
    (0.5, 0.7602)
    """
    return 0.5 * math.erfc(-mu / 2)


# -- roc ---------------------------------------------------------------------------------------------------------------
# The errors of a test that was run many times: false alarms, rows found, and limits that hold for all thresholds.

_SMALL: Final = np.geomspace(1e-3, 0.4, 12)
# rates of false alarms that thresholds are made for, before anything is drawn
RATES: Final = np.concatenate([_SMALL, [0.5], 1 - _SMALL[::-1]])
_SIDES: Final = 4


@dataclass(frozen=True)
class Roc:
    """What a test did on draws for a table with the row, and for one without.

    Attributes
    ----------
    false_alarms, found
        Shares of the draws in which the test said that the row is there, at each threshold: without it, and with it.
    false_alarms_low, false_alarms_high, found_low, found_high
        Clopper-Pearson limits, right for all thresholds together at the stated probability.
    area
        Below the curve: the share of pairs of draws that the test puts in the right order.
    found_at_one_percent
        Share found at the threshold that one percent of the draws without the row exceed.
    """

    false_alarms: FloatArray
    found: FloatArray
    false_alarms_low: FloatArray
    false_alarms_high: FloatArray
    found_low: FloatArray
    found_high: FloatArray
    area: float
    found_at_one_percent: float

    def certified_above(self, claim: Claim) -> FloatArray:
        """By how much more is found for certain than the claim allows, at each threshold; 0 where nothing is."""
        excess: FloatArray = np.maximum(self.found_low - own_power(self.false_alarms_high, claim), 0.0)
        return excess


def thresholds(mu: float) -> FloatArray:
    """Thresholds of the logarithm of a likelihood ratio of these false alarms, if its law is Gaussian; and 0.

    Without the row it has mean -mu^2/2 and standard deviation mu. At 0 the table with the row is as likely as the one
    without, so that outputs without any noise are on either side.

    >>> len(thresholds(1.0)) == len(RATES) + 1, bool((np.diff(thresholds(1.0)) < 0).all())
    (True, True)
    """
    gaussian = -mu * ndtri(RATES) - mu * mu / 2
    return np.sort(np.append(gaussian, 0.0))[::-1]


def measured(with_row: FloatArray, without_row: FloatArray, cuts: FloatArray, alpha: float) -> Roc:
    """The errors of a test from its scores; its limits are all right with probability of at least 1 - alpha.

    Parameters
    ----------
    with_row, without_row
        Scores of independent draws for the two tables; the larger, the more likely is the row there.
    cuts
        Thresholds, chosen without looking at these draws.
    alpha
        Probability that any limit is wrong.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> found = measured(rng.normal(1, 1, 4000), rng.normal(0, 1, 4000), np.linspace(-1, 2, 7), 0.01)
    >>> abs(found.area - 0.76) < 0.02, bool((found.found_low < found.found).all())
    (True, True)
    """
    level = alpha / (_SIDES * len(cuts))
    hits, alarms = ((side[:, None] > cuts).sum(axis=0) for side in (with_row, without_row))
    here, there = len(with_row), len(without_row)
    return Roc(
        false_alarms=alarms / there,
        found=hits / here,
        false_alarms_low=lower_limit(alarms, there, level),
        false_alarms_high=upper_limit(alarms, there, level),
        found_low=lower_limit(hits, here, level),
        found_high=upper_limit(hits, here, level),
        area=_area(with_row, without_row),
        found_at_one_percent=float(np.mean(with_row > np.quantile(without_row, 0.99, method="higher"))),
    )


def certain(*, known: bool) -> Roc:
    """The errors of a test that always knows, or never knows anything.

    >>> certain(known=True).area, certain(known=False).area
    (1.0, 0.5)
    """
    rates = np.array([0.0, 0.0, 1.0]) if known else np.array([0.0, 0.5, 1.0])
    found = np.array([0.0, 1.0, 1.0]) if known else rates
    return Roc(rates, found, rates, rates, found, found, 1.0 if known else 0.5, 1.0 if known else 0.01)


def _area(with_row: FloatArray, without_row: FloatArray) -> float:
    """Mann and Whitney's statistic, as a share of all pairs."""
    ranks = rankdata(np.concatenate([with_row, without_row]))[: len(with_row)]
    pairs = len(with_row) * len(without_row)
    return float((ranks.sum() - len(with_row) * (len(with_row) + 1) / 2) / pairs)


# -- result ------------------------------------------------------------------------------------------------------------
# What attacks on membership found, beside what promises allow: in a table, as JSON and as sentences.

NOT_PRIVATE: Final = "least squares, NOT PRIVATE"
ONE_PERCENT: Final = 0.01
MEMBERSHIP_HEADERS: Final = (
    "published",
    "row",
    "area",
    "Gaussian",
    "allowed",
    "found at 1%",
    "Gaussian",
    "allowed",
    "verdict",
)


@dataclass(frozen=True)
class Attack:
    """One attacker: something that was published, and a row that may be in the table.

    Attributes
    ----------
    published
        What was published.
    row
        Which row the attacker asks about.
    claim
        What is promised; none for what is NOT PRIVATE.
    mu
        Distance of the two tables in standard deviations of the noise, exactly; none without noise.
    digits
        For coefficients without noise: digits from which on they differ; none for a release.
    roc
        How the attacker did.
    draws
        Releases of each of the two tables.
    """

    published: str
    row: str
    claim: Claim | None
    mu: float | None
    digits: int | None
    roc: Roc
    draws: int

    @property
    def violations(self) -> tuple[str, ...]:
        """What contradicts the promise, one sentence each."""
        return tuple(self._violations())

    @property
    def verdict(self) -> str:
        """`pass`, `violation`, or `no promise` for what is NOT PRIVATE."""
        if self.claim is None:
            return "no promise"
        return "violation" if self.violations else "pass"

    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        areas, found = self._areas(), self._found()
        numbers = [("" if one is None else f"{one:.3f}") for one in (*areas, *found)]
        return (self.published, self.row, *numbers, self.verdict)

    def to_dict(self) -> dict[str, object]:
        """The attack as plain values."""
        areas, found = self._areas(), self._found()
        claim, roc = self.claim, self.roc
        return {
            "published": self.published,
            "row": self.row,
            "private": claim is not None,
            "claimed": None if claim is None else {"epsilon": claim.epsilon, "delta": claim.delta, "mu": claim.mu},
            "mu": self.mu,
            "digits": self.digits,
            "area": dict(zip(("measured", "gaussian", "allowed"), areas, strict=True)),
            "found_at_one_percent": dict(zip(("measured", "gaussian", "allowed"), found, strict=True)),
            "false_alarms": roc.false_alarms.tolist(),
            "found": roc.found.tolist(),
            "false_alarms_limits": [roc.false_alarms_low.tolist(), roc.false_alarms_high.tolist()],
            "found_limits": [roc.found_low.tolist(), roc.found_high.tolist()],
            "draws": self.draws,
            "verdict": self.verdict,
            "violations": list(self.violations),
        }

    def _areas(self) -> tuple[float, float | None, float | None]:
        claim = self.claim
        if claim is None:
            return self.roc.area, None, None
        return self.roc.area, None if claim.mu is None else gaussian_area(claim.mu), allowed_area(claim)

    def _found(self) -> tuple[float, float | None, float | None]:
        claim = self.claim
        if claim is None:
            return self.roc.found_at_one_percent, None, None
        own = None if claim.mu is None else float(own_power(ONE_PERCENT, claim)[0])
        return self.roc.found_at_one_percent, own, float(allowed_power(ONE_PERCENT, claim)[0])

    def _violations(self) -> Iterator[str]:
        claim, roc = self.claim, self.roc
        if claim is None:
            return
        if self.mu is not None and claim.mu is not None and self.mu > claim.mu:
            yield f"the row moves the sums by {self.mu:.6g} standard deviations of the noise, claimed {claim.mu:.6g}"
        excess = roc.certified_above(claim)
        if excess.any():
            at = int(np.argmax(excess))
            allowed = float(own_power(roc.false_alarms_high[at], claim)[0])
            yield (
                f"the row is found in at least {roc.found_low[at]:.2%} of the releases at "
                f"{roc.false_alarms_high[at]:.2%} false alarms or fewer; the promise allows {allowed:.2%}"
            )


@dataclass(frozen=True)
class MembershipResult:
    """All attacks on membership.

    Attributes
    ----------
    attacks
        Without noise, NOT PRIVATE, first; then releases by epsilon; each for every row that was asked about.
    table
        Name of the public table, with a note where it is simulated.
    confidence
        All limits together are right with this probability.
    seconds
        CPU time.
    """

    attacks: tuple[Attack, ...]
    table: str
    confidence: float
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether no promise was refuted."""
        return not any(attack.violations for attack in self.attacks)

    def sentences(self) -> tuple[str, ...]:
        """Violations, what the columns say, and what a pass says."""
        wrong = [
            f"VIOLATION  {one.published}, {one.row}: {sentence}" for one in self.attacks for sentence in one.violations
        ]
        digits = [
            f"{NOT_PRIVATE}: the {one.row} shows from {one.digits} significant digits of the coefficients on."
            for one in self.attacks
            if one.digits is not None
        ]
        return (
            *wrong,
            *digits,
            f"Table: {self.table}. The attacker knows all other rows, the row itself and the law of the noise, and "
            "uses the exact likelihood ratio of what is published. Area 0.5 is guessing. Found at 1%: how often a row "
            "that is there is found, with 1% false alarms. Gaussian: the most that the mechanism's own curve allows. "
            "Allowed: the most that epsilon and delta allow.",
            f"False alarms of this audit: at most {1 - self.confidence:.2g} for all attacks together. A pass is not a "
            "proof.",
        )

    def summary(self) -> str:
        """Table, violations and explanations, as text."""
        rows = [MEMBERSHIP_HEADERS, *(attack.cells() for attack in self.attacks)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, "", *self.sentences(), ""])

    def to_dict(self) -> dict[str, object]:
        """All of it as plain values."""
        return {
            "passed": self.passed,
            "confidence": self.confidence,
            "seconds": self.seconds,
            "table": self.table,
            "attacks": [attack.to_dict() for attack in self.attacks],
            "note": self.sentences()[-1],
        }


# -- picture -----------------------------------------------------------------------------------------------------------
# The picture of attacks on membership: rows found against false alarms, and the curves that promises allow.

# colour, dash and width
_LOOKS: Final = {
    "least squares, NOT PRIVATE": (VERMILION, "-", 2.0),
    "epsilon and delta allow": (BLACK, "--", 1.4),
    "the mechanism's curve allows": (ORANGE, "-", 2.6),
    "worst row, measured": (BLUE, "-", 1.2),
    "typical row, measured": (GREEN, "-.", 1.4),
    "guessing": (GREY, ":", 1.2),
}
_PANEL: Final = 4.1  # inches
_ACROSS: Final = 2  # as wide as a page leaves room for
_RATES: Final = np.linspace(0, 1, 401)
_LABEL_X: Final = 0.39
_LABEL_STEP: Final = 0.064


def membership_picture(result: MembershipResult) -> Figure:
    """A panel for each budget, with both rows, what is allowed, and least squares without noise, NOT PRIVATE.

    Raises
    ------
    SpecError
        Where matplotlib is not installed; the extra `plots` brings it.
    """
    with house_style("the picture of an audit", size=PANELS):
        return _drawn(result)


def _drawn(result: MembershipResult) -> Figure:
    from matplotlib.figure import Figure

    budgets = list(dict.fromkeys(one.claim for one in result.attacks if one.claim is not None))
    across = min(max(len(budgets), 1), _ACROSS)
    down = max(-(-len(budgets) // across), 1)
    picture = Figure(figsize=(_PANEL * across, _PANEL * down + 0.4), layout="constrained")
    bare = [one for one in result.attacks if one.claim is None]
    panels = picture.subplots(down, across, squeeze=False).ravel().tolist()
    for axes, claim in zip(panels, budgets, strict=False):
        _panel(axes, claim, [one for one in result.attacks if one.claim == claim], bare)
    for axes in panels[len(budgets) :]:
        axes.set_axis_off()
    picture.suptitle(
        f"Who is in the table? {result.table}; measured with limits at {result.confidence:.0%} together", fontsize=10
    )
    return picture


def _panel(axes: Axes, claim: Claim, attacks: Sequence[Attack], bare: Sequence[Attack]) -> None:
    lines: dict[str, tuple[FloatArray, FloatArray]] = {}
    for one in bare[:1]:
        lines[one.published] = one.roc.false_alarms, one.roc.found
    lines["epsilon and delta allow"] = _RATES, allowed_power(_RATES, claim)
    if claim.mu is not None:
        lines["the mechanism's curve allows"] = _RATES, own_power(_RATES, claim)
    for one in attacks:
        name, roc = f"{one.row}, measured", one.roc
        lines[name] = _closed(roc.false_alarms), _closed(roc.found)
        # right for every threshold at once; between two thresholds the lower limit is too, as the curve is concave
        colour = _LOOKS[name][0]
        low = np.interp(_RATES, _closed(roc.false_alarms_high), _closed(roc.found_low))
        high = np.interp(_RATES, _closed(roc.false_alarms_low), _closed(roc.found_high))
        axes.fill_between(_RATES, low, high, color=colour, alpha=0.18, linewidth=0)
    lines["guessing"] = _RATES, _RATES
    for name, (x, y) in lines.items():
        colour, dash, width = _LOOKS[name]
        axes.plot(x, y, color=colour, linestyle=dash, linewidth=width, gid=name)
    _names(axes, list(lines))
    axes.set_title(budget_words(claim.epsilon, claim.delta), fontsize=10)
    axes.set_xlabel("false alarms: said to be there, and is not")
    axes.set_ylabel("found: said to be there, and is")
    axes.set_xlim(-0.01, 1.01)
    axes.set_ylim(-0.01, 1.03)
    open_axes(axes)


def _names(axes: Axes, names: Sequence[str]) -> None:
    """Names in the free corner below guessing, each in the colour of its line and beside a piece of it."""
    for place, name in enumerate(reversed(names)):
        colour, dash, width = _LOOKS[name]
        height = 0.03 + _LABEL_STEP * place
        axes.plot([_LABEL_X, _LABEL_X + 0.1], [height, height], color=colour, linestyle=dash, linewidth=width)
        axes.text(_LABEL_X + 0.12, height, name, color=colour, fontsize=7.5, va="center")


def _closed(values: FloatArray) -> FloatArray:
    """The points of a curve with both of its ends."""
    return np.concatenate([[0.0], values, [1.0]])
