"""`discreet fit`: a linear model from a release, at no further cost."""

from __future__ import annotations

from typing import Unpack

import click

from discreet.cli.options import ModelChoice, debug_option, fitted, json_option, model_options
from discreet.cli.terminal import say_json


@click.command("fit", short_help="Fit a model to a release; free.")
@click.argument("release_path", metavar="R.json")
@model_options
@click.option(
    "--robust",
    is_flag=True,
    help="Robust standard errors (HC1), if the release was made with --robust; persons have clustered ones.",
)
@json_option
@debug_option
def command(release_path: str, robust: bool, as_json: bool, **choice: Unpack[ModelChoice]) -> None:
    """Fit a linear model to the release R.json; fitting costs no further privacy, however many models.

    A release of coefficients holds one model, the declared one.
    """
    from discreet.cli.render import print_fit, warn_not_private
    from discreet.releases import Release

    made = Release.load(release_path)
    plain = fitted(made, choice)
    model = plain.robust() if robust else plain
    warn_not_private(made, as_json=as_json)
    if as_json:
        say_json(model.to_dict())
    else:
        print_fit(model)
