"""Command-line options that several commands share, and the parsing of their values."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar, cast

import click

from discreet.cli.command_session import Session
from discreet.cli.flags import flag_of
from discreet.design.dates import day_of_text
from discreet.errors import OptionError, OutputError, SpecError
from discreet.options import FrontEnd, ReleaseOptions, RobustErrors, front_ends
from discreet.wording import Message

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit
    from discreet.analyst.model import CovType
    from discreet.analyst.solvers.penalised import Criterion, Penalty
    from discreet.design.design import Design
    from discreet.releases.release import Release
    from discreet.spark.spark_session import SparkInput
    from discreet.tables.csv_format import ReadOptions
    from discreet.tables.database import DatabaseTable

# -- options -----------------------------------------------------------------------------------------------------------

Command = TypeVar("Command", bound=Callable[..., Any])

_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
_TABS: Final = ("\\t", "tab")


def _set_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and isinstance(context.obj, Session):
        context.obj.debug = True


def _set_json(context: click.Context, parameter: click.Parameter, value: bool) -> bool:
    if value and isinstance(context.obj, Session):
        context.obj.as_json = True
    return value


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=_set_debug,
    help="Show a traceback on errors (never prints data).",
)
force_option = click.option("--force", is_flag=True, help="Replace the output file if it exists.")
json_option = click.option(
    "--json", "as_json", is_flag=True, callback=_set_json, help="Print one JSON document instead of text."
)


def output_options(command: Command) -> Command:
    """Add the options of commands that write a file and print JSON, and pass the session as their first argument."""
    made: Callable[..., Any] = click.pass_obj(command)
    for option in (debug_option, json_option, force_option):
        made = option(made)
    return cast("Command", made)


def _flag(name: str, front_end: FrontEnd, default: object, shown: str | None = None) -> Callable[[Command], Command]:
    """Return the click option of a field. `shown` is its default as displayed in the help."""
    text = front_end.help if shown is None else f"{front_end.help}  [default: {shown}]"
    if front_end.needs is not None:
        text = f"With {flag_of(front_end.needs)}: {text[0].lower()}{text[1:]}"
    if front_end.kind == "switch":
        return click.option(front_end.flag, name, is_flag=True, help=text)
    if front_end.kind == "texts":
        return click.option(front_end.flag, name, multiple=True, metavar=front_end.metavar, help=text)
    return click.option(
        front_end.flag,
        name,
        type=int if front_end.kind == "integer" else str,
        default=default,
        show_default=default is not None,
        metavar=front_end.metavar,
        help=text,
    )


def _collected(
    offers: Mapping[str, Callable[[Command], Command]], argument: str, build: Callable[[dict[str, Any]], object]
) -> Callable[[Command], Command]:
    """Add options to a command, which receives the result of `build` on their values as one argument."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def collected(*args: Any, **given: Any) -> Any:  # noqa: ANN401  # as the command
            values = {name: given.pop(name) for name in offers}
            return command(*args, **given, **{argument: build(values)})

        made: Any = collected
        for offer in reversed(list(offers.values())):
            made = offer(made)
        return cast("Command", made)

    return decorate


def _read_options(values: dict[str, Any]) -> ReadOptions:
    from discreet.tables.csv_format import ReadOptions

    sign = values["delimiter"]
    return ReadOptions(**values | {"delimiter": None if sign is None else delimiter_sign(sign)})


def _reading(encoding: str, delimiter: str) -> Callable[[Command], Command]:
    # commands that read no rows do not import it
    from discreet.tables.csv_format import ReadOptions

    usual = {each.name: each.default for each in fields(ReadOptions)}
    shown = {"encoding": encoding, "delimiter": delimiter}
    offers = {
        name: _flag(name, front_end, usual[name], shown.get(name))
        for name, front_end in front_ends(ReadOptions).items()
    }
    return _collected(offers, "reading", _read_options)


def reading_options(command: Command) -> Command:
    """Add the options for reading CSV files, passed to the command as one argument `reading`."""
    return _reading("utf-8", "a tab in .tsv files, else a comma")(command)


def proposed_reading_options(command: Command) -> Command:
    """Add the options for reading CSV files, with encoding and delimiter proposed from the header line."""
    return _reading("proposed from the header line", "proposed from the header line")(command)


def release_options(command: Command) -> Command:
    """Add all options of a release, and pass them to the command as one argument `options`."""
    usual = {each.name: each.default for each in fields(ReleaseOptions)}
    offers: dict[str, Callable[[Command], Command]] = {}
    for name, front_end in front_ends(ReleaseOptions).items():
        offers[name] = _flag(name, front_end, usual[name])
        if name == "robust":
            offers |= {part: _flag(part, each, None) for part, each in front_ends(RobustErrors).items()}
    return _collected(offers, "options", _release_options)(command)


