"""Format, plot and save the result of an audit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from discreet.analyst.plots.style import BLACK, BLUE, PANELS, VERMILION, figure_bytes, house_style, open_axes
from discreet.audit.judging import Judgement, Witness
from discreet.audit.membership_result import MembershipResult, membership_figure
from discreet.audit.noise_tests import Check
from discreet.audit.runs import ExactLoss
from discreet.errors import OutputError, shown
from discreet.files import checked_path, write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# -- result ------------------------------------------------------------------------------------------------------------
# Certified lower bounds compared with claims, as a table, as JSON and as a figure.

NOT_A_PROOF: Final = (
    "A pass is not a proof: a black-box audit misses events that are too rare for its number of draws, and pairs that "
    "were not tried. A violation shows that the claim is false, up to the stated probability of a false alarm."
)
# upper bound on the false-alarm probability of the sampler's self-test
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
    """Audit of one subject against one claim, on one pair of tables.

    Attributes
    ----------
    name, pair
        Names of the subject (a mechanism, primitive or method) and of the pair of tables.
    judgement
        Lower bounds certified by the draws.
    exact
        Exact privacy losses, for the pairs for which they can be computed.
    checks
        Tests of the noise distribution, and comparisons of the audited draws with releases made by the public
        functions.
    draws
        Number of draws for each of the two tables.
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
        """Descriptions of all results that contradict the claim."""
        return tuple(self._violations())

    @property
    def verdict(self) -> str:
        """`pass` or `violation`."""
        return "violation" if self.violations else "pass"

    def cells(self) -> tuple[str, ...]:
        """Return this case as a row of the summary table."""
        claim, judgement = self.judgement.claim, self.judgement
        delta = f" (delta {claim.delta:g})" if claim.delta else ""
        exact = max(self.exact, key=lambda loss: loss.value / loss.claimed, default=None)
        return (
            self.name,
            f"{claim.epsilon:g}{delta}",
            f"{judgement.certified:.2f}",
            "" if claim.mu is None else f"{claim.mu:.3f}",
            "" if judgement.mu is None else f"{judgement.mu:.3f}",
            "" if exact is None else f"{exact.value / exact.claimed:.1%} of {exact.measure}",
            f"{self.draws:,}",
            f"{self.seconds:.1f}",
            self.verdict,
        )

    def to_dict(self) -> dict[str, object]:
        """Return the case as a dictionary of JSON values."""
        judgement = self.judgement
        return {
            "subject": self.name,
            "pair": self.pair,
            "claimed": {"epsilon": judgement.claim.epsilon, "delta": judgement.claim.delta, "mu": judgement.claim.mu},
            "certified": {
                "epsilon": judgement.epsilon,
                "mu": judgement.mu,
                "epsilon_of_mu_or_event": judgement.certified,
            },
            "event": _sentence(judgement.witness),
            "mu_event": _sentence(judgement.mu_witness),
            "exact": [
                {"pair": loss.pair, "measure": loss.measure, "value": loss.value, "claimed": loss.claimed}
                for loss in self.exact
            ],
            "checks": [_as_dict(check) for check in self.checks],
            "draws": self.draws,
            "seconds": self.seconds,
            "verdict": self.verdict,
            "violations": list(self.violations),
        }

    def _violations(self) -> Iterator[str]:
        judgement, claim = self.judgement, self.judgement.claim
        if judgement.epsilon > claim.epsilon:
            yield (
                f"epsilon is at least {judgement.epsilon:.3g} at delta = {claim.delta:g}, claimed {claim.epsilon:g} "
                f"({_sentence(judgement.witness)})"
            )
        if judgement.mu is not None and claim.mu is not None and judgement.mu > claim.mu:
            yield f"mu is at least {judgement.mu:.3g}, claimed {claim.mu:.3g} ({_sentence(judgement.mu_witness)})"
        for loss in self.exact:
            if not loss.covered:
                yield f"the exact {loss.measure} of '{loss.pair}' is {loss.value:.6g}, claimed {loss.claimed:.6g}"
        for check in self.checks:
            if not check.passed:
                yield _failure(check)


