"""`discreet plot`: plot a model of a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Unpack

import click

from discreet.cli.command_session import Session
from discreet.cli.options import (
    ModelChoice,
    fitted,
    level_option,
    model_options,
    number,
    output_options,
    refuse_overwriting,
    robust_option,
)
from discreet.cli.terminal import say, say_json
from discreet.errors import OptionError

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit
    from discreet.analyst.plots.coefficient_plots import Scale
    from discreet.design.columns import Base


@click.command("plot", short_help="Plot the coefficients or predictions of a model; free.")
@click.argument("release_path", metavar="R.json")
@model_options
@robust_option
@level_option
@click.option(
    "--scale",
    metavar="NAME",
    help="range (the change of the target over the declared range of each column, on one axis) or unit (the "
    "coefficients themselves, an axis for each unit).  [default: range]",
)
@click.option("--prediction", metavar="COLUMN", help="Draw predictions over the declared range of a column instead.")
@click.option(
    "--at",
    "at_words",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of another column in --prediction; may be repeated.  [default: the middle of its bounds, false, or the "
    "reference level]",
)
@click.option("--obs", is_flag=True, help="Show intervals of --prediction for a new observation instead of the mean.")
@click.option("-o", "--output", metavar="FILE", help="File for the plot: .svg, .png or .pdf; optional with --json.")
@output_options
def command(
    session: Session,
    release_path: str,
    robust: bool,
    level: str,
    scale: str | None,
    prediction: str | None,
    at_words: tuple[str, ...],
    obs: bool,
    output: str | None,
    force: bool,
    as_json: bool,
    **choice: Unpack[ModelChoice],
) -> None:
    """Plot the coefficients of a model of the release R.json with their confidence sets, or its predictions.

    Each interval is split into sampling error and the part that privacy noise adds. Plotting spends no privacy budget.
    """
    from discreet.analyst.plots.coefficient_plots import checked_scale
    from discreet.analyst.plots.style import checked_destination
    from discreet.cli.terminal import warn_not_private
    from discreet.releases.reference_distribution import checked_level
    from discreet.releases.release import Release

    if output is None and not as_json:
        raise click.UsageError("Missing option '-o' / '--output'.")
    if output is not None:
        refuse_overwriting(output, release_path)
        checked_destination(output, force=force)
    if prediction is None and (at_words or obs):
        raise OptionError(
            f"{'--at' if at_words else '--obs'} requires --prediction COLUMN; pass it, or leave the option out",
            option="at",
        )
    if prediction is not None and scale is not None:
        raise OptionError(
            "--scale cannot be used with --prediction, whose axes are the target and the column", option="scale"
        )
    wanted = checked_level(number("level", level))
    units = checked_scale("range" if scale is None else scale)
    made = Release.load(release_path)
    model = fitted(made, choice, robust=robust)
    at = at_table(at_words, model.table_columns)
    warn_not_private(made, as_json=as_json)
    if output is not None:
        session.will_write(output)
        if prediction is None:
            model.plot(output, scale=units, level=wanted, force=force)
        else:
            model.plot_prediction(prediction, output, at=at, obs=obs, level=wanted, force=force)
    if as_json:
        say_json(effects(model, wanted, units) if prediction is None else line(model, prediction, at, wanted, obs=obs))
    else:
        say(f"Written  {output}")


def effects(model: Fit, level: float, scale: Scale) -> dict[str, object]:
    """Return the data of the coefficient plot, panel by panel."""
    from discreet.analyst.plots.coefficient_plots import panels

    shown = [
        {"axis": one.label, "effects": [asdict(effect) for effect in one.effects]}
        for one in panels(model, level, scale)
    ]
    return {"target": model.target, "scale": scale, "level": level, "panels": shown}


def line(model: Fit, column: str, at: Mapping[str, object], level: float, *, obs: bool) -> dict[str, object]:
    """Return the data of the prediction plot."""
    from discreet.analyst.plots.prediction_plot import predicted_line

    return {"target": model.target} | predicted_line(model, column, at, level, obs=obs).to_dict()


def at_table(given: tuple[str, ...], columns: Mapping[str, Base]) -> dict[str, object]:
    """Parse values such as `age=40` according to the declared type of each column. The library checks them."""
    from discreet.design.columns import Boolean, Numeric

    table: dict[str, object] = {}
    for word in given:
        name, sign, text = (part.strip() for part in word.partition("="))
        if not sign or not name or name in table:
            raise OptionError(f"--at {word!r} is not allowed; write each column once, as NAME=VALUE", option="at")
        column = columns.get(name)
        if isinstance(column, Numeric):
            table[name] = number(f"--at {name}", text)
        elif isinstance(column, Boolean):
            table[name] = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
                text.lower(), text
            )
        else:
            levels = () if column is None else column.levels
            table[name] = next((level for level in levels if str(level) == text), text)
    return table