def _release_options(values: dict[str, Any]) -> ReleaseOptions:
    """Parse the options of a release."""
    models, bound = values.pop("models"), values.pop("residual_bound")
    flags = {name: each.flag for name, each in front_ends(RobustErrors).items()}
    if not values["robust"]:
        for name, given in (("models", models or None), ("residual_bound", bound)):
            if given is not None:
                raise SpecError(f"{flags[name]} requires --robust; add --robust, or leave {flags[name]} out")
    else:
        limit = None if bound is None else number("residual-bound", bound)
        values["robust"] = RobustErrors(models=models, residual_bound=limit)
    return ReleaseOptions(**values | {"settings": settings_table(values["settings"])})


def table_options(command: Command) -> Command:
    """Add the options that name a table of a database instead of a file."""
    command = click.option("--table", metavar="NAME", help="Name of the table or view; requires --database.")(command)
    return click.option(
        "--database", metavar="FILE", help="Read a table of this DuckDB file instead of a file of rows."
    )(command)


def chosen_table(file: str | None, database: str | None, table: str | None, what: str = "DATA") -> str | DatabaseTable:
    """Return the file, or the table of a database, that the arguments name.

    >>> chosen_table("people.csv", None, None)
    'people.csv'
    """
    if file is not None and (database is not None or table is not None):
        raise OptionError(f"expected {what} or --database with --table, got both; leave one of them out")
    if file is not None:
        return file
    if database is None and table is None:
        raise OptionError(
            f"no table was given; pass {what}, the path of a file, or --database FILE with --table NAME",
            option="database",
        )
    if database is None or table is None:
        raise OptionError(
            "--database and --table must be given together: a DuckDB file, and the name of a table or view in it",
            option="database",
        )
    from discreet.tables.database import DatabaseTable

    return DatabaseTable(database, table)


def table_words(table: str | DatabaseTable) -> list[str]:
    """Return the command-line arguments that specify a table."""
    if isinstance(table, str):
        return [table]
    return ["--database", str(table.database), "--table", table.table]


def table_path(table: str | DatabaseTable) -> str:
    """Return the file that contains a table."""
    return table if isinstance(table, str) else str(table.database)


class ColumnChoice(TypedDict):
    """The arguments that `column_options` passes to a command."""

    target: str | None
    features: str | None
    no_intercept: bool


class ModelChoice(ColumnChoice):
    """The arguments that `model_options` passes to a command."""

    formula: str | None
    penalty: str
    strength: str | None
    l1_ratio: str | None


def column_options(command: Command) -> Command:
    """Add the options that choose the columns of a model."""
    command = click.option("--no-intercept", is_flag=True, help="Leave the intercept out.")(command)
    command = click.option(
        "--features", metavar="A,B", help="Declared columns to use as features.  [default: every other column]"
    )(command)
    return click.option(
        "--target", metavar="NAME", help="Declared column to use as the target.  [default: the design's target]"
    )(command)


def ratio_option(command: Command) -> Command:
    """Add the option for the share of the L1 penalty in an elastic net."""
    return click.option(
        "--l1-ratio", metavar="R", help="Share of the L1 penalty in elastic-net, from 0 (ridge) to 1 (lasso)."
    )(command)


def model_options(command: Command) -> Command:
    """Add the options that choose a model of a release."""
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


robust_option = click.option(
    "--robust",
    is_flag=True,
    help="Robust standard errors (HC1), clustered by person if the design has an id; requires a release made with "
    "--robust.",
)
level_option = click.option(
    "--level", default="0.95", show_default=True, metavar="L", help="Confidence level of the intervals."
)

design_option = click.option(
    "--design", "design_path", required=True, metavar="FILE", help="The design: declared bounds and levels, as TOML."
)
weak_privacy_option = _flag("allow_weak_privacy", front_ends(ReleaseOptions)["allow_weak_privacy"], default=False)


def session_term(name: str, shown: str | None = None) -> Callable[[Command], Command]:
    """Return an option of a release for use with --new-session. `shown` is its default as displayed in the help."""
    return _flag(name, replace(front_ends(ReleaseOptions)[name], needs="new_session"), None, shown)


def number(name: str, text: str, like: str = "1.5 or 1e-6, with a decimal point") -> float:
    """Parse a number without checking its size. `like` shows examples in the error.

    >>> number("epsilon", "1e-6")
    1e-06
    >>> number("epsilon", "1,5")
    Traceback (most recent call last):
        ...
    discreet.errors.OptionError: epsilon '1,5' is not a number; write it like 1.5 or 1e-6, with a decimal point
    """
    if not _NUMBER.fullmatch(text.strip()):
        raise OptionError(
            f"{name} {text!r} is not a number",
            option=name.replace("-", "_") if name.replace("-", "_").isidentifier() else None,
            given=text,
            allowed="a number",
            remedy=f"write it like {like}",
        )
    return float(text)


