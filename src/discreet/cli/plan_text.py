"""Plans as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.cli.terminal import say

if TYPE_CHECKING:
    from discreet.analyst.planning.values import Plan, PlannedCoefficient


def print_plan(title: str, made: Plan) -> None:
    """One plan: what to expect of each coefficient, why some have no width, and what was assumed."""
    from discreet.cli.render import print_table

    if any(one.supposed is not None or one.interval_share is not None for one in made.coefficients):
        headers = ("coefficient", "assumed", "std err", f"{percent(made.level)} width", "privacy", "bounded in")
        print_table(title, headers, [_cells(one) for one in made.coefficients])
    else:
        sds = [(one.name, _number(one.privacy_sd)) for one in made.coefficients]
        print_table(title, ("coefficient", "privacy sd"), sds)
    _print_reasons(made)
    _print_assumptions(made)


def print_plans(title: str, plans: Sequence[Plan]) -> None:
    """Several plans of the same coefficients side by side."""
    from discreet.cli.render import print_table

    level = percent(plans[0].level)
    headers = ["coefficient"]
    for tag, _ in enumerate(plans, start=1):
        headers += [f"std err {tag}", f"{level} width {tag}", f"privacy {tag}"]
    rows = [
        [name, *(cell for plan in plans for cell in _errors(plan.coefficients[index]))]
        for index, name in enumerate(one.name for one in plans[0].coefficients)
    ]
    print_table(title, headers, rows)
    for index, made in enumerate(plans, start=1):
        _print_reasons(made, f" in {index}")


def print_over(plans: Sequence[Plan], made: Plan) -> None:
    """Widths over budgets; where there are none, the noise of each statistic."""
    from discreet.cli.render import print_table

    if not any(one.width for other in plans for one in other.coefficients):
        noise = [(one.statistic, f"{one.sd:.4g}") for one in made.noise]
        print_table("Noise of each statistic, in scaled units", ("statistic", "standard deviation"), noise)
        return
    headers = ["coefficient", *(f"{plan.epsilon:g}" for plan in plans)]
    rows = []
    for index, first in enumerate(plans[0].coefficients):
        widths = [plan.coefficients[index].width for plan in plans]
        rows.append([first.name, *("-" if width is None else f"{width:.3g}" for width in widths)])
    print_table(f"Expected width of the {percent(made.level)} interval, by epsilon", headers, rows)


def percent(level: float) -> str:
    """A level as a percentage.

    >>> percent(0.95), percent(0.975)
    ('95%', '97.5%')
    """
    return f"{100 * level:g}%"


def _cells(one: PlannedCoefficient) -> list[str]:
    share = "-" if one.interval_share is None else f"{int(100 * one.interval_share)}%"
    return [one.name, _number(one.supposed), *_errors(one), share]


def _errors(one: PlannedCoefficient) -> list[str]:
    if one.std_error is None or one.width is None or one.privacy_share is None:
        return ["not estimable", "", ""]
    return [f"{one.std_error:.4g}", f"{one.width:.4g}", f"{100 * one.privacy_share:.0f}%"]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _print_reasons(made: Plan, which: str = "") -> None:
    by_reason: dict[str, list[str]] = {}
    for one in made.coefficients:
        if one.reason is not None:
            by_reason.setdefault(one.reason, []).append(one.name)
    for reason, names in by_reason.items():
        say(f"Not estimable{which} ({', '.join(names)}): {reason}")


def _print_assumptions(made: Plan) -> None:
    if made.assumptions is None:
        return
    from discreet.cli.render import labelled

    used = any(one.supposed is not None for one in made.coefficients)
    say("Assumptions" if used else "Assumptions (the noise of this mechanism does not depend on them)")
    lines = made.assumptions.lines()
    room = max(len(what) for what, _ in lines) + 4
    for what, supposed in lines:
        say(labelled(f"  {what}", supposed, room))
