"""`discreet plan`: show the accuracy to expect, before any data is opened."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import click

from discreet.cli.command_session import Session
from discreet.cli.options import (
    assume_table,
    assumption_options,
    correlation_table,
    level_option,
    load_design,
    number,
    output_options,
    release_options,
)
from discreet.cli.terminal import say, say_json
from discreet.errors import OptionError, PrivacyNotice, SpecError
from discreet.number_text import percent
from discreet.options import DEFAULT_GRID_BITS

if TYPE_CHECKING:
    from discreet.analyst.planning.expected import Plan, PlannedCoefficient
    from discreet.options import ReleaseOptions

# -- plan text ---------------------------------------------------------------------------------------------------------


def print_plan(title: str, made: Plan) -> None:
    """Print the expected accuracy of each coefficient, the reasons for missing widths, and the assumptions."""
    from discreet.cli.terminal import print_table

    if any(one.supposed is not None or one.interval_share is not None for one in made.coefficients):
        headers = ("coefficient", "assumed", "std err", f"{percent(made.level)} width", "privacy", "bounded in")
        print_table(title, headers, [_cells(one) for one in made.coefficients])
    else:
        sds = [(one.name, _number(one.privacy_sd)) for one in made.coefficients]
        print_table(title, ("coefficient", "privacy sd"), sds)
    _print_reasons(made)
    _print_assumptions(made)


def print_plans(title: str, plans: Sequence[Plan]) -> None:
    """Print several plans of the same coefficients side by side."""
    from discreet.cli.terminal import print_table

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
    """Print the expected widths at each budget, or the noise of each statistic if no width is estimable."""
    from discreet.cli.terminal import print_table

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
    if made.one_pass_note:
        say(made.one_pass_note)


def _print_assumptions(made: Plan) -> None:
    if made.assumptions is None:
        return
    from discreet.cli.terminal import labelled

    used = any(one.supposed is not None for one in made.coefficients)
    say("Assumptions" if used else "Assumptions (the noise of this mechanism does not depend on them)")
    lines = made.assumptions.lines()
    room = max(len(what) for what, _ in lines) + 4
    for what, supposed in lines:
        say(labelled(f"  {what}", supposed, room))


# -- plan --------------------------------------------------------------------------------------------------------------

_ANSWERS: Final = {"smallest_epsilon": "smallest epsilon", "smallest_rows": "smallest number of rows"}
EPSILONS: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)


@click.command("plan", short_help="Predict the accuracy of a release; reads no data.")
@click.option("--design", "design_path", metavar="FILE", help="The design of the planned release, as TOML.")
@click.option(
    "--rows", metavar="N", help="Expected number of rows; with an id, count at most max_rows rows per person."
)
@click.option("--epsilon", metavar="E", required=True, help="Epsilon of the planned release.")
@click.option(
    "--delta",
    metavar="D",
    default="0",
    help="Delta of the planned release; must be above 0 for a Gaussian mechanism.  [default: 0]",
)
@release_options
@assumption_options
@click.option(
    "--rsquared", metavar="R", help="Fraction of the target's variance that the model explains.  [default: 0.5]"
)
@click.option(
    "--spread",
    metavar="S",
    help="Standard deviation of every numeric regressor without --sd, as a fraction of the largest that its bounds "
    "allow.  [default: 0.577]",
)
@click.option("--target-spread", metavar="S", help="The same for the target.  [default: 0.577]")
@level_option
@click.option("--coefficient", metavar="NAME", help="The coefficient whose interval has the --width.")
@click.option(
    "--width",
    metavar="W",
    help="Find the smallest epsilon, and the smallest number of rows, at which the interval of --coefficient is no "
    "wider than W.",
)
@click.option(
    "--from",
    "from_path",
    metavar="R.json",
    help="Show what a second release of the same table would add to the release R.json.",
)
@click.option("--plot", metavar="FILE", help="Plot the expected widths against epsilon: a .svg, .png or .pdf file.")
@output_options
def command(
    session: Session,
    design_path: str | None,
    rows: str | None,
    epsilon: str,
    delta: str,
    options: ReleaseOptions,
    share_words: tuple[str, ...],
    mean_words: tuple[str, ...],
    sd_words: tuple[str, ...],
    slope_words: tuple[str, ...],
    correlation_words: tuple[str, ...],
    rsquared: str | None,
    spread: str | None,
    target_spread: str | None,
    level: str,
    coefficient: str | None,
    width: str | None,
    from_path: str | None,
    plot: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Show the standard errors and intervals to expect from a release, given its design and some assumptions.

    Every assumption has a default, and all of them are printed with the plan. Tables that fit the assumptions are
    simulated. A coefficient is estimable if at least 90% of them give it a bounded interval.
    """
    words = {"share": share_words, "mean": mean_words, "sd": sd_words, "slope": slope_words}
    numbers = {"rsquared": rsquared, "spread": spread, "target_spread": target_spread}
    budget = number("epsilon", epsilon), number("delta", delta)
    wanted = number("level", level)
    if from_path is not None:
        _refuse_with_from(
            {
                "design": design_path,
                "rows": rows,
                "coefficient": coefficient,
                "width": width,
                "plot": plot,
            },
            "a second release is planned with the design and rows of the first",
        )
        _refuse_with_from(
            {**words, "correlation": correlation_words, **numbers},
            "a second release is planned with the sums of the first",
        )
        _second(from_path, budget, wanted, options, as_json=as_json)
        return
    if design_path is None or rows is None:
        absent = [option for option, given in (("--design", design_path), ("--rows", rows)) if given is None]
        verb = "is" if len(absent) == 1 else "are"
        raise OptionError(
            f"{' and '.join(absent)} {verb} missing; pass --design FILE and --rows N, or plan a second release with "
            "--from R.json",
            option="design",
        )
    if (coefficient is None) != (width is None):
        raise OptionError("--coefficient and --width must be given together", option="coefficient")
    from discreet.files import check_output
    from discreet.planning import plan, smallest_epsilon, smallest_rows

    if plot is not None:
        check_output(plot, force=force)
    design = load_design(design_path)
    keywords: dict[str, Any] = options.keywords() | {
        "assume": assume_table(words, design.columns),
        "correlation": correlation_table(correlation_words),
        "level": wanted,
    }
    keywords |= {name: number(name, text) for name, text in numbers.items() if text is not None}
    count = number("rows", rows, "50000 or 5e4")
    made = plan(design, rows=count, epsilon=budget[0], delta=budget[1], **keywords)

    def planned(epsilon: float) -> Plan:
        return made if epsilon == budget[0] else plan(design, rows=count, epsilon=epsilon, delta=budget[1], **keywords)

    with warnings.catch_warnings():
        # a table over several budgets recommends none, so no notice is needed
        warnings.simplefilter("ignore", PrivacyNotice)
        over = list(_over_epsilon(planned))
    answers: dict[str, float | None] = {}
    if coefficient is not None and width is not None:
        target = number("width", width)
        answers["smallest_epsilon"] = smallest_epsilon(
            design, coefficient, target, delta=budget[1], rows=count, **keywords
        )
        answers["smallest_rows"] = smallest_rows(
            design, coefficient, target, epsilon=budget[0], delta=budget[1], **keywords
        )
    if plot is not None:
        session.will_write(plot)
        made.plot(plot, over=over, force=force)
    if as_json:
        say_json(made.to_dict() | {"over_epsilon": [other.to_dict() for other in over]} | answers)
        return
    which = "" if design.unit.id is None else f" (at most {design.unit.max_rows} per person)"
    print_plan(f"Expected at epsilon {budget[0]:g}, about {count:,.0f} rows{which}, mechanism {made.mechanism}", made)
    print_over(over, made)
    if options.robust_errors is not None:
        named = ", ".join(["the full model", *map(repr, options.robust_errors.models)])
        served = "every model of the target" if made.mechanism == "staged" else named
        say(
            f"The release would also have robust standard errors of {served}; the widths above are for plain standard "
            "errors."
        )
    for name, answer in answers.items():
        found = "not attainable" if answer is None else _three_digits(answer)
        say(f"{_ANSWERS[name]} for a {percent(wanted)} interval of {coefficient} of width {width}: {found}")
    say("No data was read. To change an assumption, pass --share, --mean, --sd, --correlation, --slope or --rsquared.")


