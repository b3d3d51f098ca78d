"""`discreet init`: write a design with blanks, from column names and types alone."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from discreet.cli.command_session import Session
from discreet.cli.options import (
    chosen_table,
    debug_option,
    force_option,
    names,
    proposed_reading_options,
    table_options,
    table_words,
)
from discreet.cli.terminal import say

if TYPE_CHECKING:
    from discreet.tables.blank_design import BlankDesign
    from discreet.tables.csv_format import ReadOptions
    from discreet.tables.database import DatabaseTable

_SPELLED = {"\t": "tab"}


@click.command("init", short_help="Start a design from a table's column names.")
@click.argument("data", required=False)
@table_options
@click.option("--target", metavar="NAME", help="Name of the target column.  [default: asked for, or left blank]")
@click.option("--columns", metavar="A,B", help="Columns to release besides the target.  [default: every column]")
@click.option("--id", "person", metavar="NAME", help="Column that identifies a person who may have several rows.")
@proposed_reading_options
@click.option(
    "-o", "--output", default="design.toml", show_default=True, metavar="FILE", help="Where to write the design."
)
@force_option
@debug_option
@click.pass_obj
def command(
    session: Session,
    data: str | None,
    database: str | None,
    table: str | None,
    target: str | None,
    columns: str | None,
    person: str | None,
    output: str,
    force: bool,
    reading: ReadOptions,
) -> None:
    """Write a design for the columns of DATA, with blanks to fill in from public knowledge.

    Instead of DATA, you can give a table of a database. Only column names are read, and column types where the file
    states them, never a value or a statistic. The encoding and the delimiter of a CSV file are proposed from its header
    line unless you give them. On a terminal you are asked for the target, the columns and the id.
    """
    from discreet.cli.terminal import wrapped
    from discreet.files import check_output, check_suffix
    from discreet.tables.blank_design import SUFFIX, blank_design

    source = chosen_table(data, database, table)
    check_suffix(output, SUFFIX, example="design.toml")
    check_output(output, force=force)
    chosen = None if columns is None else names(columns, what="columns")
    if _interactive():
        known = blank_design(source, reading=reading)
        say(wrapped(f"Columns  {', '.join(known.listed)}", " " * 9))
        target = target or _asked("Target, the column to explain (empty: leave it blank)")
        if chosen is None:
            answer = _asked("Columns to release besides it, between commas (empty: all)")
            chosen = None if answer is None else names(answer, what="columns")
        person = person or _asked("Id, the column of a person who may have several rows (empty: one row each)")
    blank = blank_design(source, target=target, columns=chosen, id=person, reading=reading)
    session.will_write(output)
    blank.save(output, force=force)
    _report(blank, source, output, reading)


def _interactive() -> bool:
    """Return whether someone can answer questions on a terminal."""
    from discreet.cli.terminal import on_terminal

    return on_terminal() and sys.stdin is not None and sys.stdin.isatty()


def _asked(question: str) -> str | None:
    answer: str = click.prompt(question, default="", show_default=False)
    return answer.strip() or None


def _report(blank: BlankDesign, data: str | DatabaseTable, output: str, given: ReadOptions) -> None:
    """Print what was written, what is blank, and the next step."""
    from discreet.cli.terminal import wrapped

    say(f"Written  {output}, with {_counted(len(blank.listed), 'column')} to fill in")
    if blank.left_out:
        say(f"Note     {_counted(len(blank.left_out), 'column')} left out; the file says why")
    found = blank.reading.given()
    proposed = [name for name in ("encoding", "delimiter") if name in found and getattr(given, name) is None]
    if proposed:
        what = " and ".join(f"{name} {_spelled(found[name])}" for name in proposed)
        say(
            wrapped(
                f"Read     with {what}, proposed from the header line alone: look at the names in {output}, and give "
                f"{' or '.join(f'--{name}' for name in proposed)} if they look wrong",
                " " * 9,
            )
        )
    if blank.blanks:
        say(f"Blanks   {len(blank.blanks)} in {output}:")
        for problem in blank.blanks:
            say(wrapped(f"         {problem}", " " * 11))
    say("Next     fill in every blank from public knowledge, never from the data; then run")
    reading = [word for name, value in found.items() for word in _option(name, value)]
    look = ["discreet", "check", *table_words(data), "--design", output, *reading]
    budget = ["--epsilon", "1", "--delta", "1e-6"]
    then = ["discreet", "release", *table_words(data), "--design", output, *reading, *budget, "-o", "R.json"]
    say(f"         {shlex.join(look)}")
    say("         for your own eyes: how many rows fit, before anything is spent. Then")
    say(f"         {shlex.join(then)}")


def _option(name: str, value: object) -> list[str]:
    """Return the command-line words of a reading option."""
    option = f"--{name.replace('_', '-')}"
    return [option] if value is True else [option, _spelled(value)]


def _spelled(value: object) -> str:
    return _SPELLED.get(str(value), str(value))


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
