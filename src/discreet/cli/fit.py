"""`discreet fit`: fit a linear model to a release, at no additional privacy cost."""

from __future__ import annotations

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
from discreet.cli.terminal import complain, say, say_json
from discreet.errors import OptionError

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit
    from discreet.analyst.tables.regression_table import Format


@click.command("fit", short_help="Fit a model to a release; free.")
@click.argument("release_path", metavar="R.json")
@model_options
@robust_option
@click.option(
    "--cov-type",
    metavar="NAME",
    help="Kind of standard errors, as in statsmodels: nonrobust, HC0 or HC1; the last two require a release made with "
    "--robust.",
)
@level_option
@click.option(
    "--format",
    "kind",
    metavar="NAME",
    help="Print a table for a paper or a page instead: text, md (Markdown), tex (LaTeX with booktabs), html or csv "
    "(a line for each coefficient, in the columns of R's broom).",
)
@click.option("-o", "--output", metavar="FILE", help="Write that table to a file: .txt, .md, .tex, .html or .csv.")
@output_options
def command(
    session: Session,
    release_path: str,
    robust: bool,
    cov_type: str | None,
    level: str,
    kind: str | None,
    output: str | None,
    force: bool,
    as_json: bool,
    **choice: Unpack[ModelChoice],
) -> None:
    """Fit a linear model to the release R.json.

    You can fit as many models as you like: fitting spends no privacy budget. A release of coefficients contains only
    one model, the declared one.
    """
    from discreet.cli.terminal import NOT_PRIVATE, print_fit, warn_not_private
    from discreet.files import check_output, write_bytes
    from discreet.releases.reference_distribution import checked_level
    from discreet.releases.release import Release

    wanted = checked_level(number("level", level))
    if robust and cov_type is not None:
        raise OptionError("--robust means --cov-type HC1; pass only one of these options", option="robust")
    chosen = chosen_format(kind, output, as_json=as_json)
    if output is not None:
        refuse_overwriting(output, release_path)
        check_output(output, force=force)
    made = Release.load(release_path)
    model = fitted(made, choice, cov_type, robust=robust)
    if chosen is None:
        warn_not_private(made, as_json=as_json)
        if as_json:
            say_json(model.to_dict(wanted))
        else:
            print_fit(model, wanted)
        return
    if not made.private:
        complain("notice", NOT_PRIVATE)
    text = table_text(model, chosen, wanted)
    if output is None:
        say(text.rstrip("\n"))
        return
    session.will_write(output)
    write_bytes(output, text.encode(), force=force)
    say(f"Written  {output}")


def chosen_format(kind: str | None, output: str | None, *, as_json: bool) -> Format | None:
    """Return the requested table format, from its name or the output file, or None for the default printout."""
    from discreet.analyst.tables.regression_table import FORMATS, format_of

    if kind is None and output is None:
        return None
    if as_json:
        raise OptionError(
            "--json cannot be used with --format or -o; leave --json out, or leave out --format and -o", option="json"
        )
    for known in FORMATS:
        if kind == known:
            found = known if output is None else format_of(output)
            if found != known:
                raise OptionError(
                    f"--format {known} does not match the output name {output!r}, which selects {found}; "
                    "leave --format out, or choose another name",
                    option="format",
                )
            return known
    if kind is not None or output is None:
        raise OptionError.unknown_name("format", kind, FORMATS, option="format")
    return format_of(output)


def table_text(model: Fit, kind: Format, level: float) -> str:
    """Format the table of a fit. CSV has a line for each coefficient, with all digits."""
    return model.to_csv(level) if kind == "csv" else model.table(level).written(kind)