def names(text: str, what: str = "features") -> list[str]:
    """Parse names separated by commas. A name that contains a comma must be in double quotes.

    >>> names('age, "height, in cm"')
    ['age', 'height, in cm']
    """
    found = split_names(text)
    if not found or not all(found):
        raise OptionError(
            f"{what} {text!r} is not a list of names",
            option=what,
            given=text,
            allowed="names between commas",
            remedy="write it like age,region",
        )
    return found


def split_names(text: str) -> list[str]:
    """Split text at commas outside double quotes. Return an empty list if a quote is not closed."""
    try:
        return [name.strip() for row in csv.reader([text], skipinitialspace=True, strict=True) for name in row]
    except csv.Error:
        return []


def delimiter_sign(text: str) -> str:
    """Return the delimiter of a CSV file, converting a spelled-out tab."""
    return "\t" if text in _TABS else text


def strength_spec(text: str) -> float | Criterion:
    """Parse a strength: a number, or the name of the criterion that chooses it.

    >>> strength_spec("0.1"), strength_spec("criterion")
    (0.1, 'criterion')
    """
    if text.strip() == "criterion":
        return "criterion"
    if not _NUMBER.fullmatch(text.strip()):
        raise OptionError(
            f"strength {text!r} is not a number",
            option="strength",
            given=text,
            allowed="a number or the word criterion",
            remedy=("write it like 0.1", "write the word criterion"),
        )
    return float(text)


def fitted(release: Release, choice: ModelChoice, cov_type: str | None = None, *, robust: bool = False) -> Fit:
    """Fit the model that the options describe, with robust errors if requested."""
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
    """The arguments of `fit` and `path` that choose the columns of a model."""

    target: str | None
    features: list[str] | None
    intercept: bool | None


def chosen_columns(choice: ColumnChoice) -> Columns:
    """Parse the column options. The library supplies defaults for missing options."""
    features = choice["features"]
    return {
        "target": choice["target"],
        "features": None if features is None else names(features),
        "intercept": False if choice["no_intercept"] else None,
    }


def refuse_overwriting(output: str, *inputs: str) -> None:
    """Raise an error if the output is one of the inputs, because `--force` would destroy it."""
    for given in inputs:
        try:
            same = Path(output).samefile(given)
        except (OSError, ValueError):
            # one of them does not exist or is not a path
            continue
        if same:
            raise OutputError(
                f"the output {output!r} is the same file as the input {given!r}",
                code="output-is-input",
                option="output",
                given=output,
                remedy="choose another name",
            )


def settings_table(words: tuple[str, ...]) -> dict[str, object]:
    """Parse settings of a mechanism such as `passes=10`."""
    table: dict[str, object] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name.strip() or name.strip() in table:
            raise OptionError(
                f"--setting {word!r} is not allowed; write each setting once, as NAME=VALUE", option="setting"
            )
        table[name.strip()] = value.strip()
    return table


# -- assumption options ------------------------------------------------------------------------------------------------
# Options that state what a planner assumes about a table.

