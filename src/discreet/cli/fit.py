"""`discreet fit`: a linear model from a release, at no further cost."""

from __future__ import annotations

from typing import Unpack

import click

from discreet.cli.options import ModelChoice, debug_option, fitted, json_option, model_options
from discreet.cli.terminal import complain, say_json


@click.command("fit", short_help="Fit a model to a release; free.")
@click.argument("release_path", metavar="R.json")
@model_options
@json_option
@debug_option
def command(release_path: str, as_json: bool, **choice: Unpack[ModelChoice]) -> None:
    """Fit a linear model to the release R.json; any number of models cost nothing."""
    from discreet.cli.render import NOT_PRIVATE, print_fit
    from discreet.releases import Release

    made = Release.load(release_path)
    model = fitted(made, choice)
    if not as_json:
        print_fit(model)
        return
    if not made.private:
        complain("notice", NOT_PRIVATE)
    say_json(model.to_dict())
