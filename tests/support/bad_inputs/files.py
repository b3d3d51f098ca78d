"""Numbers 1 to 16: paths, kinds of file, and files that change."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

import discreet
from support.bad_inputs.case import LEDGER, PEOPLE, TABLE, Case, command, csv, options, released, spent, twin
from support.cli_folder import CANARY, DESIGN, HEADER, ROWS, SECRET

LENIENT: Final = DESIGN.replace("[0, 1000000]", '[0, 1000000]\nmissing = "drop"').replace(
    "[18, 90]", '[18, 90]\nmissing = "drop"'
).replace('["north", "south"]', '["north", "south"]\nmissing = "drop"')  # fmt: skip
HOSTILE: Final = "a'; drop table rows; -- \"\n*[x].csv"


def folder_of_nothing(folder: Path) -> list[str]:
    (folder / "rows").mkdir()
    return released(data="rows")


def link_to_data(folder: Path) -> list[str]:
    (folder / "bad.csv").symlink_to("people.csv")
    return released(data="bad.csv")


def ledger_link(folder: Path) -> list[str]:
    (folder / "link.db").symlink_to(LEDGER)
    return released("--ledger", "link.db")


def output_link(folder: Path) -> list[str]:
    (folder / "link.json").symlink_to("existing.json")
    return released("-o", "link.json", "--force")


def pipe(folder: Path) -> list[str]:
    os.mkfifo(folder / "pipe.csv")
    return released(data="pipe.csv")


def unreadable(folder: Path) -> list[str]:
    (folder / "bad.csv").write_text(PEOPLE)
    (folder / "bad.csv").chmod(0)
    return released(data="bad.csv")


def other_schemas(folder: Path) -> list[str]:
    (folder / "m1.csv").write_text(PEOPLE)
    (folder / "m2.csv").write_text(PEOPLE.replace("age", "years", 1))
    return released(data="m*.csv")


def twice_by_a_link(folder: Path) -> list[str]:
    (folder / "m1.csv").write_text(PEOPLE)
    (folder / "m2.csv").symlink_to("m1.csv")
    return released(data="m*.csv")


def twice_by_a_hard_link(folder: Path) -> list[str]:
    (folder / "m1.csv").write_text(PEOPLE)
    os.link(folder / "m1.csv", folder / "m2.csv")
    return released(data="m*.csv")


def cut_zstd(folder: Path) -> list[str]:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(TABLE), sink, compression="zstd")
    (folder / "bad.parquet").write_bytes(sink.getvalue().to_pybytes()[:-200])
    return released(data="bad.parquet")


def compressed(folder: Path) -> list[str]:
    (folder / "bad.csv.gz").write_bytes(gzip.compress(bytes(1_000_000))[:-9])
    return released(data="bad.csv.gz")


def changes_while_it_is_read(folder: Path) -> discreet.Release:
    path = folder / "growing.csv"
    path.write_text(PEOPLE)

    def grow(share: float | None) -> None:
        with path.open("a") as file:
            file.write(f"{CANARY},44,south,{SECRET}\n")

    return spent(folder, path, compute=discreet.ComputeOptions(batch_rows=7, progress=grow))


CASES: Final = [
    Case(1, "path missing", options(data="none.csv"), 2, "no file"),
    Case(2, "folder without tables", folder_of_nothing, 2, "contains no .parquet file"),
    Case(3, "link to data", link_to_data, 0, "Published", twin()),
    Case(4, "ledger is a link", ledger_link, 2, "is a link"),
    Case(4, "output is a link", output_link, 2, "link"),
    Case(5, "pipe", pipe, 2, "pipe"),
    Case(5, "device", options(data="/dev/null"), 2, "device"),
    Case(6, "unreadable", unreadable, 2, "cannot be read"),
    Case(7, "zero bytes", csv(""), 2, "empty"),
    Case(8, "header only", csv(HEADER), 2, "no rows"),
    Case(8, "header only, every rule drops", csv(HEADER, design=LENIENT), 0, "Published"),
    Case(9, "one row", csv(HEADER + ROWS[0]), 0, "Published", twin(HEADER + ROWS[0])),
    Case(10, "file changes while it is read", changes_while_it_is_read, 2, "changed while it was read", api=True),
    Case(11, "pattern without a file", options(data="*.none"), 2, "matches no file"),
    Case(11, "pattern of other schemas", other_schemas, 2, "'m2.csv'"),
    Case(12, "one file twice, by a link", twice_by_a_link, 2, "m2.csv"),
    Case(12, "one file twice, by a hard link", twice_by_a_hard_link, 2, "m2.csv"),
    Case(13, "https", options(data="https://example.org/x.csv"), 2, "expected a local path, got"),
    Case(13, "bucket", options(data="s3://bucket/x.parquet"), 2, "expected a local path, got"),
    Case(14, "hostile name", csv(PEOPLE, name=HOSTILE), 0, "Published"),
    Case(14, "hostile name that is not there", options(data="'; drop table x; --\n.csv"), 2, "no file"),
    Case(15, "CSV named Parquet", csv(PEOPLE, name="bad.parquet"), 2, "not in the Parquet format"),
    Case(15, "text named in an unknown way", csv(PEOPLE, name="bad.txt"), 2, ".csv"),
    Case(16, "compressed text, cut", compressed, 2, ".csv"),
    Case(16, "zstd Parquet, cut", cut_zstd, 2, "truncated"),
    Case(16, "release a folder", command("fit", "."), 2, "cannot read"),
]
NOT_APPLICABLE: Final = {
    16: "a zip bomb: compressed text is refused by its name, and pages of Parquet are read by batch"
}