@dataclass(frozen=True, slots=True)
class AuditResult:
    """Results of all cases of an audit.

    Attributes
    ----------
    cases
        Audited cases, in the requested order.
    confidence
        The probability of a false alarm in any bound or test is at most 1 - confidence.
    sampler
        Self-test of the sampler that draws the noise of every release. Empty if you audit your own method.
    """

    cases: tuple[AuditedCase, ...]
    confidence: float
    sampler: tuple[Check, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether no claim was refuted and the sampler passed its self-test."""
        return not any(case.violations for case in self.cases) and all(check.passed for check in self.sampler)

    @property
    def seconds(self) -> float:
        """Total CPU time of all cases."""
        return sum(case.seconds for case in self.cases)

    def summary(self) -> str:
        """Return a text with the table of cases, the violations and an explanation of what a pass means."""
        rows = [HEADERS, *(case.cells() for case in self.cases)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [_line(row, widths) for row in rows]
        return "\n".join([*lines, "", *self.sentences(), ""])

    def sentences(self) -> tuple[str, ...]:
        """Return the lines below the table, from the violations to the explanation of what a pass means."""
        lines = [f"VIOLATION  sampler, {_failure(check)}" for check in self.sampler if not check.passed]
        lines += [
            f"VIOLATION  {case.name}, {case.pair}: {violation}" for case in self.cases for violation in case.violations
        ]
        self_tests = [f"{check.name}: {'pass' if check.passed else 'violation'}" for check in self.sampler]
        if self_tests:
            lines.append(
                f"Self-test of the sampler: {', '.join(self_tests)} "
                f"(false-alarm probability: at most {SELF_TEST_FALSE_ALARMS:g})."
            )
        false_alarms = (
            f"False-alarm probability: at most {1 - self.confidence:.2g} for all {len(self.cases)} cases together."
        )
        return *lines, false_alarms, NOT_A_PROOF

    def to_dict(self) -> dict[str, object]:
        """Return the result as a dictionary of JSON values."""
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


def _sentence(witness: Witness | None) -> str | None:
    return None if witness is None else witness.sentence()


def _as_dict(check: Check) -> dict[str, object]:
    return {"name": check.name, "distance": check.distance, "allowed": check.allowed, "passed": check.passed}


def _failure(check: Check) -> str:
    return f"{check.name}: distance {check.distance:.3g}, at most {check.allowed:.3g} expected"


# -- figures -----------------------------------------------------------------------------------------------------------
# Figure of claimed and certified epsilon.

_PASS, _VIOLATION, _CLAIM = BLUE, VERMILION, BLACK
_WIDTH: Final = 8.5  # inches
_ROW: Final = 0.24


def audit_figure(result: AuditResult) -> Figure:
    """Plot a bar up to the certified epsilon and a mark at the claimed epsilon for each case."""
    with house_style("the figure of an audit", size=PANELS):
        return _figure(result)


def _figure(result: AuditResult) -> Figure:
    from matplotlib.figure import Figure

    cases = result.cases[::-1]
    figure = Figure(figsize=(_WIDTH, 1.4 + _ROW * len(cases)), layout="constrained")
    axes = figure.subplots()
    positions = range(len(cases))
    axes.barh(
        list(positions),
        [case.judgement.certified for case in cases],
        color=[_VIOLATION if case.violations else _PASS for case in cases],
        hatch=["//" if case.violations else "" for case in cases],
        height=0.62,
    )
    claimed = [case.judgement.claim.epsilon for case in cases]
    axes.scatter(claimed, list(positions), marker="|", s=110, linewidths=2.0, color=_CLAIM, label="claimed", zorder=3)
    axes.set_yticks(list(positions), [case.name for case in cases], fontsize=8)
    axes.set_ylim(-0.7, len(cases) - 0.3)
    axes.set_xlim(left=0)
    axes.set_xlabel("epsilon at the claimed delta (bar: certified, mark: claimed, hatched: violation)")
    axes.set_title(
        f"Certified lower bounds, joint confidence {result.confidence:.0%}. A pass is not a proof.", fontsize=10
    )
    open_axes(axes, grid="x")
    return figure


# -- writing -----------------------------------------------------------------------------------------------------------
# Files of an audit or of membership attacks: the JSON document and the figure.


def prepared_folder(output: object) -> Path:
    """Create the output folder before the audit starts, so that a bad path raises an error early.

    A missing plotting library also raises an error.
    """
    folder = checked_path(output)
    if not str(output).strip():
        raise OutputError(option="output", given=output, allowed="the name of a folder, such as 'findings'")
    if not folder.parent.is_dir():
        raise OutputError(
            f"the folder {str(folder.parent)!r} does not exist", option="output", remedy="create that folder first"
        )
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot create the folder {shown(str(folder))}: {error.strerror}",
            option="output",
            remedy="choose another folder",
        ) from None
    # fail now if the plotting library is missing
    audit_figure(AuditResult((), 0.99))
    return folder


def write_result(result: AuditResult | MembershipResult, folder: Path) -> tuple[Path, ...]:
    """Write the result as JSON, PNG and SVG, and return the paths. Existing files are replaced."""
    if isinstance(result, MembershipResult):
        stem, figure = "membership", membership_figure(result)
    else:
        stem, figure = "audit", audit_figure(result)
    contents = {f"{stem}.json": (json.dumps(result.to_dict(), indent=1) + "\n").encode()}
    contents |= {f"{stem}.{ending}": figure_bytes(figure, ending) for ending in ("png", "svg")}
    for name, content in contents.items():
        write_bytes(folder / name, content, force=True)
    return tuple(folder / name for name in contents)
