"""`discreet merge`: make one release from the parts of all curators."""

from __future__ import annotations

import click

from discreet.cli.command_session import Session as Run
from discreet.cli.options import output_options, refuse_overwriting
from discreet.cli.release import facts, summary
from discreet.cli.terminal import say, say_json


@click.command("merge", short_help="Merge the parts of several curators into a release.")
@click.argument("parts", nargs=-1, required=True, metavar="PART...")
@click.option("--session", "session_path", metavar="S.toml", help="The session to which the parts must belong.")
@click.option(
    "--merger-noise",
    is_flag=True,
    help="Draw the noise while merging, which shows you the exact pooled sums; required if the session says so.",
)
@click.option("--sign", metavar="KEY.pem", help="Sign with this Ed25519 private key (extra 'sign').")
@click.option("-o", "--output", required=True, metavar="R.json", help="Where to write the release.")
@output_options
def command(
    run: Run,
    parts: tuple[str, ...],
    session_path: str | None,
    merger_noise: bool,
    sign: str | None,
    output: str,
    force: bool,
    as_json: bool,
) -> None:
    """Merge the parts of all curators of a session into one release.

    Every part is checked: its signature, its session, and that no part is missing, repeated or foreign. No additional
    budget is spent, and the same parts give the same file.
    """
    from discreet.files import check_output
    from discreet.parts.merging import merge

    refuse_overwriting(output, *parts, *filter(None, [session_path, sign]))
    check_output(output, force=force)
    made = merge(parts, session=session_path, merger_noise=merger_noise, sign=sign)
    run.will_write(output)
    made.save(output, force=force)
    if as_json:
        terms = None if made.curators is None else made.curators.to_dict()
        say_json(facts(made, output) | {"curators": terms})
    else:
        say(summary(made, output))
