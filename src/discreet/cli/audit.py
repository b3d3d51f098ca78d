"""`discreet audit`: compare lower bounds on epsilon with the claims of every mechanism and primitive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from discreet.cli.options import debug_option, json_option
from discreet.cli.terminal import say, say_json
from discreet.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.audit.audit_result import AuditResult
    from discreet.audit.membership_result import MembershipResult


@click.command("audit", short_help="Attack the mechanisms to test their privacy claims.")
@click.argument("mechanism", required=False)
@click.option(
    "--full",
    is_flag=True,
    help="Also attack every pair of tables through the whole public function; takes an hour on two cores.",
)
@click.option("--membership", is_flag=True, help="Run membership attacks on a public table, with and without noise.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Number of processes.  [default: all cores]")
@click.option("-o", "--output", metavar="DIR", help="Folder to write a plot and the JSON document to.")
@json_option
@debug_option
def command(
    mechanism: str | None, full: bool, membership: bool, workers: int | None, output: str | None, as_json: bool
) -> None:
    """Attack MECHANISM, or every mechanism and primitive, with the production sampler on pairs of simulated tables.

    For each, print the claimed epsilon and the epsilon that the outputs certify, at 99% confidence for all of them
    together. This takes a few minutes, does not read your data and spends no budget. The exit code is 1 if a claim is
    refuted. Passing is not a proof.

    With --membership, an attacker who knows all other rows of a public table tries to tell whether one more row is in
    it, from least squares without noise (NOT PRIVATE) and from releases at three budgets.
    """
    from discreet.audit.audit_result import prepared_folder, write_result
    from discreet.audit.auditing import run_audit
    from discreet.audit.membership import membership_attack
    from discreet.cli.terminal import counting_bar

    if membership and (mechanism is not None or full or workers is not None):
        raise OptionError(
            "--membership can be combined with --json and -o only; leave out MECHANISM, --full and --workers",
            option="membership",
        )
    folder = None if output is None else prepared_folder(output)
    result: AuditResult | MembershipResult
    with counting_bar() as progress:
        if membership:
            result = membership_attack(progress=progress)
        else:
            result = run_audit(mechanism, full=full, workers=workers, progress=progress)
    written = () if folder is None else write_result(result, folder)
    if as_json:
        say_json({**result.to_dict(), "written": [str(path) for path in written]})
    else:
        _print(result, [str(path) for path in written])
    if not result.passed:
        raise click.exceptions.Exit(1)


def _print(result: AuditResult | MembershipResult, written: Sequence[str]) -> None:
    from discreet.audit.audit_result import HEADERS
    from discreet.audit.membership_result import MEMBERSHIP_HEADERS, MembershipResult
    from discreet.cli.terminal import print_table, wrapped

    if isinstance(result, MembershipResult):
        rows = [attack.cells() for attack in result.attacks]
        print_table("Who is in the table? Rows found, beside what is allowed", MEMBERSHIP_HEADERS, rows)
    else:
        rows = [case.cells() for case in result.cases]
        print_table("Certified lower bounds on epsilon beside claims", HEADERS, rows)
    say()
    for sentence in result.sentences():
        say(wrapped(sentence))
    say(f"CPU time: {result.seconds:.0f} s.")
    for path in written:
        say(f"Written  {path}")
