"""Releases on Spark: the totals of one machine on one, on a cluster that loses an executor, and through Connect.

Run by `make test-spark`, in an environment of its own. Each session is in a process of its own, which compares the
totals inside and prints which cases hold.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import discreet

pytest.importorskip("pyspark", reason="Spark is not installed here; make test-spark installs it")

from support.java_home import made_java_home
from support.spark_child import CONFIG
from support.spark_server import connect_server, free_port
from support.spark_tables import FEW, FEW_PERSONS, odd_table

TESTS = Path(__file__).parents[1]
EVERYWHERE = ("rows", "persons", "robust")
HERE = (
    *EVERYWHERE, "weights", "passes", "bounds", "empty", "cells", "types", "ids", "quoted", "version", "text", "lost",
    "interrupt", "noise", "ledger",
)  # fmt: skip
ON_A_CLUSTER = (*EVERYWHERE, "killed", "lost")
THROUGH_CONNECT = (*EVERYWHERE, "bounds", "cells", "quoted", "version", "text", "interrupt")


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """What a process needs to find Java, our tests, and the interpreter of workers."""
    home = made_java_home(tmp_path_factory.mktemp("java") / "home")
    return os.environ | {
        "JAVA_HOME": str(home),
        "PYTHONPATH": str(TESTS),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(tmp_path_factory.mktemp("spark")),
    }


def compared(environment, master, cases):
    """Run cases in a process; give what holds, and check that it wrote no cell that Spark quotes."""
    command = [sys.executable, "-m", "support.spark_child", master, *cases]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1_500, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "secret" not in done.stdout + done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    print(found)
    return {name: holds for name, holds, _ in found}


def command(environment, *words):
    return subprocess.run(
        [sys.executable, "-m", "discreet", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Parquet files of the odd table, and designs."""
    made = tmp_path_factory.mktemp("files")
    (made / "rows").mkdir()
    table = odd_table()
    pq.write_table(table.slice(0, 300), made / "rows" / "a.parquet")
    pq.write_table(table.slice(300), made / "rows" / "b.parquet")
    FEW.save(made / "few.toml")
    FEW_PERSONS.save(made / "persons.toml")
    return made


def test_one_machine_with_two_slots(environment):
    assert compared(environment, "local[2,2]", HERE) == dict.fromkeys(HERE, True)


def test_cluster_that_loses_an_executor(environment):
    assert compared(environment, "local-cluster[2,1,1024]", ON_A_CLUSTER) == dict.fromkeys(ON_A_CLUSTER, True)


def test_connect(environment, folder):
    with connect_server(environment, CONFIG) as address:
        assert compared(environment, address, THROUGH_CONNECT) == dict.fromkeys(THROUGH_CONNECT, True)
        made = folder / "connect.json"
        done = released(environment, folder, address, "few.toml", made)
        assert (done.returncode, done.stderr) == (0, "")
        assert "the plan of Spark" in discreet.Release.load(made).guarantee.conditions[-1]


def released(environment, folder, master, design, output, *more):
    words = ["release", str(folder / "rows"), "--engine", "spark", "--master", master, "--design", str(folder / design)]
    return command(environment, *words, "--epsilon", "1", "--delta", "1e-6", "-o", str(output), *more)


def test_command_starts_and_stops_its_own_session(environment, folder):
    workers_of_its_own = {key: value for key, value in environment.items() if key != "PYSPARK_PYTHON"}
    done = released(workers_of_its_own, folder, "local[2]", "persons.toml", folder / "local.json")
    assert done.returncode == 0, done.stderr
    # nothing of what Spark writes to the terminal
    assert done.stderr == ""
    assert discreet.Release.load(folder / "local.json").guarantee is not None


@pytest.mark.parametrize(
    ("master", "words"),
    [("sc://127.0.0.1:{port}", "nothing answers at"), ("spark://127.0.0.1:{port}", "nothing answers at")],
)
def test_master_that_is_not_there(environment, folder, master, words):
    done = released(environment, folder, master.format(port=free_port()), "few.toml", folder / "none.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert not (folder / "none.json").exists()


def test_machine_without_java(environment, folder):
    without = environment | {"JAVA_HOME": str(folder)}
    done = released(without, folder, "local[2]", "few.toml", folder / "none.json")
    assert done.returncode == 2
    assert "Spark needs Java 17 or newer" in done.stderr
    assert not (folder / "none.json").exists()
