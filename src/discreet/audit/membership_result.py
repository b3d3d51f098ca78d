"""Format and plot the result of membership attacks."""

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
# The largest power that a guarantee allows, for every false-alarm rate.
#
# A test with false-alarm rate alpha has a power of at most 1 - f(alpha), where f is the trade-off function of the
# guarantee [Dong, Roth & Su 2022]. For (epsilon, delta) the bound consists of two straight lines. For mu-Gaussian DP it
# is Phi(Phi^-1(alpha) + mu). If several bounds are proved, the smallest holds.


def allowed_power(false_alarms: npt.ArrayLike, claim: Claim) -> FloatArray:
    """Return the largest power that the epsilon and delta of a claim allow, at each false-alarm rate.

    >>> [round(float(power), 4) for power in allowed_power([0.01, 0.5], Claim(1.0))]
    [0.0272, 0.8161]
    """
    return np.array([largest_power(float(rate), claim.epsilon, claim.delta) for rate in np.atleast_1d(false_alarms)])


def own_power(false_alarms: npt.ArrayLike, claim: Claim) -> FloatArray:
    """Return the largest power that a claim allows at each false-alarm rate, including its Gaussian curve if any.

    >>> round(float(own_power(0.05, Claim(9.0, 0.0, 1.0))[0]), 4)
    0.2595
    """
    allowed = allowed_power(false_alarms, claim)
    if claim.mu is None:
        return allowed
    # the normal quantile of a rate of 0 is infinite
    rates = np.maximum(np.atleast_1d(false_alarms), math.ulp(0.0))
    return np.minimum(allowed, [gaussian_power(float(rate), claim.mu, claim.gap) for rate in rates])


def allowed_area(claim: Claim) -> float:
    """Return the largest area under the ROC curve that the epsilon and delta of a claim allow.

    >>> round(allowed_area(Claim(1.0)), 6), round(allowed_area(Claim(1.0, 0.5)), 6)
    (0.731059, 0.932765)
    """
    # the curve is linear between these points
    corner = (1 - claim.delta) / (1 + math.exp(claim.epsilon))
    rates = np.array([0.0, corner, 1 - claim.delta, 1.0])
    return float(np.trapezoid(allowed_power(rates, claim), rates))


def gaussian_area(mu: float) -> float:
    """Return the area under the ROC curve of mu-Gaussian DP, which is Phi(mu / sqrt(2)).

    >>> round(gaussian_area(0.0), 3), round(gaussian_area(1.0), 4)
    (0.5, 0.7602)
    """
    return 0.5 * math.erfc(-mu / 2)


# -- roc ---------------------------------------------------------------------------------------------------------------
# Error rates of a test over many runs: false alarms, rows found, and limits that hold jointly for all thresholds.

_SMALL: Final = np.geomspace(1e-3, 0.4, 12)
# false-alarm rates for which thresholds are chosen before the first draw
RATES: Final = np.concatenate([_SMALL, [0.5], 1 - _SMALL[::-1]])
_SIDES: Final = 4