_LIKE: Final = {
    "share": "treated=0.02, or region=north:0.7,south:0.3",
    "mean": "age=40, or day=2021-06-30",
    "sd": "age=12",
    "slope": "age=150, or region=south:-2,east:1 (for an interaction: ar=south:3,east:0)",
    "correlation": "0.9, or age,hours=0.9",
}
_HELP: Final = {
    "share": ("Fraction of rows that are true, or that have each level", "equal fractions"),
    "mean": ("Mean of a numeric column", "the middle of its bounds"),
    "sd": ("Standard deviation of a numeric column", "the value for a uniform distribution"),
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
    """Add the options for assumptions, each of which may be repeated."""
    for name, (what, default) in reversed(_HELP.items()):
        text = f"{what}: {_LIKE[name]}.  [default: {default}]"
        option = click.option(f"--{name}", f"{name}_words", multiple=True, metavar=_METAVAR[name], help=text)
        command = option(command)
    return command


def assume_table(words: Mapping[str, Iterable[str]], columns: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Parse the values of each option into assumptions by column.

    >>> assume_table({"share": ["t=0.02", "g=a:0.7,b:0.3"], "mean": ["x=4"]}, {"t": bool, "g": ["a", "b"], "x": (0, 9)})
    {'t': {'share': 0.02}, 'g': {'share': {'a': 0.7, 'b': 0.3}}, 'x': {'mean': 4.0}}
    """
    out: dict[str, dict[str, object]] = {}
    for key, given in words.items():
        for word in given:
            name, text = _split(key, word, columns)
            stated = out.setdefault(name, {})
            if key in stated:
                raise OptionError(f"--{key} of {name!r} was given twice; pass it once", option=key)
            by_level = key in ("share", "slope") and ":" in text
            if key == "mean" and day_of_text(text.strip()) is not None:
                stated[key] = text.strip()
            else:
                stated[key] = _by_level(key, word, text) if by_level else number(f"--{key} {name}", text)
    return out


def correlation_table(words: Iterable[str]) -> float | dict[tuple[str, str], float] | None:
    """Parse one correlation for all pairs, or one for each of several pairs.

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
            raise OptionError(
                "--correlation was given more than once; pass one number for all pairs, or only pairs",
                option="correlation",
            )
        pair = split_names(names)
        if len(pair) != 2:
            raise OptionError(
                f"--correlation {word!r} does not name two columns; write it like {_LIKE['correlation']}",
                option="correlation",
            )
        first, second = pair
        if (first, second) in pairs or (second, first) in pairs:
            raise OptionError(
                f"--correlation of {first!r} and {second!r} was given twice; pass it once", option="correlation"
            )
        pairs[first, second] = number(f"--correlation {names}", text)
    return pairs or None


def _split(key: str, word: str, columns: Mapping[str, object]) -> tuple[str, str]:
    """Split a word such as `age=40` into column and value. A declared name may contain '='."""
    splits = [index for index, letter in enumerate(word) if letter == "="]
    for index in reversed(splits):
        if word[:index].strip() in columns:
            return word[:index].strip(), word[index + 1 :]
    if not splits:
        raise OptionError(f"--{key} {word!r} has no '='; write it like {_LIKE[key]}", option=key)
    from discreet.analyst.planning.assumptions import unknown_column

    raise OptionError(
        Message(f"--{key}: ", unknown_column(word[: splits[0]].strip(), columns)),
        option=key,
        given=word,
        allowed=columns,
        remedy=f"write it like {_LIKE[key]}",
    )


def _by_level(key: str, word: str, text: str) -> dict[str, float]:
    out: dict[str, float] = {}
    for part in split_names(text):
        level, colon, value = part.rpartition(":")
        if not colon:
            raise OptionError(f"--{key} {word!r}: {part!r} has no ':'; write it like {_LIKE[key]}", option=key)
        if level.strip() in out:
            raise OptionError(
                f"--{key} {word!r}: the level {level.strip()!r} is listed twice; list it once", option=key
            )
        out[level.strip()] = number(f"--{key} {level.strip()}", value)
    return out


# -- engine ------------------------------------------------------------------------------------------------------------
# Options that choose the engine that reads and sums a table.

_ENGINES: Final = ("here", "spark")


def engine_options(command: Command) -> Command:
    """Add the options that choose the engine and where it runs."""
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
        help="`spark`: sum Parquet files, or a --table of the Spark catalogue, on a cluster; requires --master.",
    )(command)


def table_of(
    engine: str, master: str | None, data: str | None, database: str | None, table: str | None
) -> str | DatabaseTable | SparkInput:
    """Return the requested table, checked before anything is opened or started.

    >>> table_of("here", None, "people.csv", None, None)
    'people.csv'
    """
    if engine not in _ENGINES:
        raise OptionError.unknown_name("engine", engine, _ENGINES, option="engine")
    if engine == "here":
        if master is not None:
            raise OptionError("--master requires --engine spark; pass both, or leave --master out", option="master")
        return chosen_table(data, database, table)
    if master is None:
        raise OptionError(
            "--engine spark requires --master, such as local[2], spark://HOST:7077 or sc://HOST:15002", option="engine"
        )
    if database is not None:
        raise OptionError(
            "--engine spark cannot read a DuckDB file; leave --database or --engine spark out", option="database"
        )
    from discreet.spark.spark_session import SparkInput

    return SparkInput(master, data, table)


@contextmanager
def opened(given: str | DatabaseTable | SparkInput) -> Iterator[object]:
    """Yield the input of a release: an open Spark table, or the given file or table."""
    # a path is passed on as it is, without importing Spark support
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
    """Return the paths of the input table, which must not be overwritten."""
    if isinstance(given, str):
        return [table_path(given)]
    from discreet.spark.spark_session import SparkInput

    if isinstance(given, SparkInput):
        return [] if given.path is None else [given.path]
    return [table_path(given)]


# -- design file -------------------------------------------------------------------------------------------------------


def load_design(path: str) -> Design:
    """Read a design file."""
    from discreet.design.design import Design

    return Design.load(path)
