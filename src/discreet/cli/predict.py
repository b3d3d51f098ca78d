"""`discreet predict`: apply a model of a release to new rows, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Unpack

import click

from discreet.cli.command_session import Session
from discreet.cli.options import (
    ModelChoice,
    chosen_table,
    fitted,
    model_options,
    number,
    output_options,
    reading_options,
    refuse_overwriting,
    table_options,
    table_path,
)
from discreet.cli.terminal import ReadProgress, complain, say, say_json
from discreet.errors import DataError, ModelError, OptionError, OutputError
from discreet.wording import Message

if TYPE_CHECKING:
    from pyarrow import Array, DataType, RecordBatch, Schema

    from discreet.analyst.fitted import Fit
    from discreet.design.columns import Readable
    from discreet.tables.csv_format import ReadOptions
    from discreet.tables.source import Source

PREDICTION: Final = "prediction"
ENDS: Final = ("mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper")
SETS: Final = (*ENDS, "mean_ci_kind", "obs_ci_kind")
BATCH_ROWS: Final = 65_536
_KINDS: Final = (".csv", ".parquet")


@click.command("predict", short_help="Predict new rows from a release; free.")
@click.argument("release_path", metavar="R.json")
@click.argument("new", required=False)
@table_options
@model_options
@click.option(
    "--intervals",
    is_flag=True,
    help="Add a confidence set for the mean and a prediction set for a new observation.",
)
@click.option("--level", metavar="L", help="Level of the sets that --intervals adds.  [default: 0.95]")
@click.option(
    "--keep",
    multiple=True,
    metavar="NAME",
    help="Another column of NEW to copy to OUT, such as an id; may be repeated.",
)
@reading_options
@click.option(
    "-o", "--output", required=True, metavar="OUT", help="Where to write the predictions: a .csv or .parquet file."
)
@output_options
def command(
    session: Session,
    release_path: str,
    new: str | None,
    database: str | None,
    table: str | None,
    intervals: bool,
    level: str | None,
    keep: tuple[str, ...],
    reading: ReadOptions,
    output: str,
    force: bool,
    as_json: bool,
    **choice: Unpack[ModelChoice],
) -> None:
    """Predict the target for the rows of NEW, or of a table of a database, with a model fitted to the release R.json.

    OUT has one row for each row of NEW, in the same order: the features as they were read, the columns named by --keep,
    and a column 'prediction', which is empty where the design drops the row. With --intervals it also has the kind and
    the two ends of a confidence set and of a prediction set. A set of the kind 'outside' is everything outside these
    ends.
    """
    from discreet.analyst.confidence_sets import NotEstimableError
    from discreet.analyst.notes import radius_notes
    from discreet.analyst.values import unbounded
    from discreet.cli.terminal import NOT_PRIVATE
    from discreet.files import replacing
    from discreet.releases.reference_distribution import reason_of
    from discreet.releases.release import Release
    from discreet.tables.opening import open_source

    given = chosen_table(new, database, table, what="NEW")
    kind = Path(output).suffix.lower()
    if kind not in _KINDS:
        raise OutputError(
            f"the output {output!r} must end in {' or '.join(_KINDS)}",
            code="wrong-extension",
            option="output",
            given=output,
            allowed=_KINDS,
            remedy="choose one of them",
        )
    made = Release.load(release_path)
    model = fitted(made, choice)
    if not model.estimable:
        raise NotEstimableError.because(reason_of(next(iter(model.params.values()))) or "")
    if not model.features:
        raise ModelError(
            "the model has no features, so every prediction would be its intercept; choose features", option="features"
        )
    wanted = _wanted_level(model, level, intervals=intervals)
    written = (PREDICTION, *(() if wanted is None else SETS))
    for name in written:
        if name in model.features:
            raise ModelError(
                f"a feature {name!r} has the same name as an output column",
                column=name,
                remedy="rename it in the design",
            )
    _check_kept(keep, model, written)
    refuse_overwriting(output, table_path(given), release_path)
    session.will_write(output)
    with replacing(output, force=force) as temporary, ReadProgress() as progress:
        source = open_source(given, reading=reading)
        rows = write_batches(predicted(model, source, progress, keep, wanted), temporary, kind)
    if not made.private:
        complain("notice", NOT_PRIVATE)
    weak = [name for name, ends in model.conf_int().items() if unbounded(ends)]
    if weak and wanted is None:
        complain(
            "notice",
            f"the confidence sets of {', '.join(weak)} are unbounded, so predictions may be far off; "
            "--intervals adds a confidence set to each prediction",
        )
    about_radius = radius_notes(model)
    if as_json:
        say_json({"path": output, "target": model.target, "rows": rows, "notes": about_radius})
        return
    done = f"Predictions of {model.target} are in {output}; values outside their bounds were clipped as in the release"
    say("\n".join([done, *about_radius]))


def _wanted_level(model: Fit, level: str | None, *, intervals: bool) -> float | None:
    """Return the level of the requested sets, or None if none are requested."""
    from discreet.analyst.notes import reasons
    from discreet.releases.reference_distribution import checked_level

    if not intervals:
        if level is not None:
            raise OptionError("--level applies only with --intervals; pass both, or neither", option="level")
        return None
    if model.interval_target == "none":
        raise ModelError(
            Message("--intervals cannot be given: ", next(iter(reasons(model).values()))), option="intervals"
        )
    return checked_level(None if level is None else number("level", level))


def _check_kept(keep: Sequence[str], model: Fit, written: Sequence[str]) -> None:
    for name in keep:
        if name in model.table_columns:
            raise OptionError(f"--keep {name!r} names a feature, which is written anyway; leave it out", option="keep")
        if name in written:
            raise OptionError(
                f"--keep {name!r} has the same name as an output column; rename it in the table", option="keep"
            )
        if keep.count(name) > 1:
            raise OptionError(f"--keep {name!r} was given twice; pass it once", option="keep")


def predicted(
    model: Fit,
    source: Source,
    progress: Callable[[float | None], None],
    keep: Sequence[str] = (),
    level: float | None = None,
) -> Iterator[RecordBatch]:
    """Yield the kept columns, the features and the predictions of each batch, all with one schema.

    With a level, the batches also have confidence sets.
    """
    import numpy as np
    import pyarrow as pa

    from discreet.design.columns import Identifier
    from discreet.tables.arrow import declared_arrays

    features = model.table_columns
    columns = {**dict.fromkeys(keep, Identifier()), **features}
    schema = None
    for batch in source.batches(columns, BATCH_ROWS):
        values = model.predict_arrays(declared_arrays(batch, features))
        for name in keep:
            _check_plain(name, batch.column(name).type)
        schema = schema or _schema(batch, columns, () if level is None else SETS)
        cells = [_as_type(batch.column(name), schema.field(name).type) for name in columns]
        sets = [] if level is None else _sets(model, batch.select(list(features)), level)
        yield pa.record_batch([*cells, pa.array(values, mask=np.isnan(values)), *sets], schema=schema)
        progress(source.share_read)


def _sets(model: Fit, batch: RecordBatch, level: float) -> list[Array]:
    import pyarrow as pa

    frame = model.get_prediction(pa.Table.from_batches([batch])).summary_frame(level)
    return [frame.column(name).combine_chunks() for name in SETS]


def write_batches(batches: Iterator[RecordBatch], path: Path, kind: str) -> int:
    """Write batches as they arrive, one in memory at a time, and return the number of rows."""
    first = next(batches, None)
    if first is None:
        raise DataError("the table has no rows to predict", code="no-rows")
    with _writer(path, kind, first.schema) as write:
        write(first)
        rows: int = first.num_rows
        for batch in batches:
            write(batch)
            rows += batch.num_rows
    return rows


@contextmanager
def _writer(path: Path, kind: str, schema: Schema) -> Iterator[Callable[[RecordBatch], None]]:
    if kind == ".csv":
        import pyarrow.csv as arrow_csv

        with arrow_csv.CSVWriter(str(path), schema) as csv_writer:
            yield csv_writer.write_batch
    else:
        import pyarrow.parquet as pq

        with pq.ParquetWriter(str(path), schema, write_page_checksum=True) as parquet_writer:
            yield parquet_writer.write_batch


def _schema(batch: RecordBatch, columns: Mapping[str, Readable], sets: Sequence[str]) -> Schema:
    import pyarrow as pa

    fields = [pa.field(name, _plain_type(batch.column(name).type, column)) for name, column in columns.items()]
    added = [pa.field(name, pa.float64() if name in ENDS else pa.string()) for name in sets]
    return pa.schema([*fields, pa.field(PREDICTION, pa.float64()), *added])


def _check_plain(name: str, kind: DataType) -> None:
    """Refuse to keep a column that a CSV file cannot hold, even if the output is a Parquet file."""
    import pyarrow as pa

    kinds = pa.types
    stored = kind.value_type if kinds.is_dictionary(kind) else kind
    number = kinds.is_integer(stored) or kinds.is_floating(stored) or kinds.is_decimal(stored)
    text = kinds.is_string(stored) or kinds.is_large_string(stored) or kinds.is_string_view(stored)
    when = kinds.is_date(stored) or kinds.is_time(stored) or kinds.is_timestamp(stored)
    if not (number or text or when or kinds.is_boolean(stored) or kinds.is_null(stored)):
        shown = str(stored).partition("<")[0]
        raise DataError(
            f"column {name!r} has type {shown}, but --keep supports only numbers, text, booleans, dates and times",
            column=name,
        )


def _plain_type(kind: DataType, column: Readable) -> DataType:
    """Return the Arrow type in which to write a column.

    This is the plain type behind a dictionary or view, or the type of the declared kind if the column has no values.
    """
    import pyarrow as pa

    from discreet.design.columns import Boolean, Categorical, Numeric

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string_view(kind):
        # the CSV writer does not support views
        return pa.string()
    if not pa.types.is_null(kind):
        return kind
    if isinstance(column, Boolean):
        return pa.bool_()
    whole = isinstance(column, Categorical) and isinstance(column.levels[0], int)
    return pa.float64() if whole or isinstance(column, Numeric) else pa.string()


def _as_type(cells: Array, kind: DataType) -> Array:
    import pyarrow as pa

    if pa.types.is_dictionary(cells.type):
        # cast the entries first, because decoding has no kernel for some text types
        return cells.dictionary.cast(kind).take(cells.indices)
    return cells if cells.type == kind else cells.cast(kind)