def _three_digits(value: float) -> str:
    """Format a number to three digits, without an exponent if it is large.

    >>> _three_digits(0.7543), _three_digits(4096.2)
    ('0.754', '4,100')
    """
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


def _refuse_with_from(given: Mapping[str, object], why: str) -> None:
    for name, value in given.items():
        if value not in (None, ()):
            option = f"--{name.replace('_', '-')}"
            raise OptionError(f"{option} cannot be used with --from, because {why}; leave out {option}", option=name)


def _over_epsilon(planned: Callable[[float], Plan]) -> Iterator[Plan]:
    """Yield a plan for each epsilon that the mechanism accepts."""
    for epsilon in EPSILONS:
        with suppress(SpecError):
            yield planned(epsilon)


def _second(path: str, budget: tuple[float, float], level: float, options: ReleaseOptions, *, as_json: bool) -> None:
    from discreet.planning import second_release
    from discreet.releases.release import Release

    keywords = options.keywords()
    if keywords.pop("grid_bits") != DEFAULT_GRID_BITS:
        raise SpecError(
            "--grid-bits cannot be used with --from, because a second release is planned on the grid of the first; "
            "leave out --grid-bits"
        )
    found = second_release(Release.load(path), epsilon=budget[0], delta=budget[1], level=level, **keywords)
    if as_json:
        say_json({name: plan.to_dict() for name, plan in found._asdict().items()})
        return
    now, then, _ = found
    title = f"1 this release, epsilon {now.epsilon:g}; 2 a second release, epsilon {then.epsilon:g}; 3 both together"
    print_plans(title, found)
    say("The second release would spend its budget in addition to the budget of the first.")
