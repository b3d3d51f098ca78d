"""Options that say which program reads and sums a table, and what they mean together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from discreet.cli.options import Command, chosen_table, table_path
from discreet.errors import SpecError

if TYPE_CHECKING:
    from discreet.engines.spark_session import SparkInput
    from discreet.tables.files.database import DatabaseTable

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
    from discreet.engines.spark_session import SparkInput

    return SparkInput(master, data, table)


@contextmanager
def opened(given: str | DatabaseTable | SparkInput) -> Iterator[object]:
    """What a release is made of: of Spark a table, as long as its session lasts; else what was named."""
    # a path needs no look at what it would be on Spark
    if isinstance(given, str):
        yield given
        return
    from discreet.engines.spark_session import SparkInput

    if isinstance(given, SparkInput):
        with given.opened() as frame:
            yield frame
    else:
        yield given


def written_over(given: str | DatabaseTable | SparkInput) -> list[str]:
    """Paths that must not be written to, as the table is in them."""
    if isinstance(given, str):
        return [table_path(given)]
    from discreet.engines.spark_session import SparkInput

    if isinstance(given, SparkInput):
        return [] if given.path is None else [given.path]
    return [table_path(given)]
