"""Options that several commands share, and the reading of their texts."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar, cast

import click

from discreet.cli.session import Session
from discreet.errors import OutputError, SpecError

if TYPE_CHECKING:
    from discreet.analyst.model import CovType, Fit, Penalty
    from discreet.analyst.solvers.penalties import Criterion
    from discreet.releases import Release
    from discreet.tables.files.database import DatabaseTable

Command = TypeVar("Command", bound=Callable[..., Any])

_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
_TABS: Final = ("\\t", "tab")


def _set_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and isinstance(context.obj, Session):
        context.obj.debug = True


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=_set_debug,
    help="Show a traceback on errors (never prints data).",
)
force_option = click.option("--force", is_flag=True, help="Replace the output file if it exists.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")


def output_options(command: Command) -> Command:
    """Add what every command that writes a file and prints JSON has, and hand it the session."""
    made: Callable[..., Any] = click.pass_obj(command)
    for option in (debug_option, json_option, force_option):
        made = option(made)
    return cast("Command", made)


class _Reading(TypedDict):
    delimiter: str | None
    decimal: str
    thousands: str | None
    quoted_line_breaks: bool


class ReadingChoice(_Reading):
    """What `reading_options` hand to a command, and the arguments of every public function that reads a table."""

    encoding: str


class ProposedReading(_Reading):
    """What `proposed_reading_options` hand to a command."""

    encoding: str | None


def reading_options(command: Command) -> Command:
    """Add how CSV files are written."""
    return _reading_options(command, "utf-8", {"encoding": "utf-8", "delimiter": "a tab in .tsv files, else a comma"})


def proposed_reading_options(command: Command) -> Command:
    """Add the same where encoding and delimiter are proposed from the header line unless they are given."""
    proposed = "proposed from the header line"
    return _reading_options(command, None, {"encoding": proposed, "delimiter": proposed})


def _reading_options(command: Command, encoding: str | None, defaults: dict[str, str]) -> Command:
    command = click.option(
        "--quoted-line-breaks",
        is_flag=True,
        help="Quoted cells of a CSV file may hold line breaks; the file is read strictly by RFC 4180.",
    )(command)
    command = click.option(
        "--thousands", metavar="CHAR", help="Character between groups of three digits in a CSV file.  [default: none]"
    )(command)
    command = click.option(
        "--decimal", default=".", show_default=True, metavar="CHAR", help="Decimal character in a CSV file: . or ,"
    )(command)
    command = click.option(
        "--delimiter",
        metavar="CHAR",
        callback=lambda context, parameter, value: value if value is None else delimiter_sign(value),
        help=f"Character that separates the cells of a CSV file.  [default: {defaults['delimiter']}]",
    )(command)
    return click.option(
        "--encoding",
        default=encoding,
        metavar="NAME",
        help=f"Text encoding of a CSV file.  [default: {defaults['encoding']}]",
    )(command)


def table_options(command: Command) -> Command:
    """Add a table of a database in place of a file of rows."""
    command = click.option("--table", metavar="NAME", help="Table or view of the database; needs --database.")(command)
    return click.option(
        "--database", metavar="FILE", help="Read a table of this DuckDB file, in place of a file of rows."
    )(command)


def chosen_table(file: str | None, database: str | None, table: str | None, what: str = "DATA") -> str | DatabaseTable:
    """The file of rows or the table of a database that was named, whichever it is.

    >>> chosen_table("people.csv", None, None)
    'people.csv'
    """
    if file is not None and (database is not None or table is not None):
        raise SpecError(f"both {what} ({file!r}) and a table of a database are given; give one of them")
    if file is not None:
        return file
    if database is None and table is None:
        raise SpecError(f"no table is given; give {what}, the path of a file, or --database FILE with --table NAME")
    if database is None or table is None:
        raise SpecError("--database and --table go together: a DuckDB file, and the name of a table or view in it")
    from discreet.tables.files.database import DatabaseTable

    return DatabaseTable(database, table)


def table_words(table: str | DatabaseTable) -> list[str]:
    """The words of a command line that name a table again."""
    if isinstance(table, str):
        return [table]
    return ["--database", str(table.database), "--table", table.table]


def table_path(table: str | DatabaseTable) -> str:
    """The file in which a table is."""
    return table if isinstance(table, str) else str(table.database)


class ColumnChoice(TypedDict):
    """What `column_options` hand to a command."""

    target: str | None
    features: str | None
    no_intercept: bool


class ModelChoice(ColumnChoice):
    """What `model_options` hand to a command."""

    formula: str | None
    penalty: str
    strength: str | None
    l1_ratio: str | None


def column_options(command: Command) -> Command:
    """Add which columns of a release a model has."""
    command = click.option("--no-intercept", is_flag=True, help="Leave the intercept out.")(command)
    command = click.option(
        "--features", metavar="A,B", help="Declared columns to use as features.  [default: every other column]"
    )(command)
    return click.option(
        "--target", metavar="NAME", help="Declared column to use as the target.  [default: the design's target]"
    )(command)


def ratio_option(command: Command) -> Command:
    """Add the share of L1 in an elastic net."""
    return click.option(
        "--l1-ratio", metavar="R", help="Share of the L1 penalty in elastic-net, from 0 (ridge) to 1 (lasso)."
    )(command)


def model_options(command: Command) -> Command:
    """Add which model to read from a release."""
    command = ratio_option(command)
    command = click.option(
        "--strength",
        metavar="S",
        help="Strength of ridge, lasso or elastic-net: a positive number such as 0.1, or the word criterion to have "
        "it chosen from the release.",
    )(command)
    command = click.option(
        "--penalty",
        default="none",
        show_default=True,
        metavar="NAME",
        help="none (ordinary least squares); bayes (the best predictor); ridge, lasso or elastic-net (need "
        "--strength); or adaptive (a ridge penalty that grows with the noise).",
    )(command)
    command = column_options(command)
    return click.option(
        "--formula",
        metavar="TEXT",
        help="Target and features as a formula, such as 'income ~ age + region'. '.' stands for every other column, "
        "and '- 1' leaves the intercept out.",
    )(command)


robust_model_option = click.option(
    "--robust-model",
    "robust_models",
    multiple=True,
    metavar="FORMULA",
    help="With --robust: a further model with robust standard errors, such as 'y ~ a + b'; can be repeated. Robust "
    "standard errors then take 40% of the budget.",
)
robust_option = click.option(
    "--robust",
    is_flag=True,
    help="Robust standard errors (HC1), clustered by person if the design has an id; needs a release made with "
    "--robust.",
)
level_option = click.option(
    "--level", default="0.95", show_default=True, metavar="L", help="Confidence level of the intervals."
)

design_option = click.option(
    "--design", "design_path", required=True, metavar="FILE", help="The design: declared bounds and levels, as TOML."
)
weak_privacy_option = click.option(
    "--allow-weak-privacy", is_flag=True, help="Accept epsilon above 20 or delta above 1e-3."
)


def mechanism_options(command: Command) -> Command:
    """Add which mechanism makes a release, and its settings."""
    command = click.option(
        "--setting", "settings", multiple=True, metavar="NAME=VALUE", help="Public setting of the mechanism."
    )(command)
    return click.option(
        "--mechanism", default="auto", show_default=True, metavar="NAME", help="One of `discreet mechanisms`."
    )(command)


def number(name: str, text: str, like: str = "1.5 or 1e-6, with a decimal point") -> float:
    """Read a number as people write it; the library judges its size, and `like` shows what is meant.

    >>> number("epsilon", "1e-6")
    1e-06
    >>> number("epsilon", "1,5")
    Traceback (most recent call last):
        ...
    discreet.errors.SpecError: epsilon '1,5' is not a number; write it like 1.5 or 1e-6, with a decimal point
    """
    if not _NUMBER.fullmatch(text.strip()):
        raise SpecError(f"{name} {text!r} is not a number; write it like {like}")
    return float(text)


def names(text: str, what: str = "features") -> list[str]:
    """Read names between commas; a name that has a comma stands in double quotes.

    >>> names('age, "height, in cm"')
    ['age', 'height, in cm']
    """
    found = split_names(text)
    if not found or not all(found):
        raise SpecError(f"{what} {text!r} is not a list of names; write it like age,region")
    return found


def split_names(text: str) -> list[str]:
    """Texts between commas, where double quotes may hold a comma; none at all if the quotes are not closed."""
    try:
        return [name.strip() for row in csv.reader([text], skipinitialspace=True, strict=True) for name in row]
    except csv.Error:
        return []


def delimiter_sign(text: str) -> str:
    """The sign between two cells; a tab may be spelled."""
    return "\t" if text in _TABS else text


def strength_spec(text: str) -> float | Criterion:
    """Read a strength: a number, or the word that has it chosen.

    >>> strength_spec("0.1"), strength_spec("criterion")
    (0.1, 'criterion')
    """
    if text.strip() == "criterion":
        return "criterion"
    if not _NUMBER.fullmatch(text.strip()):
        raise SpecError(f"strength {text!r} is not a number; write it like 0.1, or write the word criterion")
    return float(text)


def fitted(release: Release, choice: ModelChoice, cov_type: str | None = None, *, robust: bool = False) -> Fit:
    """Fit the model that the options name, with robust errors if they ask for them."""
    from discreet.analyst.model import fit

    strength, ratio = choice["strength"], choice["l1_ratio"]
    made = fit(
        release,
        choice["formula"],
        **chosen_columns(choice),
        penalty=cast("Penalty", choice["penalty"]),
        strength=None if strength is None else strength_spec(strength),
        l1_ratio=None if ratio is None else number("l1-ratio", ratio),
        cov_type=cast("CovType | None", cov_type),
    )
    return made.robust() if robust else made


class Columns(TypedDict):
    """The arguments of `fit` and `path` that say which columns a model has."""

    target: str | None
    features: list[str] | None
    intercept: bool | None


def chosen_columns(choice: ColumnChoice) -> Columns:
    """Read which columns were asked for; what was left out is left to the library."""
    features = choice["features"]
    return {
        "target": choice["target"],
        "features": None if features is None else names(features),
        "intercept": False if choice["no_intercept"] else None,
    }


def refuse_overwriting(output: str, *inputs: str) -> None:
    """Refuse an output that is one of the inputs, which `--force` would destroy."""
    for given in inputs:
        try:
            same = Path(output).samefile(given)
        except (OSError, ValueError):
            # one of them does not exist or is no path
            continue
        if same:
            raise OutputError(f"the output {output!r} is the input {given!r}; choose another name")


def settings_table(words: tuple[str, ...]) -> dict[str, object]:
    """Settings of a mechanism from words such as `passes=10`."""
    table: dict[str, object] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name.strip() or name.strip() in table:
            raise SpecError(f"--setting {word!r} is not allowed; write each setting once, as NAME=VALUE")
        table[name.strip()] = value.strip()
    return table
