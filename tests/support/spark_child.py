"""A process of its own in which releases on Spark are compared with those of one machine.

It prints which cases are equal, as JSON. Totals stay inside: they are compared here and nowhere written.
Usage: python -m support.spark_child MASTER CASE [CASE ...]
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import discreet
from discreet.errors import DataError, DiscreetError
from discreet.spark import dataframe as spark_source
from discreet.testing import exact_release, seeded_release
from support.spark_tables import (
    DESIGN,
    FEW,
    FEW_PERSONS,
    PERSONS,
    SEARCHED,
    SEARCHING,
    SEEDED,
    SLOW,
    WEIGHTED,
    odd_table,
)

CONFIG = {
    "spark.driver.memory": "640m",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "3",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.2",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.minTaskRuntime": "1s",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "97",
}


def started(master: str) -> Any:
    """A session with speculative execution and small heaps."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    if master.startswith("sc://"):
        return SparkSession.builder.remote(master).getOrCreate()
    builder = SparkSession.builder.master(master)
    for key, value in CONFIG.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def parted(session: Any, folder: str) -> Any:
    """The odd table from Parquet, in several parts of which some are empty."""
    import pyarrow.parquet as pq

    path = Path(folder) / "odd.parquet"
    if not path.exists():
        pq.write_table(odd_table(), path, row_group_size=200)
    frame = session.read.parquet(str(path))
    # four codes go to at most four of the parts
    return frame.repartition(7, "code")


def slow(session: Any, folder: str, seconds: float) -> Any:
    """A table of six parts that takes its time, and leaves a file for every task that begins."""

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        import tempfile
        import time

        import pyarrow as pa

        with tempfile.NamedTemporaryFile(dir=folder, prefix="task-", delete=False):
            pass
        for batch in batches:
            time.sleep(seconds)
            ids = batch.column(0).to_pylist()
            cells = {
                "y": [(one % 7) / 7 for one in ids],
                "float": [(one % 5) / 5 for one in ids],
                "other": [0.5] * len(ids),
            }
            yield pa.record_batch(cells)

    return session.range(0, 540, 1, 6).mapInArrow(rows, "y double, float double, other double")


def slow_table() -> dict[str, list[float]]:
    """The same rows on one machine."""
    return {
        "y": [(one % 7) / 7 for one in range(540)],
        "float": [(one % 5) / 5 for one in range(540)],
        "other": [0.5] * 540,
    }


def executors() -> list[int]:
    """Processes of Spark's executors that descend from this one."""
    parents, words = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                words[int(entry.name)] = (entry / "cmdline").read_bytes()
            except OSError:
                continue

    def ours(process: int) -> bool:
        while process in parents:
            if process == os.getpid():
                return True
            process = parents[process]
        return False

    return [one for one, line in words.items() if b"CoarseGrainedExecutorBackend" in line and ours(one)]


def _wait_for_a_task(folder: str) -> None:
    while not os.listdir(folder):
        time.sleep(0.05)


