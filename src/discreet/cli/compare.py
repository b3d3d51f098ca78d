"""`discreet compare`: compare several models of one release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from discreet.cli.options import debug_option, json_option, number
from discreet.cli.terminal import say, say_json

if TYPE_CHECKING:
    from discreet.analyst.comparison import ModelComparison


@click.command("compare", short_help="Compare models of a release; free.")
@click.argument("release_path", metavar="R.json")
@click.argument("formulas", metavar="FORMULA...", nargs=-1, required=True)
@click.option("--level", default="0.95", show_default=True, metavar="L", help="Confidence level of the R^2 intervals.")
@json_option
@debug_option
def command(release_path: str, formulas: tuple[str, ...], level: str, as_json: bool) -> None:
    """Compare linear models of the release R.json, such as "income ~ age" "income ~ age + region".

    For each model: R^2, the expected squared error of a row, AIC and BIC. Both criteria include the noise of the
    release. Without noise they equal those of statsmodels. --json has both versions. A model that is nested in another
    is tested against it. Comparing models spends no privacy budget.
    """
    from discreet.analyst.comparison import compare_models
    from discreet.cli.terminal import warn_not_private
    from discreet.releases.reference_distribution import checked_level
    from discreet.releases.release import Release

    wanted = checked_level(number("level", level))
    made = Release.load(release_path)
    compared = compare_models(made, formulas, level=wanted)
    warn_not_private(made, as_json=as_json)
    if as_json:
        say_json({**compared.to_dict(), "level": wanted, "private": made.private})
    else:
        print_comparison(compared)


def print_comparison(compared: ModelComparison) -> None:
    """Print a row for each model, the tests of nested models, and notes."""
    from discreet.analyst.comparison import POST_PROCESSING, model_cells, nested_line
    from discreet.cli.terminal import LABEL, labelled, print_table

    headers = ("model", "coefficients", "adjusted R^2", "interval", "squared error", "AIC", "BIC")
    rows = [(one.terms, str(one.coefficients), *model_cells(one)) for one in compared.models]
    print_table(f"Models of {compared.target}", headers, rows)
    for one in compared.nested:
        say(labelled("Nested", nested_line(compared, one), LABEL))
    for note in filter(None, (compared.estimated, POST_PROCESSING)):
        say(labelled("Note", note, LABEL))
    if any(one.repaired for one in compared.models):
        repaired = ", ".join(one.terms for one in compared.models if one.repaired)
        say(labelled("Note", f"Repaired, because the noise outweighs the signal: {repaired}.", LABEL))
