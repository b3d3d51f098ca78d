"""`discreet check`: count the rows of a table that fit its design, before any budget is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from discreet.cli.command_session import Session
from discreet.cli.options import (
    chosen_table,
    design_option,
    load_design,
    output_options,
    reading_options,
    refuse_overwriting,
    table_options,
    table_path,
)
from discreet.cli.terminal import ReadProgress, complain, say, say_json

if TYPE_CHECKING:
    from discreet.curator.inspection import CheckNotForPublication
    from discreet.tables.csv_format import ReadOptions


@click.command("check", short_help="Count rows that fit the design; for the curator only.")
@click.argument("data", required=False)
@table_options
@design_option
@reading_options
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Also write the result; the name must end in .NOT-FOR-PUBLICATION.json or .NOT-FOR-PUBLICATION.txt.",
)
@output_options
def command(
    session: Session,
    data: str | None,
    database: str | None,
    table: str | None,
    design_path: str,
    output: str | None,
    force: bool,
    as_json: bool,
    reading: ReadOptions,
) -> None:
    """Count the rows of DATA that fit the design: NOT FOR PUBLICATION. No budget is spent.

    Instead of DATA, you can give a table of a database. The output is for the curator only: the exact number of rows
    that fit and, for each column, the number of cells that are missing, not a number, not a declared level or clipped,
    with the numbers of the first such lines. Nothing is written without -o. The exit code is 0 whenever the table can
    be read, whatever the counts are.
    """
    from discreet.curator.inspection import check, check_name
    from discreet.files import check_output
    from discreet.tables.source import ComputeOptions

    given = chosen_table(data, database, table)
    design = load_design(design_path)
    if output is not None:
        check_name(output)
        refuse_overwriting(output, table_path(given), design_path)
        check_output(output, force=force)
    with ReadProgress() as progress:
        found = check(
            given,
            design,
            reading=reading,
            compute=ComputeOptions(progress=progress),
        )
    if output is not None:
        session.will_write(output)
        found.save(output, force=force)
    if as_json:
        from discreet.curator.inspection import WARNING

        complain("notice", WARNING)
        say_json(found.to_dict())
    else:
        print_check(found)
        say("Nothing was spent and nothing was written." if output is None else f"Nothing was spent.\nFile  {output}")


def print_check(found: CheckNotForPublication) -> None:
    """Print the result of a check, as a table if stdout is a terminal."""
    from discreet.cli.terminal import labelled, on_terminal, print_table, print_warning, wrapped
    from discreet.curator.inspection import HEADERS, WARNING, above, below, cells

    if not on_terminal():
        say(repr(found))
        return
    print_warning(WARNING)
    for pair in above(found):
        say(labelled(*pair, 15))
    print_table("", HEADERS, cells(found))
    for note in below(found):
        say(wrapped(note, "  "))
