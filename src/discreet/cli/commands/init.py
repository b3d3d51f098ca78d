"""`discreet init`: a design with blanks, from names and types alone."""

from __future__ import annotations

import shlex

import click

from discreet.cli.options import debug_option, delimiter_sign, force_option, reading_options
from discreet.cli.session import Session
from discreet.cli.terminal import say


@click.command("init", short_help="Begin a design from a table's column names.")
@click.argument("data")
@click.option("--target", metavar="NAME", help="Column to explain.  [default: left blank]")
@reading_options
@click.option(
    "-o", "--output", default="design.toml", show_default=True, metavar="FILE", help="Where to write the design."
)
@force_option
@debug_option
@click.pass_obj
def command(
    session: Session, data: str, target: str | None, encoding: str, delimiter: str, output: str, force: bool
) -> None:
    """Write a design with blanks for the columns of DATA, to be filled in from public knowledge.

    Only names are read, and types where the file states them: no value and no statistic of any row.
    """
    from discreet.files import check_output, check_suffix
    from discreet.tables.files.blank_design import SUFFIX, blank_design

    check_suffix(output, SUFFIX, example="design.toml")
    check_output(output, force=force)
    blank = blank_design(data, target=target, encoding=encoding, delimiter=delimiter_sign(delimiter))
    session.will_write(output)
    blank.save(output, force=force)
    say(f"Written  {output}, with {_counted(len(blank.listed), 'column')} to look through")
    if blank.left_out:
        say(f"Note     {_counted(len(blank.left_out), 'column')} left out; the file says why")
    say("Next     fill in every blank from public knowledge, never from the data; then")
    then = ["discreet", "release", data, "--design", output, "--epsilon", "1", "--delta", "1e-6", "-o", "R.json"]
    say(f"         {shlex.join(then)}")


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
