"""A session of Spark for one release: checked before it starts, silent, and stopped."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import types

import pytest

from discreet.errors import DataError, SpecError
from discreet.spark import spark_session
from discreet.spark import spark_session as spark_jobs
from discreet.spark.spark_session import SparkInput, check_reachable
from support.pretend_spark import PretendSession, pretended


@pytest.mark.parametrize(
    "master",
    [
        "local",
        "local[*]",
        "local[2]",
        "local[2,4]",
        "local-cluster[2,1,1024]",
        "spark://a:7077",
        "yarn",
        "k8s://h",
        "sc://h",
    ],
)
def test_masters(master):
    assert SparkInput(master, path="rows.parquet").master == master


@pytest.mark.parametrize("master", ["", "locals", "local[x]", "http://a", "spark:/a", "sc://", "mesos://a", "local\n"])
def test_what_is_no_master(master):
    with pytest.raises(SpecError, match="expected an address such as local"):
        SparkInput(master, path="rows.parquet")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"path": "rows.csv"}, "a CSV file; CSV files are not read through Spark"),
        ({"path": "rows.tsv.gz"}, "a CSV file"),
        ({"path": "rows.arrow"}, "expected Parquet files, got"),
        ({"path": "rows.json"}, "expected Parquet files, got"),
        ({"path": "a.parquet", "table": "b"}, "give one"),
        ({}, "expected a path or a table, got neither"),
        ({"path": ""}, "expected a path or a table, got neither"),
    ],
)
def test_what_spark_does_not_read(given, words):
    with pytest.raises(SpecError, match=words):
        SparkInput("local[2]", **given)


def test_a_delta_table_is_refused(tmp_path):
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(SpecError, match="may contain deleted rows"):
        SparkInput("local[2]", path=str(tmp_path))


def test_words_for_what_is_read():
    assert SparkInput("yarn", table="db.people").what == "the table 'db.people'"


def test_an_address_at_which_nothing_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        for master in (f"sc://127.0.0.1:{port}/;token=x", f"spark://127.0.0.1:{port}"):
            with pytest.raises(SpecError, match="nothing answers at"):
                check_reachable(master)
        taken.listen()
        check_reachable(f"spark://127.0.0.1:{port}")


@pytest.mark.parametrize("master", ["sc://:15002", "spark://a:99999999", "spark://,a"])
def test_an_address_that_is_none(master):
    with pytest.raises(SpecError, match="for master, got"):
        check_reachable(master)


class Builder:
    """Makes sessions as Spark does, and remembers what it was told."""

    def __init__(self, session):
        self.session, self.told = session, {}

    def __getattr__(self, name):
        def tell(*words):
            self.told[name if len(words) == 1 else words[0]] = words[-1]
            return self

        return tell

    def getOrCreate(self):  # noqa: N802  # Spark's name
        return self.session


def session(reads=None):
    made = PretendSession()
    made.stop = lambda: made.stopped.append("stop")
    made.settings = {}
    made.conf = types.SimpleNamespace(set=made.settings.__setitem__)
    made.table = lambda name: f"table {name}"
    made.read = types.SimpleNamespace(option=lambda *_: types.SimpleNamespace(parquet=reads or "path {}".format))
    return made


@pytest.fixture
def builder(monkeypatch):
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    with pretended():
        made = Builder(session())
        sys.modules["pyspark.sql"].SparkSession = types.SimpleNamespace(builder=made)
        yield made


def test_a_session_is_started_silent_and_stopped(builder):
    with SparkInput("local[2]", path="rows.parquet").opened() as frame:
        assert frame == "path rows.parquet"
        assert builder.session.stopped == []
        assert os.environ["PYSPARK_PYTHON"] == sys.executable
    assert builder.session.stopped == ["stop"]
    assert builder.told["master"] == "local[2]"
    assert builder.told["spark.log.level"] == "OFF"
    assert builder.told["spark.ui.enabled"] == "false"
    # names of folders decide about no type
    assert builder.session.settings == {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}
    del os.environ["PYSPARK_PYTHON"]


def test_connect_and_a_table(builder, monkeypatch):
    monkeypatch.setattr(spark_session, "check_reachable", lambda master: None)
    with SparkInput("sc://h", table="db.people").opened() as frame:
        assert frame == "table db.people"
    assert builder.told == {"remote": "sc://h"}
    # there the server starts the workers
    assert "PYSPARK_PYTHON" not in os.environ


def test_it_is_stopped_after_an_error_too(builder):
    with pytest.raises(ZeroDivisionError), SparkInput("yarn", table="people").opened():
        _ = 1 / 0
    assert builder.session.stopped == ["stop"]


def test_a_session_that_does_not_stop_does_not_matter(builder):
    builder.session.stop = lambda: 1 / 0
    with SparkInput("yarn", table="people").opened():
        pass


def test_spark_that_does_not_start(builder, monkeypatch):
    def fails():
        raise RuntimeError("secret")

    builder.getOrCreate = fails
    with (
        pytest.raises(DataError, match="Spark needs Java 17 or newer") as error,
        SparkInput("yarn", table="t").opened(),
    ):
        pass
    assert "secret" not in str(error.value)


def test_a_table_that_is_not_there(builder):
    def fails(name):
        raise RuntimeError("secret")

    builder.session.table = fails
    with pytest.raises(DataError, match="cannot open the table 'people'"), SparkInput("yarn", table="people").opened():
        pass
    assert builder.session.stopped == ["stop"]


def test_programs_that_are_started_write_nowhere():
    code = (
        "import os, subprocess, sys\n"
        "from discreet.spark.spark_session import _without_stderr\n"
        "with _without_stderr():\n"
        "    subprocess.run(['sh', '-c', 'echo secret >&2'])\n"
        "print('ours', file=sys.stderr)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr) == ("", "ours\n")


def test_the_time_to_wait_is_bounded():
    assert 60 <= spark_jobs.ANSWER_SECONDS <= 600
