"""`discreet report`: write a report on a release and a model of it as one page."""

from __future__ import annotations

from typing import Unpack

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


@click.command("report", short_help="Write an HTML report on a release; free.")
@click.argument("release_path", metavar="R.json")
@model_options
@robust_option
@level_option
@click.option("--title", metavar="TEXT", help="Title of the page.  [default: the target]")
@click.option(
    "-o",
    "--output",
    metavar="R.html",
    help="Where to write the page; with --json none is written unless given.  [default: beside the release, such as "
    "income.html for income.release.json]",
)
@output_options
def command(
    session: Session,
    release_path: str,
    robust: bool,
    level: str,
    title: str | None,
    output: str | None,
    force: bool,
    as_json: bool,
    **choice: Unpack[ModelChoice],
) -> None:
    """Write a report on the release R.json and a model fitted to it, as one self-contained HTML page.

    The report states the privacy guarantee, the coefficients and their limitations.
    """
    from discreet.cli.terminal import warn_not_private
    from discreet.files import check_output, check_suffix
    from discreet.pages.page import SUFFIXES, report
    from discreet.releases.release import Release

    if output is None and not as_json:
        output = page_name(release_path)
    if output is not None:
        check_suffix(output, *SUFFIXES, example="R.html")
        refuse_overwriting(output, release_path)
        check_output(output, force=force)
    made = Release.load(release_path)
    chosen = fitted(made, choice, robust=robust)
    page = report(made, chosen, level=number("level", level), title=title, file=release_path)
    if output is not None:
        session.will_write(output)
        page.save(output, force=force)
    warn_not_private(made, as_json=as_json)
    if as_json:
        say_json(page.to_dict())
        return
    if page.view.refusal is not None:
        complain("notice", "the coefficients are not estimable; the page says why, and what still works")
    say(f"Written  {output}")


def page_name(release_path: str) -> str:
    """Return the default path of the report, next to the release.

    >>> page_name("out/income.release.json"), page_name("tiny.NOT-PRIVATE.json")
    ('out/income.html', 'tiny.NOT-PRIVATE.html')
    """
    return f"{release_path.removesuffix('.json').removesuffix('.release')}.html"
