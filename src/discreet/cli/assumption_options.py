"""Options that state what a planner assumes about a table, and the reading of their texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import click

from discreet.cli.options import number, split_names
from discreet.design.dates import day_of_text
from discreet.errors import SpecError

Command = TypeVar("Command", bound=Callable[..., Any])

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
    from discreet.analyst.planning.assumption_reading import unknown_column

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
