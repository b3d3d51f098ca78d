"""`discreet reproduce`: run the figures of the source documents again and judge them."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Final

import click

from discreet.cli.command_session import Session
from discreet.cli.options import debug_option, json_option
from discreet.cli.terminal import say, say_json

if TYPE_CHECKING:
    from discreet_papers.reproduction import Reproduction

_WIDTH: Final = 100  # line width without a terminal
_SHOWN: Final = {True: "yes", False: "no", None: "not run"}


@click.command("reproduce", short_help="Run the figures of the source documents again.")
@click.argument("figure", required=False)
@click.option("--all", "everything", is_flag=True, help="Run every figure and every erratum.")
@click.option("--quick", is_flag=True, help="Run fewer repetitions of the same lines, panels, data sets and budgets.")
@click.option("--data", metavar="DIR", help="Folder of Parquet tables.  [default: tables of installed packages]")
@click.option("--with", "method", metavar="MODULE:FACTORY", help="Draw your own method on the same axes.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Number of processes.  [default: all cores]")
@click.option(
    "-o", "--output", default="discreet-papers", show_default=True, metavar="DIR", help="Folder to write the files to."
)
@json_option
@debug_option
@click.pass_obj
def command(
    session: Session,
    figure: str | None,
    everything: bool,
    quick: bool,
    data: str | None,
    method: str | None,
    workers: int | None,
    output: str,
    as_json: bool,
) -> None:
    """Run FIGURE again, judge it, and write PNG, SVG, CSV and a page. Without FIGURE, list the figures.

    The verdict follows from inequalities that were fixed before the run. Everything here is NOT PRIVATE: tables are
    public, and noise comes from fixed seeds. An interrupted run continues where it stopped.
    """
    from discreet.cli.terminal import counting_bar
    from discreet_papers.reproduction import figures, reproduce

    if everything and figure is not None:
        raise click.UsageError("expected FIGURE or --all, got both")
    if not output:
        raise click.UsageError("expected the name of a folder for --output, got an empty text")
    if not everything and figure is None:
        if quick or method is not None or data is not None or workers is not None:
            raise click.UsageError(
                "--quick, --with, --data and --workers need a figure to run; give FIGURE, or --all for every figure"
            )
        if as_json:
            say_json(figures())
        else:
            _print_list(figures())
        return
    session.kept = f"finished cells are kept in {output!r}, and the same command continues from them"
    with counting_bar() as progress:
        reproduction = reproduce(
            figure, output=output, quick=quick, data=data, method=method, workers=workers, progress=progress
        )
    if as_json:
        say_json(reproduction.to_dict())
    else:
        _print_verdicts(reproduction)


def _print_list(figures: Sequence[dict[str, object]]) -> None:
    """Print the figures by document: name, verdict, seconds, and the wrapped claim."""
    from discreet.cli.terminal import text_width

    names = max(len(str(figure["name"])) for figure in figures)
    verdicts = max(len(str(figure["verdict"])) for figure in figures)
    width = text_width() or _WIDTH
    document = None
    say(f"{'figure':<{names}}  {'verdict':<{verdicts}}  {'seconds':>7}  what the document claims")
    for figure in figures:
        if figure["document"] != document:
            document = figure["document"]
            say()
            say(fill(str(figure["citation"]), width, subsequent_indent="  ", break_on_hyphens=False))
        start = f"{figure['name']:<{names}}  {figure['verdict']:<{verdicts}}  {_seconds(figure['seconds']):>7}  "
        say(fill(str(figure["says"]), width, initial_indent=start, subsequent_indent=" " * len(start)))
    say()
    say("Verdicts are from the shipped full run on all tables. Seconds are summed over its processes.")
    say("Everything here is NOT PRIVATE.")
    say("Next  discreet reproduce FIGURE --quick")


def _print_verdicts(reproduction: Reproduction) -> None:
    from discreet.cli.terminal import print_table, wrapped

    rows = [(result.figure.name, result.verdict, f"{result.seconds:.0f}") for result in reproduction.results]
    print_table("Verdicts, NOT PRIVATE", ("figure", "verdict", "seconds"), rows)
    for result in reproduction.results:
        say(f"\n{result.figure.name}: {result.figure.title}")
        for criterion, outcome in result.outcomes:
            say(wrapped(f"  {criterion.claim}", indent="    "))
            say(wrapped(f"    {_SHOWN[outcome.holds]}: {outcome.measured}", indent="      "))
            if outcome.holds is False:
                say(wrapped(f"    {criterion.why}", indent="      "))
        for sentence in result.figure.not_run(result.run):
            say(wrapped(f"  not run: {sentence}", indent="    "))
    if reproduction.errata:
        cells = [(f"E{shown.erratum.number}", shown.verdict, shown.erratum.where) for shown in reproduction.errata]
        say()
        print_table("Errata", ("number", "verdict", "where"), cells)
    say()
    for path in reproduction.files:
        say(f"Written  {path}")


def _seconds(value: object) -> str:
    return f"{value:.0f}" if isinstance(value, int | float) else ""