@dataclass(frozen=True)
class Roc:
    """Error rates of a test, estimated from draws with and without the row.

    Attributes
    ----------
    false_alarms, found
        Fractions of the draws without the row and of the draws with the row in which the test reports the row, at each
        threshold.
    false_alarms_low, false_alarms_high, found_low, found_high
        Clopper-Pearson limits that hold jointly for all thresholds.
    area
        Area under the ROC curve, which is the fraction of pairs of draws that the test orders correctly.
    found_at_one_percent
        Fraction of the draws with the row that exceed the 99% quantile of the draws without the row.
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
        """Return by how much the certified power exceeds what a claim allows at each threshold, or 0 if it does not."""
        excess: FloatArray = np.maximum(self.found_low - own_power(self.false_alarms_high, claim), 0.0)
        return excess


def thresholds(mu: float) -> FloatArray:
    """Return thresholds of the log likelihood ratio, one for each false-alarm rate under a Gaussian curve, and 0.

    Without the row, the log likelihood ratio has mean -mu^2/2 and standard deviation mu. The threshold 0 separates
    outputs that have no noise at all.
    """
    gaussian = -mu * ndtri(RATES) - mu * mu / 2
    return np.sort(np.append(gaussian, 0.0))[::-1]


def measured(with_row: FloatArray, without_row: FloatArray, cuts: FloatArray, alpha: float) -> Roc:
    """Compute the error rates of a test from its scores, with confidence limits.

    The limits hold jointly with probability 1 - alpha. Larger scores mean that the row is more likely to be in the
    table. `cuts` must be chosen without looking at these draws.
    """
    level = alpha / (_SIDES * len(cuts))
    hits, alarms = ((side[:, None] > cuts).sum(axis=0) for side in (with_row, without_row))
    included, excluded = len(with_row), len(without_row)
    return Roc(
        false_alarms=alarms / excluded,
        found=hits / included,
        false_alarms_low=lower_limit(alarms, excluded, level),
        false_alarms_high=upper_limit(alarms, excluded, level),
        found_low=lower_limit(hits, included, level),
        found_high=upper_limit(hits, included, level),
        area=_area(with_row, without_row),
        found_at_one_percent=float(np.mean(with_row > np.quantile(without_row, 0.99, method="higher"))),
    )


def certain(*, known: bool) -> Roc:
    """Return the error rates of a test that is always right if `known`, and otherwise of pure guessing."""
    rates = np.array([0.0, 0.0, 1.0]) if known else np.array([0.0, 0.5, 1.0])
    found = np.array([0.0, 1.0, 1.0]) if known else rates
    return Roc(rates, found, rates, rates, found, found, 1.0 if known else 0.5, 1.0 if known else 0.01)


def _area(with_row: FloatArray, without_row: FloatArray) -> float:
    """Compute the Mann-Whitney statistic as a fraction of all pairs."""
    ranks = rankdata(np.concatenate([with_row, without_row]))[: len(with_row)]
    pairs = len(with_row) * len(without_row)
    return float((ranks.sum() - len(with_row) * (len(with_row) + 1) / 2) / pairs)


# -- result ------------------------------------------------------------------------------------------------------------
# Results of membership attacks, compared with what the guarantees allow: as a table, as JSON and as sentences.

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
    """Result of attacking one publication for the membership of one row.

    Attributes
    ----------
    published
        Description of the publication.
    row
        The row whose membership is attacked.
    claim
        Claimed guarantee, or None for publications that are NOT PRIVATE.
    mu
        Exact distance between the sums of the two tables in noise standard deviations, or None if there is no noise.
    digits
        Number of significant digits of exact coefficients that reveal the row. None for a release, or if no digits do.
    roc
        Error rates of the attacker.
    draws
        Number of releases of each table.
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
        """Descriptions of all results that contradict the guarantee."""
        return tuple(self._violations())

    @property
    def verdict(self) -> str:
        """`pass`, `violation`, or `no guarantee` for publications that are NOT PRIVATE."""
        if self.claim is None:
            return "no guarantee"
        return "violation" if self.violations else "pass"

    def cells(self) -> tuple[str, ...]:
        """Return this attack as a row of the summary table."""
        areas, found = self._areas(), self._found()
        numbers = [("" if number is None else f"{number:.3f}") for number in (*areas, *found)]
        return (self.published, self.row, *numbers, self.verdict)

    def to_dict(self) -> dict[str, object]:
        """Return the attack as a dictionary of JSON values."""
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
            yield f"the row moves the sums by {self.mu:.6g} noise standard deviations, claimed {claim.mu:.6g}"
        excess = roc.certified_above(claim)
        if excess.any():
            index = int(np.argmax(excess))
            allowed = float(own_power(roc.false_alarms_high[index], claim)[0])
            yield (
                f"the row is found in at least {roc.found_low[index]:.2%} of the releases that contain it, with at "
                f"most {roc.false_alarms_high[index]:.2%} false alarms; the guarantee allows {allowed:.2%}"
            )


