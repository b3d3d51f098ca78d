"""`discreet fit`: a linear model from a release, at no further cost."""

from __future__ import annotations

from typing import Unpack

import click

from discreet.cli.options import ModelChoice, debug_option, fitted, json_option, model_options, number
from discreet.cli.terminal import say_json


@click.command("fit", short_help="Fit a model to a release; free.")
@click.argument("release_path", metavar="R.json")
@model_options
@click.option(
    "--robust",
    is_flag=True,
    help="Robust standard errors (HC1), clustered by person if the design has an id; needs a release made with "
    "--robust.",
)
@click.option(
    "--cov-type",
    metavar="NAME",
    help="Kind of standard errors in statsmodels' words: nonrobust, HC0 or HC1; the last two need a release made with "
    "--robust.",
)
@click.option("--level", default="0.95", show_default=True, metavar="L", help="Confidence level of the intervals.")
@json_option
@debug_option
def command(
    release_path: str,
    robust: bool,
    cov_type: str | None,
    level: str,
    as_json: bool,
    **choice: Unpack[ModelChoice],
) -> None:
    """Fit a linear model to the release R.json.

    You can fit as many models as you like: fitting spends no privacy budget. A release of coefficients holds only one
    model, the declared one.
    """
    from discreet.analyst.inference.reference_law import checked_level
    from discreet.cli.render import print_fit, warn_not_private
    from discreet.releases import Release

    wanted = checked_level(number("level", level))
    made = Release.load(release_path)
    plain = fitted(made, choice, cov_type)
    model = plain.robust() if robust and cov_type is None else plain
    warn_not_private(made, as_json=as_json)
    if as_json:
        say_json(model.to_dict(wanted))
    else:
        print_fit(model, wanted)
