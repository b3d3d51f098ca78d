"""`discreet path`: fit one model of a release at many strengths, and mark the best one."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Unpack, cast

import click

from discreet.cli.command_session import Session
from discreet.cli.flags import FLAGS
from discreet.cli.options import (
    ColumnChoice,
    chosen_columns,
    column_options,
    number,
    output_options,
    ratio_option,
    refuse_overwriting,
)
from discreet.cli.terminal import say, say_json
from discreet.wording import worded

if TYPE_CHECKING:
    from discreet.analyst.path import Path
    from discreet.analyst.solvers.penalised import Penalty


@click.command("path", short_help="Fit a penalised model at many penalty strengths; free.")
@click.argument("release_path", metavar="R.json")
@column_options
@click.option("--penalty", default="lasso", show_default=True, metavar="NAME", help="lasso, elastic-net or ridge.")
@ratio_option
@click.option("--plot", metavar="FILE", help="Also plot the slopes against the strength: a .svg, .png or .pdf file.")
@output_options
def command(
    session: Session,
    release_path: str,
    penalty: str,
    l1_ratio: str | None,
    plot: str | None,
    force: bool,
    as_json: bool,
    **choice: Unpack[ColumnChoice],
) -> None:
    """Fit a penalised model to the release R.json at 100 or more strengths, from strong to weak, and mark the best one.

    The best strength has the smallest criterion: an estimate of the expected squared prediction error, for the target
    scaled to [-1, 1], computed from the release alone. Only differences of the criterion are meaningful.
    """
    from discreet.analyst.path import path
    from discreet.cli.terminal import warn_not_private
    from discreet.files import check_output
    from discreet.releases.release import Release

    made = Release.load(release_path)
    ratio = None if l1_ratio is None else number("l1-ratio", l1_ratio)
    if plot is not None:
        refuse_overwriting(plot, release_path)
        check_output(plot, force=force)
    found = path(made, **chosen_columns(choice), penalty=cast("Penalty", penalty), l1_ratio=ratio)
    if plot is not None:
        session.will_write(plot)
        found.plot(plot, force=force)
    warn_not_private(made, as_json=as_json)
    if as_json:
        say_json(facts(found))
        return
    print_path(found)
    if plot is not None:
        say(f"Picture  {plot}")
    strength = "criterion" if None not in criteria(found) else f"{found.strengths[-1]:g}"
    say(f"Next     {repeated(release_path, penalty, strength, l1_ratio, choice)}")


def facts(found: Path) -> dict[str, object]:
    """Return the document that `--json` prints."""
    from discreet.analyst.notes import notes
    from discreet.releases.reference_distribution import reason_of

    guarantee = found.release.guarantee
    reason = reason_of(found.criterion)
    return {
        "target": found.model.target,
        "features": list(found.model.features),
        "intercept": found.model.intercept,
        "penalty": found.penalty,
        "l1_ratio": found.l1_ratio,
        "best": found.chosen,
        "criterion_reason": reason,
        "path": [
            {
                "strength": strength,
                "nonzero": nonzero,
                "criterion": criterion,
                "params": dict(zip(found.names, coefficients, strict=True)),
            }
            for strength, nonzero, criterion, coefficients in zip(
                found.strengths.tolist(),
                found.nonzero,
                criteria(found),
                found.coefficients.T.tolist(),
                strict=True,
            )
        ],
        "private": found.release.private,
        "epsilon": None if guarantee is None else guarantee.epsilon,
        "delta": None if guarantee is None else guarantee.delta,
        "neighbours": None if guarantee is None else guarantee.neighbours,
        "notes": notes(found.fit(None if reason is None else 0)),
    }


def print_path(found: Path) -> None:
    """Print ten strengths around the best one, with the best one marked, and notes."""
    from discreet.analyst.notes import notes
    from discreet.analyst.path import HEADERS
    from discreet.analyst.summary import penalty_line
    from discreet.cli.terminal import LABEL, labelled, print_table
    from discreet.releases.reference_distribution import reason_of

    chosen, places = found.chosen, found.shown
    title = f"{found.model.target} on {', '.join(found.model.features)}"
    print_table(title, HEADERS, found.cells(places))
    if len(places) < len(found.strengths):
        weaker = len(found.strengths) - places.stop
        say(f"{places.start + weaker} other penalties are not shown; --json lists all.")
    shown = found.fit(None if chosen is not None else 0)
    choice = penalty_line(shown) if chosen is not None else f"none: {worded(reason_of(found.criterion), FLAGS)}"
    say(labelled("Chosen", choice, LABEL))
    guarantee = found.release.guarantee
    if guarantee is not None:
        say(labelled("Promise", guarantee.sentence(), LABEL))
    for note in notes(shown):
        say(labelled("Note", worded(note, FLAGS), LABEL))


def criteria(found: Path) -> list[float] | list[None]:
    """Return the criterion at each strength, or a list of None if it is not estimable."""
    from discreet.releases.reference_distribution import known

    values = known(found.criterion)
    return [None] * len(found.strengths) if values is None else values.tolist()


def repeated(release_path: str, penalty: str, strength: str, l1_ratio: str | None, choice: ColumnChoice) -> str:
    """Return the command that fits the model at this strength."""
    given = {"--target": choice["target"], "--features": choice["features"], "--l1-ratio": l1_ratio}
    words = ["discreet", "fit", release_path, "--penalty", penalty, "--strength", strength]
    for flag, text in given.items():
        words += [] if text is None else [flag, text]
    return shlex.join([*words, *(["--no-intercept"] if choice["no_intercept"] else [])])
