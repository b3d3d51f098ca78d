"""The picture of an audit: claimed against certified epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from discreet.audit.result import AuditResult
from discreet.errors import missing_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PASS, _VIOLATION, _CLAIM = "#0072B2", "#D55E00", "#000000"
_WIDTH: Final = 8.5  # inches
_ROW: Final = 0.24


def claimed_against_certified(result: AuditResult) -> Figure:
    """A row for each case: a bar up to the certified epsilon, a mark at the claimed one.

    Raises
    ------
    SpecError
        Where matplotlib is not installed; the extra `plots` brings it.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("plots", "matplotlib", "the picture of an audit") from None
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
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, axis="x", alpha=0.25, linewidth=0.6)
    return picture
