"""`discreet mechanisms`: list every mechanism with its guarantee, requirements and costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from discreet.cli.command_session import Session
from discreet.cli.options import debug_option, json_option
from discreet.cli.terminal import say, say_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.accounting.settings import Setting
    from discreet.mechanisms.registry import TableRow

_LABEL: Final = 13  # width of the labels on the left
HEADERS: Final = ("mechanism", "publishes", "delta", "relation", "numerics", "noise of", "d = 5", "d = 20")
FIGURES: Final = (
    "standard deviation of the noise at epsilon = 1 and delta = 1e-6 (0 for pure mechanisms), in scaled units, for 5 "
    "and 20 regressors; figures for different statistics cannot be compared"
)
_AUTO: Final = (
    "With delta above 0: staged, or gaussian if the release has weights, clip counts, clustered standard errors or a "
    "declared radius. Without delta: laplace or k-norm, whichever has the smaller predicted error. The "
    "scikit-learn estimator is for predictions and selects refined if delta is above 0 and no option requires "
    "moments"
)
_DELTA: Final = {"pure": "none", "approximate": "needed", "both": "optional"}


@click.command("mechanisms", short_help="List the mechanisms and their noise.")
@click.argument("name", required=False)
@json_option
@debug_option
@click.pass_obj
def command(session: Session, name: str | None, as_json: bool) -> None:
    """List the mechanisms that `release --mechanism` accepts, or show the details of NAME.

    The noise shown is the standard deviation, in scaled units, of one statistic at epsilon = 1 and delta = 1e-6 (0 for
    a pure mechanism), for 5 and for 20 regressors. For moments the statistic is one normal equation. For coefficients
    it is the one that changes them most. Figures for different statistics cannot be compared.
    """
    from discreet.mechanisms.registry import mechanism_table, table_row

    if name == "auto":
        if as_json:
            say_json({"name": "auto", "summary": _AUTO})
        else:
            say(_AUTO)
        return
    if name is not None:
        row = table_row(name)
        if as_json:
            say_json(row.to_dict())
        else:
            print_row(row)
        return
    rows = mechanism_table()
    if as_json:
        say_json([row.to_dict() for row in rows])
    else:
        print_rows(rows)


def print_rows(rows: tuple[TableRow, ...]) -> None:
    """Print one line for each mechanism."""
    from discreet.cli.terminal import labelled, print_table

    print_table("Mechanisms of discreet release --mechanism NAME", HEADERS, [cells(row) for row in rows])
    say(labelled("d = 5, 20", FIGURES, _LABEL))
    say(labelled("auto", _AUTO, _LABEL))
    say(f"{'Next':<{_LABEL}}discreet mechanisms NAME")


def cells(row: TableRow) -> tuple[str, ...]:
    """Return the cells of a mechanism, one for each of `HEADERS`, for the terminal and the documentation."""
    return (
        row.name,
        row.kind,
        _DELTA[row.notion],
        _relations(row),
        row.numerics,
        row.main,
        *(_main(row, size) for size in row.noise),
    )


def print_row(row: TableRow) -> None:
    """Print everything about one mechanism."""
    from discreet.cli.terminal import labelled, print_table

    facts = [
        (row.name, row.summary),
        ("Publishes", row.kind),
        ("Source", row.document),
        ("Delta", _DELTA[row.notion]),
        ("Guarantee", f"{row.status}; neighbours {' and '.join(row.neighbours)}"),
        ("Persons", "a unit may have several rows" if row.persons else "one row for each person only"),
        ("Clipped rows", "can be counted (--clip-counts)" if row.clip_counts else "cannot be counted"),
        ("Rows in", row.domain),
        ("Needs", "; ".join(row.needs) or "nothing beyond bounds and levels"),
        ("References", "; ".join(row.references)),
    ]
    for label, text in facts:
        say(labelled(label, text, _LABEL))
    for size, noise in row.noise.items():
        say(labelled(f"Noise, d = {size}", _integer(noise), _LABEL + 2))
    if row.settings:
        settings = [(name, _word(one.default), _allowed(one), _meaning(one)) for name, one in row.settings.items()]
        print_table("Settings (--setting NAME=VALUE)", ("name", "default", "allowed", "meaning"), settings)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _allowed(setting: Setting) -> str:
    if isinstance(setting.default, bool):
        return "true, false"
    return ", ".join(setting.choices) or f"{setting.low:g} to {setting.high:g}"


def _meaning(setting: Setting) -> str:
    return f"{setting.about}; only with {setting.condition}" if setting.condition else setting.about


def _relations(row: TableRow) -> str:
    return "both" if len(row.neighbours) > 1 else " ".join(row.neighbours)


def _main(row: TableRow, size: int) -> str:
    noise = row.main_noise(size)
    return "refused" if noise is None else f"{noise:.3g}"


def _integer(noise: Mapping[str, float] | str) -> str:
    if isinstance(noise, str):
        return f"refused: {noise}"
    return ", ".join(f"{statistic} {sd:.3g}" for statistic, sd in noise.items())
