"""`discreet init`: a design with blanks, from names and types alone."""

from __future__ import annotations

import shlex

import click

from discreet.cli.options import debug_option, delimiter_sign, force_option, reading_options
from discreet.cli.session import Session
from discreet.cli.terminal import say


@click.command("init", short_help="Start a design from a table's column names.")
@click.argument("data")
@click.option("--target", metavar="NAME", help="Name of the target column.  [default: left blank]")
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
    """Write a design for the columns of DATA, with blanks to fill in from public knowledge.

    Only column names are read, and column types where the file states them; never a value or a statistic.
    """
    from discreet.files import check_output, check_suffix
    from discreet.tables.files.blank_design import SUFFIX, blank_design

    check_suffix(output, SUFFIX, example="design.toml")
    check_output(output, force=force)
    blank = blank_design(data, target=target, encoding=encoding, delimiter=delimiter_sign(delimiter))
    session.will_write(output)
    blank.save(output, force=force)
    say(f"Written  {output}, with {_counted(len(blank.listed), 'column')} to fill in")
    if blank.left_out:
        say(f"Note     {_counted(len(blank.left_out), 'column')} left out; the file says why")
    say("Next     fill in every blank from public knowledge, never from the data; then run")
    reading = _reading(encoding, delimiter)
    look = ["discreet", "check", data, "--design", output, *reading]
    budget = ["--epsilon", "1", "--delta", "1e-6"]
    then = ["discreet", "release", data, "--design", output, *reading, *budget, "-o", "R.json"]
    say(f"         {shlex.join(look)}")
    say("         for your own eyes: how many rows fit, before anything is spent; and at last")
    say(f"         {shlex.join(then)}")


def _reading(encoding: str, delimiter: str) -> list[str]:
    """Repeat how the file is written, where that is not the default."""
    given = {"--encoding": (encoding, "utf-8"), "--delimiter": (delimiter, ",")}
    return [word for option, (value, usual) in given.items() if value != usual for word in (option, value)]


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