@dataclass(frozen=True)
class MembershipResult:
    """Results of all membership attacks on one table.

    Attributes
    ----------
    attacks
        Attacks on publications without noise, which are NOT PRIVATE, and then attacks on releases, by epsilon and row.
    table
        Name of the public table, with a note if it is simulated.
    confidence
        Probability with which all limits hold jointly.
    seconds
        CPU time in seconds.
    """

    attacks: tuple[Attack, ...]
    table: str
    confidence: float
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether no guarantee was refuted."""
        return not any(attack.violations for attack in self.attacks)

    def sentences(self) -> tuple[str, ...]:
        """Return the lines below the table, from the violations to the explanation of what a pass means."""
        violations = [
            f"VIOLATION  {attack.published}, {attack.row}: {sentence}"
            for attack in self.attacks
            for sentence in attack.violations
        ]
        digits = [
            f"{NOT_PRIVATE}: {attack.digits} significant digits of the coefficients reveal the {attack.row}."
            for attack in self.attacks
            if attack.digits is not None
        ]
        return (
            *violations,
            *digits,
            f"Table: {self.table}. The attacker knows all other rows, the row itself and the noise distribution, and "
            "uses the exact likelihood ratio of the publication. Area: area under the ROC curve; 0.5 is guessing. "
            "Found at 1%: how often an included row is found at a false-alarm rate of 1%. Gaussian: what the "
            "mechanism's Gaussian curve allows. Allowed: what epsilon and delta allow.",
            f"False-alarm probability of this audit: at most {1 - self.confidence:.2g} for all attacks together. "
            "A pass is not a proof.",
        )

    def summary(self) -> str:
        """Return a text with the table, the violations and explanations."""
        rows = [MEMBERSHIP_HEADERS, *(attack.cells() for attack in self.attacks)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, "", *self.sentences(), ""])

    def to_dict(self) -> dict[str, object]:
        """Return the result as a dictionary of JSON values."""
        return {
            "passed": self.passed,
            "confidence": self.confidence,
            "seconds": self.seconds,
            "table": self.table,
            "attacks": [attack.to_dict() for attack in self.attacks],
            "note": self.sentences()[-1],
        }


# -- figure ------------------------------------------------------------------------------------------------------------
# Figure of membership attacks: how often rows are found against false alarms, with the curves that guarantees allow.

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
_ACROSS: Final = 2  # panels that fit the width of a page
_RATES: Final = np.linspace(0, 1, 401)
_LABEL_X: Final = 0.39
_LABEL_STEP: Final = 0.064


def membership_figure(result: MembershipResult) -> Figure:
    """Plot one panel for each budget, with the measured curves, the allowed curves, and exact least squares."""
    with house_style("the figure of an audit", size=PANELS):
        return _figure(result)


def _figure(result: MembershipResult) -> Figure:
    from matplotlib.figure import Figure

    budgets = list(dict.fromkeys(attack.claim for attack in result.attacks if attack.claim is not None))
    across = min(max(len(budgets), 1), _ACROSS)
    down = max(-(-len(budgets) // across), 1)
    figure = Figure(figsize=(_PANEL * across, _PANEL * down + 0.4), layout="constrained")
    without_noise = [attack for attack in result.attacks if attack.claim is None]
    panels = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for axes, claim in zip(panels, budgets, strict=False):
        _panel(axes, claim, [attack for attack in result.attacks if attack.claim == claim], without_noise)
    for axes in panels[len(budgets) :]:
        axes.set_axis_off()
    figure.suptitle(f"Who is in the table? {result.table}; limits hold jointly at {result.confidence:.0%}", fontsize=10)
    return figure


def _panel(axes: Axes, claim: Claim, attacks: Sequence[Attack], without_noise: Sequence[Attack]) -> None:
    lines: dict[str, tuple[FloatArray, FloatArray]] = {}
    for attack in without_noise[:1]:
        lines[attack.published] = attack.roc.false_alarms, attack.roc.found
    lines["epsilon and delta allow"] = _RATES, allowed_power(_RATES, claim)
    if claim.mu is not None:
        lines["the mechanism's curve allows"] = _RATES, own_power(_RATES, claim)
    for attack in attacks:
        name, roc = f"{attack.row}, measured", attack.roc
        lines[name] = _closed(roc.false_alarms), _closed(roc.found)
        # the limits hold jointly; between thresholds the lower limit holds because the curve is concave
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
    axes.set_xlabel("false alarms: how often the row is reported although it is not included")
    axes.set_ylabel("found: how often an included row is reported")
    axes.set_xlim(-0.01, 1.01)
    axes.set_ylim(-0.01, 1.03)
    open_axes(axes)


def _names(axes: Axes, names: Sequence[str]) -> None:
    """Label each line in its colour, next to a sample of the line, in the empty corner of the panel."""
    for index, name in enumerate(reversed(names)):
        colour, dash, width = _LOOKS[name]
        height = 0.03 + _LABEL_STEP * index
        axes.plot([_LABEL_X, _LABEL_X + 0.1], [height, height], color=colour, linestyle=dash, linewidth=width)
        axes.text(_LABEL_X + 0.12, height, name, color=colour, fontsize=7.5, va="center")


def _closed(values: FloatArray) -> FloatArray:
    """Add the end points 0 and 1 to a curve."""
    return np.concatenate([[0.0], values, [1.0]])
