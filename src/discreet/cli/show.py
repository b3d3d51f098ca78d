"""`discreet show`: summarise a release in ten lines."""

from __future__ import annotations

import click

from discreet.cli.options import debug_option, json_option
from discreet.cli.terminal import say, say_json

_LABEL = 11


@click.command("show", short_help="Summarise a release in ten lines; free.")
@click.argument("release_path", metavar="R.json")
@json_option
@debug_option
def command(release_path: str, as_json: bool) -> None:
    """Show what the release R.json contains, its guarantee and how it was made.

    `discreet verify` checks the guarantee against the noise, and `discreet fit` fits a model.
    """
    from discreet.cli.terminal import labelled, warn_not_private
    from discreet.releases.release import Release
    from discreet.releases.release_summary import outline, outline_facts

    made = Release.load(release_path)
    warn_not_private(made, as_json=as_json)
    if as_json:
        say_json(outline_facts(made))
        return
    for label, text in outline(made):
        say(labelled(label, text, _LABEL))
