"""Refused input: what a release does before it adds rows up, and a search for cells in what is said about it."""

from __future__ import annotations

import traceback

import pytest

from discreet.design.columns import Boolean, Categorical, Numeric
from discreet.errors import CellError, DiscreetError, OptionError, UnsupportedError
from discreet.tables.arrow import declared_arrays
from discreet.tables.cells import settle_missing
from discreet.tables.csv_format import ReadOptions
from discreet.tables.opening import open_source

COLUMNS = {"x": Numeric((0, 1)), "yes": Boolean(), "g": Categorical(("a", "b")), "n": Categorical((1, 2))}
CANARIES = ("918273.5", "918273", "SECRETCELL")
HEADER = "x,yes,g,n\n"
GOOD = "0.5,true,a,1\n"


def read_all(data: object, reading: ReadOptions | None = None) -> None:
    """What a release does before it adds rows up."""
    source = open_source(data, reading=reading or ReadOptions())
    for batch in source.batches(COLUMNS, 64):
        settle_missing(COLUMNS, declared_arrays(batch, COLUMNS))


def refusal(data: object, kind: type[DiscreetError], reading: ReadOptions | None = None) -> str:
    """The message of the refusal, after a search for cells in everything that comes with it."""
    with pytest.raises(kind) as caught:
        read_all(data, reading)
    error = caught.value
    assert type(error) in (kind, CellError, OptionError, UnsupportedError)
    assert isinstance(error, kind)
    assert error.exit_code == 2
    assert error.__context__ is None
    assert error.__cause__ is None
    told = "".join(traceback.format_exception(error)) + repr(error) + repr(error.args)
    assert not any(canary in told for canary in CANARIES)
    assert "\n" not in str(error)
    return str(error)
