"""Tables that a service sends as an Arrow stream: Arrow Flight, and databases through ADBC."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

import discreet
from discreet.errors import DataError, SpecError
from discreet.testing import exact_release

DESIGN = discreet.Design("y", {"y": (0, 1), "x": {"bounds": (0, 1), "missing": "drop"}, "g": ["a", "b"]})
PEOPLE = pa.table(
    {"y": [0.1, 0.5, 0.9, 1.5], "x": [0.2, None, 0.4, 0.6], "g": ["a", "b", "a", "b"], "note": ["", "", "", ""]}
)
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


@pytest.fixture(scope="module")
def flight():
    """A server that sends one table in several batches, and one that breaks off."""
    flight = pytest.importorskip("pyarrow.flight")

    class Server(flight.FlightServerBase):
        def do_get(self, context, ticket):
            batches = PEOPLE.to_batches(max_chunksize=2)
            if ticket.ticket == b"broken":
                return flight.GeneratorStream(PEOPLE.schema, self._breaks_off(batches))
            return flight.GeneratorStream(PEOPLE.schema, iter(batches))

        def _breaks_off(self, batches):
            yield batches[0]
            raise ValueError("the cell secret cannot be sent")

    server = Server("grpc://127.0.0.1:0")
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    with flight.connect(f"grpc://127.0.0.1:{server.port}") as client:
        yield lambda name: client.do_get(flight.Ticket(name)).to_reader()
    server.shutdown()
    thread.join(10)


def test_a_stream_of_flight_has_the_rows_of_the_table(flight):
    assert exact_release(flight(b"people"), DESIGN) == exact_release(PEOPLE, DESIGN)


def test_its_guarantee_says_that_it_may_be_a_query(flight):
    made = discreet.release(flight(b"people"), DESIGN, **BUDGET)
    assert made.guarantee.conditions[-1].startswith("in the stream, perhaps the result of a query,")


def test_a_stream_is_read_once(flight):
    stream = flight(b"people")
    exact_release(stream, DESIGN)
    with pytest.raises((DataError, SpecError)):
        exact_release(stream, DESIGN)


def test_several_passes_read_a_stream_once(flight):
    made = discreet.release(flight(b"people"), DESIGN, **BUDGET, mechanism="gaussian", robust=True)
    assert made.residuals is not None


def test_a_stream_that_breaks_off_is_refused_in_our_words(flight):
    with pytest.raises(DataError, match="could not be read to its end") as error:
        discreet.release(flight(b"broken"), DESIGN, **BUDGET)
    assert (error.value.__cause__, error.value.__context__) == (None, None)
    assert "secret" not in str(error.value)


@pytest.fixture
def database(tmp_path):
    """A cursor of ADBC to a database whose columns have types."""
    pytest.importorskip("adbc_driver_manager")
    dbapi = pytest.importorskip("adbc_driver_duckdb.dbapi")
    with dbapi.connect(str(tmp_path / "people.duckdb")) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE people (y DOUBLE, x DOUBLE, g VARCHAR, note VARCHAR)")
        for row in PEOPLE.to_pylist():
            cells = ", ".join("NULL" if row[name] is None else repr(row[name]) for name in PEOPLE.column_names)
            cursor.execute(f"INSERT INTO people VALUES ({cells})")
        yield cursor


def test_a_result_of_adbc_has_the_rows_of_the_table(database):
    database.execute("SELECT * FROM people")
    assert exact_release(database.fetch_record_batch(), DESIGN) == exact_release(PEOPLE, DESIGN)


def test_a_query_of_adbc_that_fails_in_a_row_is_refused_in_our_words(database):
    database.execute("SELECT y, x, CASE WHEN y > 1 THEN error('secret') ELSE g END AS g FROM people")
    with pytest.raises(DataError) as error:
        discreet.release(database.fetch_record_batch(), DESIGN, **BUDGET)
    assert "secret" not in str(error.value)
