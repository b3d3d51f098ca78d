"""`discreet report`: a release and a model of it as one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from discreet.cli.options import (
    ModelChoice,
    chosen_columns,
    debug_option,
    fitted,
    force_option,
    json_option,
    model_options,
    number,
    refuse_overwriting,
)
from discreet.cli.session import Session
from discreet.cli.terminal import complain, say, say_json
from discreet.errors import OutputError

if TYPE_CHECKING:
    from discreet.analyst.selection import SubModel
    from discreet.releases import Release
    from discreet.report.view import ReportView


@click.command("report", short_help="Write a release and a fit as one page; free.")
@click.argument("release_path", metavar="R.json")
@model_options
@click.option("--level", default="0.95", show_default=True, metavar="L", help="Of the intervals, between 0 and 1.")
@click.option("-o", "--output", metavar="R.html", help="Where to write the page; may be left out with --json.")
@force_option
@json_option
@debug_option
@click.pass_obj
def command(
    session: Session,
    release_path: str,
    level: str,
    output: str | None,
    force: bool,
    as_json: bool,
    **choice: Unpack[ModelChoice],
) -> None:
    """Write what the release R.json promises and says as one HTML page that needs nothing else.

    Where the model cannot be read from the release, the page says so and shows the adaptive fit, labelled.
    """
    from discreet.cli.render import NOT_PRIVATE, print_warning
    from discreet.output import check_output, write_bytes
    from discreet.releases import Release

    if output is None and not as_json:
        raise click.UsageError("Missing option '-o' / '--output'.")
    if output is not None:
        # no table has such a name, so that --force cannot destroy one
        if Path(output).suffix.lower() not in (".html", ".htm"):
            raise OutputError(f"the output {output!r} does not end in .html; choose a name such as R.html")
        refuse_overwriting(output, release_path)
        check_output(output, force=force)
    made = Release.load(release_path)
    view = viewed(made, choice, number("level", level))
    if output is not None:
        from discreet.report.page import render

        write_bytes(output, render(view).encode(), force=force)
        session.written.append(output)
    if as_json:
        if not made.private:
            complain("notice", NOT_PRIVATE)
        say_json(view.to_dict())
        return
    if not made.private:
        print_warning(NOT_PRIVATE)
    if view.refusal is not None:
        shown = "the page shows the adaptive fit" if view.model is not None else "the page shows no coefficients"
        complain("notice", f"the model is not estimable: {shown}, and says why")
    say(f"Written  {output}")


def viewed(made: Release, choice: ModelChoice, level: float) -> ReportView:
    """Gather what the page shows, with the adaptive fit where the model that was asked for cannot be given."""
    from discreet.analyst.solve import NotEstimableError
    from discreet.report.view import report_view

    try:
        return report_view(made, fitted(made, choice), level=level)
    except NotEstimableError as error:
        refusal = str(error)
    adaptive: ModelChoice = {**choice, "penalty": "adaptive", "strength": None, "l1_ratio": None}
    try:
        return report_view(made, fitted(made, adaptive), level=level, refusal=refusal)
    except NotEstimableError:
        return report_view(made, level=level, refusal=refusal, model=_named(made, choice))


def _named(made: Release, choice: ModelChoice) -> SubModel:
    from discreet.analyst.model_formula import parse_model
    from discreet.analyst.selection import choose

    if choice["formula"] is None:
        return choose(made, **chosen_columns(choice))
    named = parse_model(choice["formula"], made)
    return choose(made, named.target, named.features, named.intercept)
