"""Define command-line options that several commands share."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar, cast

import click

from discreet.cli.command_session import Session
from discreet.cli.terminal import say_json
from discreet.design.dates import day_of_text
from discreet.errors import DesignError, OutputError, SpecError

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit
    from discreet.analyst.model import CovType
    from discreet.analyst.solvers.penalised import Criterion, Penalty
    from discreet.design.design import Design
    from discreet.releases.release import Release
    from discreet.spark.spark_session import SparkInput
    from discreet.tables.database import DatabaseTable

# -- options -----------------------------------------------------------------------------------------------------------
# Options that several commands share, and the reading of their texts.

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
    from discreet.tables.database import DatabaseTable

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


# -- assumption options ------------------------------------------------------------------------------------------------
# Options that state what a planner assumes about a table, and the reading of their texts.

_LIKE: Final = {
    "share": "treated=0.02, or region=north:0.7,south:0.3",
    "mean": "age=40, or day=2021-06-30",
    "sd": "age=12",
    "slope": "age=150, or region=south:-2,east:1 (of an interaction likewise: ar=south:3,east:0)",
    "correlation": "0.9, or age,hours=0.9",
}
_HELP: Final = {
    "share": ("Share of rows that are true, or that have each level", "equal shares"),
    "mean": ("Mean of a numeric column", "the middle of its bounds"),
    "sd": ("Standard deviation of a numeric column", "that of a uniform distribution"),
    "slope": ("Assumed coefficient of a column", "set so that the model explains --rsquared"),
    "correlation": ("Correlation of every pair of numeric columns, or of one pair", "0"),
}
_METAVAR: Final = {
    "share": "NAME=S",
    "mean": "NAME=M",
    "sd": "NAME=S",
    "slope": "NAME=B",
    "correlation": "[A,B=]R",
}


def assumption_options(command: Command) -> Command:
    """Add what a planner may state; each option may be given several times."""
    for name, (what, default) in reversed(_HELP.items()):
        text = f"{what}: {_LIKE[name]}.  [default: {default}]"
        option = click.option(f"--{name}", f"{name}_words", multiple=True, metavar=_METAVAR[name], help=text)
        command = option(command)
    return command


def assume_table(words: Mapping[str, Iterable[str]], columns: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """What is stated by column, from the words of each option.

    >>> assume_table({"share": ["t=0.02", "g=a:0.7,b:0.3"], "mean": ["x=4"]}, {"t": bool, "g": ["a", "b"], "x": (0, 9)})
    {'t': {'share': 0.02}, 'g': {'share': {'a': 0.7, 'b': 0.3}}, 'x': {'mean': 4.0}}
    """
    out: dict[str, dict[str, object]] = {}
    for key, given in words.items():
        for word in given:
            name, text = _split(key, word, columns)
            stated = out.setdefault(name, {})
            if key in stated:
                raise SpecError(f"--{key} of {name!r} is given twice; give it once")
            by_level = key in ("share", "slope") and ":" in text
            if key == "mean" and day_of_text(text.strip()) is not None:
                stated[key] = text.strip()
            else:
                stated[key] = _by_level(key, word, text) if by_level else number(f"--{key} {name}", text)
    return out


def correlation_table(words: Iterable[str]) -> float | dict[tuple[str, str], float] | None:
    """One number for all pairs, or a number for each of several pairs.

    >>> correlation_table(["age,hours=0.9"]), correlation_table(["0.3"])
    ({('age', 'hours'): 0.9}, 0.3)
    """
    given = list(words)
    if len(given) == 1 and "=" not in given[0]:
        return number("--correlation", given[0])
    pairs: dict[tuple[str, str], float] = {}
    for word in given:
        names, equals, text = word.rpartition("=")
        if not equals:
            raise SpecError("--correlation was given more than once; give one number, or pairs only")
        pair = split_names(names)
        if len(pair) != 2:
            raise SpecError(f"--correlation {word!r} does not name two columns; write it like {_LIKE['correlation']}")
        first, second = pair
        if (first, second) in pairs or (second, first) in pairs:
            raise SpecError(f"--correlation of {first!r} and {second!r} is given twice; give it once")
        pairs[first, second] = number(f"--correlation {names}", text)
    return pairs or None


def _split(key: str, word: str, columns: Mapping[str, object]) -> tuple[str, str]:
    """Column and value; a declared name may itself hold '='."""
    splits = [index for index, letter in enumerate(word) if letter == "="]
    for index in reversed(splits):
        if word[:index].strip() in columns:
            return word[:index].strip(), word[index + 1 :]
    if not splits:
        raise SpecError(f"--{key} {word!r} has no '='; write it like {_LIKE[key]}")
    from discreet.analyst.planning.assumptions import unknown_column

    raise SpecError(f"--{key}: {unknown_column(word[: splits[0]].strip(), columns)}; write it like {_LIKE[key]}")


def _by_level(key: str, word: str, text: str) -> dict[str, float]:
    out: dict[str, float] = {}
    for part in split_names(text):
        level, colon, value = part.rpartition(":")
        if not colon:
            raise SpecError(f"--{key} {word!r}: {part!r} has no ':'; write it like {_LIKE[key]}")
        if level.strip() in out:
            raise SpecError(f"--{key} {word!r}: the level {level.strip()!r} is listed twice; list it once")
        out[level.strip()] = number(f"--{key} {level.strip()}", value)
    return out


# -- engine ------------------------------------------------------------------------------------------------------------
# Options that say which program reads and sums a table, and what they mean together.

_ENGINES: Final = ("here", "spark")


def engine_options(command: Command) -> Command:
    """Add which program sums the table, and where it runs."""
    command = click.option(
        "--master",
        metavar="URL",
        help="With --engine spark: local[2], spark://HOST:7077, yarn, k8s://..., or sc://HOST for Spark Connect.",
    )(command)
    return click.option(
        "--engine",
        default="here",
        show_default=True,
        metavar="NAME",
        help="`spark`: sum Parquet files or a --table of its catalogue on a cluster; needs --master.",
    )(command)


def table_of(
    engine: str, master: str | None, data: str | None, database: str | None, table: str | None
) -> str | DatabaseTable | SparkInput:
    """What was named, checked before anything is opened or started.

    >>> table_of("here", None, "people.csv", None, None)
    'people.csv'
    """
    if engine not in _ENGINES:
        raise SpecError.unknown_name("engine", engine, _ENGINES)
    if engine == "here":
        if master is not None:
            raise SpecError("--master is where Spark runs; give it with --engine spark, or leave it out")
        return chosen_table(data, database, table)
    if master is None:
        raise SpecError("--engine spark needs --master, such as local[2], spark://HOST:7077 or sc://HOST:15002")
    if database is not None:
        raise SpecError("--database is a DuckDB file, which Spark does not read; leave --engine spark out")
    from discreet.spark.spark_session import SparkInput

    return SparkInput(master, data, table)


@contextmanager
def opened(given: str | DatabaseTable | SparkInput) -> Iterator[object]:
    """What a release is made of: of Spark a table, as long as its session lasts; else what was named."""
    # a path needs no look at what it would be on Spark
    if isinstance(given, str):
        yield given
        return
    from discreet.spark.spark_session import SparkInput

    if isinstance(given, SparkInput):
        with given.opened() as frame:
            yield frame
    else:
        yield given


def written_over(given: str | DatabaseTable | SparkInput) -> list[str]:
    """Paths that must not be written to, as the table is in them."""
    if isinstance(given, str):
        return [table_path(given)]
    from discreet.spark.spark_session import SparkInput

    if isinstance(given, SparkInput):
        return [] if given.path is None else [given.path]
    return [table_path(given)]


# -- design file -------------------------------------------------------------------------------------------------------
# The design that a command is given.


def load_design(path: str, *, as_json: bool) -> Design:
    """Read a design; with `--json` its problems are also printed as one document."""
    from discreet.design.design import Design

    try:
        return Design.load(path)
    except DesignError as error:
        if as_json:
            say_json({"design": path, "problems": [problem.to_dict() for problem in error.problems]})
        raise
