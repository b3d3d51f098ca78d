"""Print, plot and save the result of an audit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from discreet.analyst.plots.style import BLACK, BLUE, PANELS, VERMILION, figure_bytes, house_style, open_axes
from discreet.audit.judging import Judgement, Witness
from discreet.audit.membership_result import MembershipResult, membership_picture
from discreet.audit.noise_tests import Check
from discreet.audit.runs import ExactLoss
from discreet.errors import OutputError, shown
from discreet.files import checked_path, write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# -- result ------------------------------------------------------------------------------------------------------------
# What an audit found: certified lower bounds beside claims, in a table, as JSON and as a picture.

NOT_A_PROOF: Final = (
    "A pass is not a proof: a black-box audit sees neither events rarer than about one in its draws nor pairs that "
    "were not tried. A violation shows that the claim is false, up to the stated chance of a false alarm."
)
# the self-test of the sampler alarms falsely with probability at most this
SELF_TEST_FALSE_ALARMS: Final = 1e-9
HEADERS: Final = (
    "subject",
    "claimed",
    "certified",
    "claimed mu",
    "certified mu",
    "exact",
    "draws",
    "seconds",
    "verdict",
)


@dataclass(frozen=True, slots=True)
class AuditedCase:
    """One subject at one claim, on one pair.

    Attributes
    ----------
    name, pair
        Which subject, and which two tables.
    judgement
        What the draws certify.
    exact
        Losses of all pairs in exact arithmetic, where they are known.
    checks
        Tests of the noise, and of the whole path against sums computed once.
    draws
        For each of the two tables.
    seconds
        CPU time.
    """

    name: str
    pair: str
    judgement: Judgement
    exact: tuple[ExactLoss, ...]
    checks: tuple[Check, ...]
    draws: int
    seconds: float

    @property
    def violations(self) -> tuple[str, ...]:
        """What contradicts the claim, one sentence each."""
        return tuple(self._violations())

    @property
    def verdict(self) -> str:
        """`pass` or `violation`."""
        return "violation" if self.violations else "pass"

    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        claim, found = self.judgement.claim, self.judgement
        delta = f" (delta {claim.delta:g})" if claim.delta else ""
        exact = max(self.exact, key=lambda one: one.value / one.claimed, default=None)
        return (
            self.name,
            f"{claim.epsilon:g}{delta}",
            f"{found.certified:.2f}",
            "" if claim.mu is None else f"{claim.mu:.3f}",
            "" if found.mu is None else f"{found.mu:.3f}",
            "" if exact is None else f"{exact.value / exact.claimed:.1%} of {exact.currency}",
            f"{self.draws:,}",
            f"{self.seconds:.1f}",
            self.verdict,
        )

    def to_dict(self) -> dict[str, object]:
        """The case as plain values."""
        found = self.judgement
        return {
            "subject": self.name,
            "pair": self.pair,
            "claimed": {"epsilon": found.claim.epsilon, "delta": found.claim.delta, "mu": found.claim.mu},
            "certified": {"epsilon": found.epsilon, "mu": found.mu, "epsilon_of_mu_or_event": found.certified},
            "event": _shown(found.witness),
            "mu_event": _shown(found.mu_witness),
            "exact": [
                {"pair": one.pair, "currency": one.currency, "value": one.value, "claimed": one.claimed}
                for one in self.exact
            ],
            "checks": [_as_dict(check) for check in self.checks],
            "draws": self.draws,
            "seconds": self.seconds,
            "verdict": self.verdict,
            "violations": list(self.violations),
        }

    def _violations(self) -> Iterator[str]:
        found, claim = self.judgement, self.judgement.claim
        if found.epsilon > claim.epsilon:
            yield (
                f"epsilon is at least {found.epsilon:.3g} at delta = {claim.delta:g}, claimed {claim.epsilon:g} "
                f"({_shown(found.witness)})"
            )
        if found.mu is not None and claim.mu is not None and found.mu > claim.mu:
            yield f"mu is at least {found.mu:.3g}, claimed {claim.mu:.3g} ({_shown(found.mu_witness)})"
        for loss in self.exact:
            if not loss.kept:
                yield f"the exact {loss.currency} of '{loss.pair}' is {loss.value:.6g}, claimed {loss.claimed:.6g}"
        for check in self.checks:
            if not check.passed:
                yield _failure(check)


@dataclass(frozen=True, slots=True)
class AuditResult:
    """All cases of an audit.

    Attributes
    ----------
    cases
        In the order in which they were asked for.
    confidence
        All bounds and tests together raise a false alarm with probability of at most 1 - confidence.
    sampler
        Self-test of the sampler that every release draws its noise with; none in an audit of your own method.
    """

    cases: tuple[AuditedCase, ...]
    confidence: float
    sampler: tuple[Check, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether no claim was refuted, and the sampler draws what it should."""
        return not any(case.violations for case in self.cases) and all(check.passed for check in self.sampler)

    @property
    def seconds(self) -> float:
        """CPU time of all cases."""
        return sum(case.seconds for case in self.cases)

    def summary(self) -> str:
        """Table, violations, and what a pass says, as text."""
        rows = [HEADERS, *(case.cells() for case in self.cases)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [_line(row, widths) for row in rows]
        return "\n".join([*lines, "", *self.sentences(), ""])

    def sentences(self) -> tuple[str, ...]:
        """Violations, the self-test of the sampler, confidence, and what a pass says."""
        lines = [f"VIOLATION  sampler, {_failure(check)}" for check in self.sampler if not check.passed]
        lines += [f"VIOLATION  {case.name}, {case.pair}: {one}" for case in self.cases for one in case.violations]
        tested = [f"{check.name}: {'pass' if check.passed else 'violation'}" for check in self.sampler]
        if tested:
            lines.append(
                f"Self-test of the sampler: {', '.join(tested)} (false alarms: at most {SELF_TEST_FALSE_ALARMS:g})."
            )
        chance = f"False alarms: at most {1 - self.confidence:.2g} for all {len(self.cases)} cases together."
        return *lines, chance, NOT_A_PROOF

    def to_dict(self) -> dict[str, object]:
        """All of it as plain values."""
        return {
            "passed": self.passed,
            "confidence": self.confidence,
            "seconds": self.seconds,
            "sampler": {
                "passed": all(check.passed for check in self.sampler),
                "false_alarms": SELF_TEST_FALSE_ALARMS,
                "checks": [_as_dict(check) for check in self.sampler],
            },
            "cases": [case.to_dict() for case in self.cases],
            "note": NOT_A_PROOF,
        }


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    return "  ".join([f"{first[0]:<{first[1]}}", *(f"{cell:>{width}}" for cell, width in others)]).rstrip()


def _shown(witness: Witness | None) -> str | None:
    return None if witness is None else witness.sentence()


def _as_dict(check: Check) -> dict[str, object]:
    return {"name": check.name, "distance": check.distance, "allowed": check.allowed, "passed": check.passed}


def _failure(check: Check) -> str:
    return f"{check.name}: distance {check.distance:.3g}, at most {check.allowed:.3g} expected"


# -- pictures ----------------------------------------------------------------------------------------------------------
# The picture of an audit: claimed against certified epsilon.

_PASS, _VIOLATION, _CLAIM = BLUE, VERMILION, BLACK
_WIDTH: Final = 8.5  # inches
_ROW: Final = 0.24


def claimed_against_certified(result: AuditResult) -> Figure:
    """A row for each case: a bar up to the certified epsilon, a mark at the claimed one.

    Raises
    ------
    SpecError
        Where matplotlib is not installed; the extra `plots` brings it.
    """
    with house_style("the picture of an audit", size=PANELS):
        return _drawn(result)


def _drawn(result: AuditResult) -> Figure:
    from matplotlib.figure import Figure

    cases = result.cases[::-1]
    picture = Figure(figsize=(_WIDTH, 1.4 + _ROW * len(cases)), layout="constrained")
    axes = picture.subplots()
    places = range(len(cases))
    axes.barh(
        list(places),
        [case.judgement.certified for case in cases],
        color=[_VIOLATION if case.violations else _PASS for case in cases],
        hatch=["//" if case.violations else "" for case in cases],
        height=0.62,
    )
    claimed = [case.judgement.claim.epsilon for case in cases]
    axes.scatter(claimed, list(places), marker="|", s=110, linewidths=2.0, color=_CLAIM, label="claimed", zorder=3)
    axes.set_yticks(list(places), [case.name for case in cases], fontsize=8)
    axes.set_ylim(-0.7, len(cases) - 0.3)
    axes.set_xlim(left=0)
    axes.set_xlabel("epsilon at the claimed delta: bar certified, mark claimed; hatched: violation")
    axes.set_title(f"Certified lower bounds, {result.confidence:.0%} together. A pass is not a proof.", fontsize=10)
    open_axes(axes, grid="x")
    return picture


# -- writing -----------------------------------------------------------------------------------------------------------
# Files of an audit, or of attacks on membership: the JSON document and the picture.


def prepared_folder(output: object) -> Path:
    """The folder to write to, made inside one that is there; refused before minutes are spent on an audit."""
    folder = checked_path(output)
    if not str(output).strip():
        raise OutputError(f"expected the name of a folder such as 'findings', got {shown(output)}")
    if not folder.parent.is_dir():
        raise OutputError(f"the folder {str(folder.parent)!r} does not exist; create it first")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {shown(str(folder))}: {error.strerror}; choose another") from None
    # a missing library is found now, too
    claimed_against_certified(AuditResult((), 0.99))
    return folder


def write_result(result: AuditResult | MembershipResult, folder: Path) -> tuple[Path, ...]:
    """Write the document and the picture as PNG and SVG, over those of an earlier run; give their paths."""
    if isinstance(result, MembershipResult):
        stem, picture = "membership", membership_picture(result)
    else:
        stem, picture = "audit", claimed_against_certified(result)
    contents = {f"{stem}.json": (json.dumps(result.to_dict(), indent=1) + "\n").encode()}
    contents |= {f"{stem}.{ending}": figure_bytes(picture, ending) for ending in ("png", "svg")}
    for name, content in contents.items():
        write_bytes(folder / name, content, force=True)
    return tuple(folder / name for name in contents)
