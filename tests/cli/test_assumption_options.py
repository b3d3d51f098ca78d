"""Options that state what is assumed of a table: their words become the arguments of a plan."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from discreet.cli.options import assume_table, assumption_options, correlation_table
from discreet.errors import SpecError

COLUMNS = {"age": (0, 100), "a=b": (0, 1), "t": bool, "g": ["north", "x:y"]}


def test_a_declared_name_or_level_may_hold_the_characters_that_part_words():
    stated = assume_table({"mean": ["a=b=0.5", " age =40"], "share": ["g=north:.7,x:y:.3"]}, COLUMNS)
    assert stated == {"a=b": {"mean": 0.5}, "age": {"mean": 40.0}, "g": {"share": {"north": 0.7, "x:y": 0.3}}}


def test_several_options_about_one_column_are_put_together():
    stated = assume_table({"mean": ["age=40"], "sd": ["age=12"], "slope": ["age=-2", "t=3"], "share": []}, COLUMNS)
    assert stated == {"age": {"mean": 40.0, "sd": 12.0, "slope": -2.0}, "t": {"slope": 3.0}}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"mean": ["age"]}, "--mean 'age' has no '='; write it like age=40"),
        ({"mean": ["agee=4"]}, "--mean: unknown column 'agee'"),
        ({"sd": ["age=1", "age=1"]}, "--sd of 'age' was given twice"),
        ({"share": ["g=north:.5,south"]}, "'south' has no ':'"),
        ({"share": ["g=north:.5,north:.5"]}, "the level 'north' is listed twice"),
        ({"mean": ["age=north:4"]}, "--mean age 'north:4' is not a number"),
    ],
)
def test_words_that_state_nothing_are_refused(words, message):
    with pytest.raises(SpecError, match=message):
        assume_table(words, COLUMNS)


def test_a_correlation_is_one_number_or_one_for_each_pair():
    assert correlation_table([]) is None
    assert correlation_table(["-.3"]) == -0.3
    assert correlation_table(["age,t=0.2", "t,g=-0.1"]) == {("age", "t"): 0.2, ("t", "g"): -0.1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0.1", "0.2"], "pass one number for all pairs, or only pairs"),
        (["a,b=.1", "b,a=.2"], "--correlation of 'b' and 'a' was given twice"),
        (["a,b,c=.1"], "does not name two columns; write it like 0.9, or age,hours=0.9"),
        (["a,b=x"], "'x' is not a number"),
    ],
)
def test_correlations_that_state_nothing_are_refused(words, message):
    with pytest.raises(SpecError, match=message):
        correlation_table(words)


def test_every_option_may_be_given_again_and_says_its_default():
    @click.command()
    @assumption_options
    def command(**words: tuple[str, ...]) -> None:
        click.echo(sorted((name, given) for name, given in words.items() if given))

    told = CliRunner().invoke(command, ["--mean", "a=1", "--mean", "b=2", "--slope", "a=3"])
    assert told.stdout == "[('mean_words', ('a=1', 'b=2')), ('slope_words', ('a=3',))]\n"
    text = CliRunner().invoke(command, ["--help"]).stdout
    assert text.count("[default:") == 5


def test_dates_and_levels_of_an_interaction():
    columns = {"day": (0, 9), "ar": ["south", "east"]}
    words = {"mean": ["day=2021-06-30"], "slope": ["ar=south:2,east:0"]}
    assert assume_table(words, columns) == {"day": {"mean": "2021-06-30"}, "ar": {"slope": {"south": 2.0, "east": 0.0}}}
    with pytest.raises(
        SpecError, match=r"--slope: expected a column, got 'ar\[south\]', a single coefficient of 'ar'.*write it like"
    ):
        assume_table({"slope": ["ar[south]=2"]}, columns)
    with pytest.raises(SpecError, match="is not a number"):
        assume_table({"sd": ["day=2021-06-30"]}, columns)
