"""`discreet audit`: lower bounds on epsilon for every mechanism and primitive, beside what they claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from discreet.cli.options import debug_option, json_option
from discreet.cli.terminal import say, say_json

if TYPE_CHECKING:
    from discreet.audit import AuditResult


@click.command("audit", short_help="Attack the mechanisms, and compare what is certified with what is claimed.")
@click.argument("mechanism", required=False)
@click.option("--full", is_flag=True, help="Also every pair through the whole public path; takes an hour.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes.  [default: all cores]")
@click.option("-o", "--output", metavar="DIR", help="Folder to write a picture and the JSON document to.")
@json_option
@debug_option
def command(mechanism: str | None, full: bool, workers: int | None, output: str | None, as_json: bool) -> None:
    """Attack MECHANISM, or everything, with the production sampler on pairs of made-up tables.

    Prints for each the epsilon that is claimed and the epsilon that outputs certify at 99% for all of them together.
    Takes a few minutes, reads no data of yours and spends nothing. Exit code 1 if a claim is refuted. A pass is not a
    proof.
    """
    from discreet.audit import run_audit
    from discreet.audit.writing import prepared_folder, write_result
    from discreet.cli.progress import counting_bar

    folder = None if output is None else prepared_folder(output)
    with counting_bar() as progress:
        result = run_audit(mechanism, full=full, workers=workers, progress=progress)
    written = () if folder is None else write_result(result, folder)
    if as_json:
        say_json({**result.to_dict(), "written": [str(path) for path in written]})
    else:
        _print(result, [str(path) for path in written])
    if not result.passed:
        raise click.exceptions.Exit(1)


def _print(result: AuditResult, written: list[str]) -> None:
    from discreet.audit.result import HEADERS
    from discreet.cli.render import print_table, wrapped

    rows = [case.cells() for case in result.cases]
    print_table("Certified lower bounds on epsilon beside claims", HEADERS, rows)
    say()
    for sentence in result.sentences():
        say(wrapped(sentence))
    say(f"CPU time: {result.seconds:.0f} s.")
    for path in written:
        say(f"Written  {path}")