class Cases:
    """What is compared; each method gives true where Spark and one machine agree."""

    def __init__(self, session: Any, folder: str) -> None:
        self.session, self.folder = session, folder
        self.frame, self.table = parted(session, folder), odd_table()

    def rows(self) -> bool:
        """Categories, dates, decimals, rules for missing cells, and counts of clipped cells."""
        return exact_release(self.frame, DESIGN, clip_counts=True) == exact_release(
            self.table, DESIGN, clip_counts=True
        )

    def weights(self) -> bool:
        """Weights, on another grid."""
        return exact_release(self.frame, WEIGHTED, grid_bits=15) == exact_release(self.table, WEIGHTED, grid_bits=15)

    def persons(self) -> bool:
        """Rows of persons, of which the same ones count."""
        return exact_release(self.frame, PERSONS, clip_counts=True) == exact_release(
            self.table, PERSONS, clip_counts=True
        )

    def passes(self) -> bool:
        """Several passes over rows that are read once."""
        both = (seeded_release(one, FEW, mechanism="gradient", **SEEDED) for one in (self.frame, self.table))
        return next(both) == next(both)

    def robust(self) -> bool:
        """A second pass that takes the rows of a person together."""
        both = (seeded_release(one, FEW_PERSONS, robust=True, **SEEDED) for one in (self.frame, self.table))
        return next(both) == next(both)

    def bounds(self) -> bool:
        """Bounds that are found first."""
        one, two = (seeded_release(one, SEARCHED, **SEARCHING) for one in (self.frame, self.table))
        return one == two

    def empty(self) -> bool:
        """A plan without rows is refused in the words of one machine."""
        return self._refused(self.frame.where("false"), FEW) == self._refused(self.table.slice(0, 0), FEW)

    def cells(self) -> bool:
        """A bad cell is refused in the words of one machine, without the cell."""
        strict = discreet.Design("y", {"y": (-3, 3), "float": (-2, 2)})
        return self._refused(self.frame, strict) == self._refused(self.table, strict)

    def types(self) -> bool:
        """So is a column of a wrong type, or one that is not there."""
        wrong = [discreet.Design("y", {"y": (-3, 3), name: (0, 1)}) for name in ("group", "nowhere")]
        return all(self._refused(self.frame, one) == self._refused(self.table, one) for one in wrong)

    def ids(self) -> bool:
        """A row without an id is refused."""
        frame = self.frame.selectExpr("y", "`float`", "`name``.x`", "nullif(who, 'p7') AS who")
        return "id column 'who'" in self._refused(frame, FEW_PERSONS)

    def quoted(self) -> bool:
        """Nothing of a cell that Spark quotes is in an error, or hangs on to it."""
        frame = self.session.sql(
            "SELECT CAST(concat('secret', id) AS DOUBLE) AS y, 0.5D AS `float`, 0.5D AS `name``.x` FROM range(9)"
        )
        try:
            discreet.release(frame, FEW, epsilon=1.0, delta=1e-6)
        except DataError as error:
            links = [error, error.__cause__, error.__context__]
            return links[1:] == [None, None] and "secret" not in str(error) and "could not read" in str(error)
        return False

    def version(self) -> bool:
        """Executors with another version of discreet are found before a row is read."""
        kept, spark_source.__version__ = spark_source.__version__, "9.9.9"
        try:
            return "a Spark executor has discreet" in self._refused(self.frame, FEW)
        finally:
            spark_source.__version__ = kept

    def text(self) -> bool:
        """A DataFrame of a CSV file is refused by the name of the file, by its plan, and where Spark keeps its rows."""
        named, plain = Path(self.folder) / "rows.csv", Path(self.folder) / "rows"
        for path in (named, plain):
            path.write_text("1,2\n")
        read = self.session.read.schema("y double, `float` double").csv
        kept = read(str(plain)).selectExpr("y + 1 AS y", "`float`").cache()
        return (
            "text files, such as 'rows.csv'" in self._refused(read(str(named)), FEW)
            and "reads text files, which" in self._refused(read(str(plain)), FEW)
            and "reads text files, which" in self._refused(kept, FEW)
        )

    def lost(self) -> bool:
        """Tasks whose process ends again and again: one plain sentence."""

        def ends(batches: Iterator[Any]) -> Iterator[Any]:
            import os

            os._exit(3)
            yield from batches

        frame = self.session.range(4).mapInArrow(ends, "y double, float double, other double")
        return "Executors were lost repeatedly" in self._refused(frame, SLOW)

    def interrupt(self) -> bool:
        """Ctrl-C ends a job that runs, soon, and Spark goes on to the next."""
        folder = tempfile.mkdtemp(dir=self.folder)
        frame = slow(self.session, folder, 600.0)

        def interrupt() -> None:
            _wait_for_a_task(folder)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        try:
            exact_release(frame, SLOW)
        except KeyboardInterrupt:
            return self.session.range(3).count() == 3
        return False

    def noise(self) -> bool:
        """Workers that have summed never loaded what draws noise."""

        def loaded(batches: Iterator[Any]) -> Iterator[Any]:
            import sys

            import pyarrow as pa

            for batch in batches:
                names = [one for one in sys.modules if one.startswith(("discreet.mechanisms", "opendp"))]
                ours = [one for one in sys.modules if one.startswith("discreet.curator")]
                yield pa.record_batch(
                    {"drawing": [len(names)] * batch.num_rows, "summing": [len(ours)] * batch.num_rows}
                )

        exact_release(self.frame, FEW)
        found = self.session.range(0, 8, 1, 8).mapInArrow(loaded, "drawing long, summing long").collect()
        return all(one.drawing == 0 for one in found) and any(one.summing for one in found)

    def ledger(self) -> bool:
        """A ledger knows the same rows again in any order, and rows that changed."""
        ledger = discreet.Ledger.create(str(Path(self.folder) / "ledger.db"))
        ledger.declare("people", epsilon=5.0, delta=1e-5)
        account = ledger.account("people")
        first = discreet.release(self.frame, FEW, epsilon=1.0, delta=1e-6, spend=account)
        again = discreet.release(self.frame.repartition(3), FEW, epsilon=1.0, delta=1e-6, spend=account)
        changed = self.frame.where("who <> 'p7'")
        return first == again and "differs from the last table of data set" in self._refused(
            changed, FEW, spend=account
        )

    def killed(self) -> bool:
        """An executor process is killed in the middle of a job: the totals are the same."""
        folder = tempfile.mkdtemp(dir=self.folder)
        frame = slow(self.session, folder, 4.0)
        victims = executors()

        def kill() -> None:
            # some tasks have begun, none of that executor's is done
            _wait_for_a_task(folder)
            time.sleep(1.0)
            os.kill(victims[0], signal.SIGKILL)

        thread = threading.Thread(target=kill)
        thread.start()
        same = exact_release(frame, SLOW) == exact_release(slow_table(), SLOW)
        thread.join()
        # more tasks began than there are parts: something was computed again
        return same and len(victims) == 2 and victims[0] not in executors() and len(os.listdir(folder)) > 6

    def _refused(self, data: object, design: discreet.Design, **options: Any) -> str:
        try:
            discreet.release(data, design, epsilon=1.0, delta=1e-6, **options)
        except DiscreetError as error:
            return str(error)
        return "released"


def main(master: str, *names: str) -> None:
    """Run the cases, and print which hold and how long each took."""
    warnings.simplefilter("ignore")
    # a program that a shell starts in the background would not hear it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    session = started(master)
    try:
        with tempfile.TemporaryDirectory() as folder:
            cases = Cases(session, folder)
            for name in names:
                begun = time.monotonic()
                case: Callable[[], bool] = getattr(cases, name)
                try:
                    holds: object = case()
                except Exception as error:
                    holds = f"{type(error).__name__}: {error}"[:300]
                print(json.dumps([name, holds, round(time.monotonic() - begun, 1)]), flush=True)
    finally:
        session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
