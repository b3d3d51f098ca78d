"""Numbers 99 to 105: release files, and predictions from them."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from discreet.releases.fields import digest_of
from support.bad_inputs.case import LEDGER, Case, command
from support.cli_folder import CANARY, SECRET

Change = Callable[[dict[str, Any]], object]


def edited(change: Change, *words: str, digest: bool = True) -> Callable[[Path], list[str]]:
    """A release file that was edited, with a digest that fits or with the old one."""

    def make(folder: Path) -> list[str]:
        body = json.loads((folder / "release.json").read_text())
        change(body)
        if digest:
            body["digest"] = digest_of(body)
        (folder / "bad.json").write_text(json.dumps(body))
        return list(words or ("fit", "bad.json"))

    return make


def text(change: Callable[[str], str | bytes]) -> Callable[[Path], list[str]]:
    """A release file with other text."""

    def make(folder: Path) -> list[str]:
        made = change((folder / "release.json").read_text())
        (folder / "bad.json").write_bytes(made if isinstance(made, bytes) else made.encode())
        return ["fit", "bad.json"]

    return make


def rows(content: str, *more: str) -> Callable[[Path], list[str]]:
    """A prediction for these rows."""

    def make(folder: Path) -> list[str]:
        (folder / "new.csv").write_text(content)
        return ["predict", "release.json", "new.csv", "-o", "out.csv", "--penalty", "ridge", "--strength", "1", *more]

    return make


class Bomb:
    """A pickle that leaves a trace if it is loaded."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("pickle-was-loaded",)


def other_ledger(folder: Path) -> list[str]:
    return ["ledger", "verify", "other.db", "release.json"]


CASES: Final = [
    Case(99, "sum edited", edited(lambda body: body["totals"].__setitem__(0, "1"), digest=False), 2, "digest"),
    Case(99, "promise edited", edited(lambda body: body["guarantee"].update(epsilon=0.1), digest=False), 2, "digest"),
    Case(
        99,
        "promise edited with a new digest",
        edited(lambda body: body["guarantee"].update(epsilon=0.1)),
        2,
        "of the guarantee does not match its epsilon and delta",
    ),
    Case(100, "newer format", edited(lambda body: body.update(schema=99)), 2, "update discreet"),
    Case(100, "field missing", edited(lambda body: body.pop("noise")), 2, "must have the field 'noise'"),
    Case(
        100,
        "field too many",
        edited(lambda body: body.update(remark="?")),
        0,
        "has an unknown field 'remark', which is ignored",
    ),
    Case(
        100,
        "key twice",
        text(lambda whole: whole.replace("{", '{"format": "discreet-release",', 1)),
        2,
        "has a duplicate key",
    ),
    Case(101, "NaN", text(lambda whole: whole.replace('"schema"', '"odd": NaN, "schema"', 1)), 2, "NaN"),
    Case(101, "1e400", text(lambda whole: whole.replace('"settings"', '"odd": 1e400, "settings"', 1)), 2, "bad.json"),
    Case(
        101,
        "number too long",
        text(lambda whole: whole.replace('"schema"', f'"odd": {"9" * 5000}, "schema"', 1)),
        2,
        "too long",
    ),
    Case(101, "sums too short", edited(lambda body: body.update(totals=body["totals"][:-1])), 2, "upper triangle"),
    Case(
        101, "sums of another kind", edited(lambda body: body.update(totals=[1.5] * len(body["totals"]))), 2, "integers"
    ),
    Case(101, "deep nesting", text(lambda whole: "[" * 100_000), 2, "not a release file"),
    Case(101, "cut", text(lambda whole: whole[:300]), 2, "truncated"),
    Case(101, "not UTF-8", text(lambda whole: b"\xff\xfe\x00"), 2, "UTF-8"),
    Case(102, "pickle", text(lambda whole: pickle.dumps(Bomb())), 2, "not a release file"),
    Case(102, "design as a release", command("fit", "design.toml"), 2, "not a release file"),
    Case(103, "anchor of another ledger", other_ledger, 4, "another ledger"),
    Case(
        103,
        "edited release",
        edited(lambda body: body.update(made_by="discreet 9"), "ledger", "verify", LEDGER, "bad.json"),
        4,
        "edited",
    ),
    Case(104, "column missing", rows(f"age,remark\n44,{SECRET}\n"), 2, "'region'"),
    Case(104, "other order", rows("region,age\nnorth,44\n"), 0, "out.csv"),
    Case(104, "level that is not declared", rows(f"age,region\n44,{SECRET}\n"), 2, "'region'"),
    Case(104, "values outside their bounds", rows(f"age,region\n{CANARY},north\n"), 0, "out.csv"),
    Case(104, "cell missing", rows(f"age,region,remark\n,south,{SECRET}\n"), 2, "'age'"),
    Case(105, "not private, called private", edited(lambda body: body.update(private=False)), 2, "contradict"),
    Case(105, "not private in a report", command("report", "exact.NOT-PRIVATE.json", "-o", "r.html"), 0, "NOT PRIVATE"),
    Case(105, "not private in verify", command("verify", "exact.NOT-PRIVATE.json"), 2, "NOT PRIVATE"),
]
