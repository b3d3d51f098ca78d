"""The picture of an audit: claimed against certified epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from discreet.analyst.pictures.style import BLACK, BLUE, PANELS, VERMILION, house_style, open_axes
from discreet.audit.result import AuditResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
