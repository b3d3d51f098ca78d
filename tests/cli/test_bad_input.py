"""Every bad input ends with exit code 2, one `error:` line, no cell, and nothing changed on disk."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cli_folder import CANARY, DESIGN, HEADER, PEOPLE, ROWS, SECRET, Call, contents

BAD = f"{CANARY},44,south,{SECRET}\n"


def release_command(*more: str, data: str = "people.csv", design: str = "design.toml", epsilon: str = "1") -> list[str]:
    given = ["release", data, "--design", design, "--epsilon", epsilon, *more]
    given += [] if "--delta" in more else ["--delta", "1e-6"]
    return given if "-o" in more else [*given, "-o", "out.json"]


Prepare = Callable[[Path], list[str]]


def options(*more: str, **changed: str) -> Prepare:
    return lambda folder: release_command(*more, **changed)


def arguments(*given: str) -> Prepare:
    return lambda folder: list(given)


def design(text: str) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        (folder / "bad.toml").write_text(text)
        return release_command(design="bad.toml")

    return prepare


def with_bounds(bounds: str) -> Prepare:
    return design(DESIGN.replace("bounds = [18, 90]", bounds))


def csv(text: str | bytes) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        (folder / "bad.csv").write_bytes(text.encode() if isinstance(text, str) else text)
        return release_command(data="bad.csv")

    return prepare


def table(**columns: object) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        good = {
            "income": [float(CANARY), 2.0],
            "age": [30.0, 40.0],
            "region": ["north", "south"],
            "remark": [SECRET] * 2,
        }
        pq.write_table(pa.table(good | columns), folder / "bad.parquet")
        return release_command(data="bad.parquet")

    return prepare


def cut_parquet(folder: Path) -> list[str]:
    table()(folder)
    whole = (folder / "bad.parquet").read_bytes()
    (folder / "bad.parquet").write_bytes(whole[: len(whole) // 2])
    return release_command(data="bad.parquet")


def edited_release(change: Callable[[dict[str, object]], object], *more: str) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        body = json.loads((folder / "income.release.json").read_text())
        change(body)
        (folder / "bad.json").write_text(json.dumps(body))
        return [*(more or ("fit",)), "bad.json"]

    return prepare


def release_file(content: bytes) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        (folder / "bad.json").write_bytes(content)
        return ["fit", "bad.json"]

    return prepare


def cut_release(folder: Path) -> list[str]:
    (folder / "bad.json").write_bytes((folder / "income.release.json").read_bytes()[:300])
    return ["fit", "bad.json"]


class Bomb:
    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("pickle-was-loaded",)


def fit(*more: str) -> Prepare:
    return arguments("fit", "income.release.json", *more)


def path(*more: str) -> Prepare:
    return arguments("path", "income.release.json", *more)


def init(*more: str, data: str = "people.csv") -> Prepare:
    return arguments("init", data, *more, *([] if "-o" in more else ["-o", "new.toml"]))


def init_of(content: str | bytes, name: str = "bad.csv") -> Prepare:
    def prepare(folder: Path) -> list[str]:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return ["init", name, "-o", "new.toml"]

    return prepare


def init_pipe(folder: Path) -> list[str]:
    os.mkfifo(folder / "pipe.csv")
    return ["init", "pipe.csv", "-o", "new.toml"]


def predict(*more: str, new: str = "new.csv", out: str = "out.csv") -> Prepare:
    return arguments("predict", "income.release.json", new, "-o", out, *more)


def predict_rows(text: str) -> Prepare:
    def prepare(folder: Path) -> list[str]:
        (folder / "bad.csv").write_text(text)
        return ["predict", "income.release.json", "bad.csv", "-o", "out.csv"]

    return prepare


def output_link(folder: Path) -> list[str]:
    (folder / "link.json").symlink_to(folder / "existing.json")
    return release_command("-o", "link.json", "--force")


def output_pipe(folder: Path) -> list[str]:
    os.mkfifo(folder / "pipe.json")
    return release_command("-o", "pipe.json", "--force")


CASES: dict[str, tuple[Prepare, str]] = {
    # budget
    "epsilon NaN": (options(epsilon="nan"), "epsilon"),
    "epsilon zero": (options(epsilon="0"), "epsilon"),
    "epsilon negative": (options(epsilon="-1"), "epsilon"),
    "epsilon infinite": (options(epsilon="inf"), "epsilon"),
    "epsilon overflows": (options(epsilon="1e999"), "epsilon"),
    "epsilon text": (options(epsilon="abc"), "'abc' is not a number"),
    "epsilon with comma": (options(epsilon="1,5"), "decimal point"),
    "epsilon with underscore": (options(epsilon="1_0"), "not a number"),
    "epsilon in other digits": (options(epsilon="１"), "not a number"),
    "epsilon empty": (options(epsilon=""), "not a number"),
    "epsilon above 20": (options(epsilon="21"), "--allow-weak-privacy"),
    "epsilon left out": (arguments("release", "people.csv", "--design", "design.toml", "-o", "out.json"), "--epsilon"),
    "delta negative": (options("--delta", "-1e-6"), "delta"),
    "delta one": (options("--delta", "1"), "delta"),
    "delta NaN": (options("--delta", "nan"), "delta"),
    "delta text": (options("--delta", "tiny"), "not a number"),
    "delta zero with Gaussian": (options("--delta", "0", "--mechanism", "gaussian"), "delta above 0"),
    "delta above 1e-3": (options("--delta", "0.01"), "--allow-weak-privacy"),
    "mechanism unknown": (options("--mechanism", "gausian"), "Did you mean 'gaussian'?"),
    "grid text": (options("--grid-bits", "many"), "--grid-bits"),
    "grid too fine": (options("--grid-bits", "60"), "60"),
    "option unknown": (options("--epsilom", "1"), "--epsilom"),
    "seed refused": (options("--seed", "1"), "--seed"),
    # design
    "design missing": (options(design="none.toml"), "none.toml"),
    "design not TOML": (design("target = "), "TOML"),
    "design without columns": (design('target = "y"'), "columns"),
    "design key unknown": (design("bounds = 3\n" + DESIGN), "'bounds'"),
    "column key unknown": (with_bounds("bound = [18, 90]"), "Did you mean 'bounds'?"),
    "bounds missing": (with_bounds(""), "'age'"),
    "bounds reversed": (with_bounds("bounds = [90, 18]"), "reversed"),
    "bounds equal": (with_bounds("bounds = [18, 18]"), "equal"),
    "bounds infinite": (with_bounds("bounds = [18, inf]"), "finite"),
    "bounds NaN": (with_bounds("bounds = [nan, 90]"), "finite"),
    "bounds one-sided": (with_bounds("bounds = [18]"), "pair"),
    "levels missing": (design(DESIGN.replace('["north", "south"]', "[]")), "levels"),
    "target blank": (design(DESIGN.replace('target = "income"', 'target = ""')), "target is blank"),
    "bounds blank": (with_bounds('bounds = ["", ""]'), "column 'age': bounds are blank"),
    "target categorical": (design(DESIGN.replace('target = "income"', 'target = "region"')), "categorical"),
    "target unknown": (design(DESIGN.replace('target = "income"', 'target = "wealth"')), "wealth"),
    # data
    "data missing": (options(data="none.csv"), "none.csv"),
    "data of unknown kind": (options(data="design.toml"), ".csv"),
    "data remote": (options(data="https://example.org/x.csv"), "expected a local path"),
    "encoding unknown": (options("--encoding", "klingon"), "klingon"),
    "encoding with escapes": (
        options("--encoding", "utf-7"),
        "expected one of ascii, utf-8, utf-8-sig, utf-16, latin-1",
    ),
    "delimiter too long": (options("--delimiter", "::"), "delimiter"),
    "delimiter other": (options("--delimiter", ";"), "--delimiter"),
    "column not in data": (design(DESIGN + "[columns.height]\nbounds = [0, 3]\n"), "'height'"),
    "empty file": (csv(""), "empty"),
    "header only": (csv(HEADER), "no rows"),
    "ragged short": (csv(PEOPLE + f"{CANARY},44\n"), "line 63"),
    "ragged long": (csv(PEOPLE + BAD.replace("\n", ",x\n")), "line 63"),
    "unclosed quote": (csv(PEOPLE + f'"{CANARY},44,south,{SECRET}\n'), "line 63"),
    "not UTF-8": (csv(PEOPLE.encode() + f"1,20,south,{SECRET}\xe9\n".encode("latin-1")), "--encoding"),
    "text in a number": (csv(HEADER + f"{SECRET},44,south,{SECRET}\n" + ROWS[0]), "'income'"),
    "NaN in a number": (csv(HEADER + ROWS[0] + BAD + f"nan,44,south,{SECRET}\n"), "'income'"),
    "empty cell": (csv(HEADER + BAD + f",44,south,{SECRET}\n"), "'income'"),
    "unknown level": (csv(HEADER + BAD + f"1,44,{SECRET},{SECRET}\n"), "'region'"),
    "wrong type": (table(age=[SECRET, CANARY]), "'age'"),
    "NaN in Parquet": (table(age=[float("nan"), float(CANARY)]), "'age'"),
    "null in Parquet": (table(age=[None, float(CANARY)]), "'age'"),
    "unknown level in Parquet": (table(region=["north", SECRET]), "'region'"),
    "truncated Parquet": (cut_parquet, "bad.parquet"),
    # output
    "output exists": (options("-o", "existing.json"), "--force"),
    "output folder missing": (options("-o", "none/out.json"), "does not exist"),
    "output is a folder": (options("-o", ".", "--force"), "folder"),
    "output is a link": (output_link, "link"),
    "output is a pipe": (output_pipe, "name a plain file"),
    "output in a folder of the system": (options("-o", "/proc/x.json"), "cannot create a file in '/proc'"),
    "output name too long": (options("-o", "n" * 300), "is too long; choose a shorter name"),
    "output is the data": (options("-o", "people.csv", "--force"), "people.csv"),
    "output is the design": (options("-o", "./design.toml", "--force"), "design.toml"),
    # release files
    "release missing": (arguments("fit", "none.json"), "none.json"),
    "release not JSON": (release_file(b"income = 3"), "not JSON"),
    "release not UTF-8": (release_file(b"\xff\xfe\x00"), "UTF-8"),
    "release truncated": (cut_release, "truncated"),
    "release a pickle": (release_file(pickle.dumps(Bomb())), "not a release file"),
    "release tampered": (edited_release(lambda body: body["totals"].__setitem__(0, "1")), "digest"),
    "release relabelled": (edited_release(lambda body: body["guarantee"].update(epsilon=0.1)), "digest"),
    "release newer": (edited_release(lambda body: body.update(schema=99)), "update discreet"),
    "release with NaN": (release_file(b'{"format": "discreet-release", "x": NaN}'), "NaN"),
    # models
    "feature unknown": (fit("--features", "agee"), "Did you mean 'age'?"),
    "feature twice": (fit("--features", "age,age"), "twice"),
    "feature list empty": (fit("--features", ""), "list of names"),
    "feature list with gap": (fit("--features", "age,,region"), "list of names"),
    "feature list with quote": (fit("--features", '"age'), "list of names"),
    "fit target unknown": (fit("--target", "wealth"), "wealth"),
    "fit target categorical": (fit("--target", "region"), "categorical"),
    "penalty unknown": (fit("--penalty", "rigde"), "Did you mean 'ridge'?"),
    "strength without ridge": (fit("--strength", "1"), "ridge"),
    "strength left out": (fit("--penalty", "ridge"), "strength"),
    "strength negative": (fit("--penalty", "ridge", "--strength", "-1"), "above 0"),
    "strength NaN": (fit("--penalty", "ridge", "--strength", "nan"), "above 0"),
    "strength text": (fit("--penalty", "ridge", "--strength", "much"), "not a number"),
    "strength misspelt": (fit("--penalty", "lasso", "--strength", "criterium"), "the word criterion"),
    "strength chosen without penalty": (fit("--strength", "criterion"), "leave --strength out"),
    "ratio left out": (fit("--penalty", "elastic-net", "--strength", "1"), "pass --l1-ratio 0.5"),
    "ratio text": (fit("--penalty", "elastic-net", "--strength", "1", "--l1-ratio", "half"), "not a number"),
    "ratio above one": (fit("--penalty", "elastic-net", "--strength", "1", "--l1-ratio", "1.5"), "from 0 (ridge)"),
    "ratio NaN": (fit("--penalty", "elastic-net", "--strength", "1", "--l1-ratio", "nan"), "from 0 (ridge)"),
    "ratio with lasso": (fit("--penalty", "lasso", "--strength", "1", "--l1-ratio", "1"), "leave --l1-ratio out"),
    "formula without features": (fit("--formula", "income"), "'~'"),
    "formula of unknown columns": (fit("--formula", "income ~ agee"), "Did you mean 'age'?"),
    "formula and target": (fit("--formula", "income ~ age", "--target", "income"), "pass only the formula"),
    # paths
    "path of no release": (arguments("path", "none.json"), "none.json"),
    "path without penalty": (path("--penalty", "none"), "lasso"),
    "path penalty unknown": (path("--penalty", "laso"), "Did you mean 'lasso'?"),
    "path ratio left out": (path("--penalty", "elastic-net"), "pass --l1-ratio 0.5"),
    "path ratio text": (path("--penalty", "elastic-net", "--l1-ratio", "x"), "not a number"),
    "path feature unknown": (path("--features", "agee"), "Did you mean 'age'?"),
    "path target unknown": (path("--target", "wealth"), "wealth"),
    "plot of other kind": (path("--plot", "out.docx"), ".svg"),
    "plot exists": (path("--plot", "existing.csv"), "--force"),
    "plot over the release": (path("--plot", "./income.release.json", "--force"), "choose another name"),
    "plot folder missing": (path("--plot", "none/out.svg"), "does not exist"),
    # predictions
    "new rows missing": (predict(new="none.csv"), "none.csv"),
    "new column missing": (predict_rows(f"age,remark\n44,{SECRET}\n"), "'region'"),
    "new level unknown": (predict_rows(f"age,region\n44,{SECRET}\n"), "'region'"),
    "new cell missing": (predict_rows(f"age,region,remark\n,south,{SECRET}\n"), "'age'"),
    "new rows none": (predict_rows("age,region\n"), "no rows"),
    "prediction of other kind": (predict(out="out.xlsx"), ".parquet"),
    "prediction exists": (predict(out="existing.csv"), "--force"),
    "prediction folder missing": (predict(out="none/out.csv"), "does not exist"),
    "prediction over new rows": (predict("--force", out="new.csv"), "new.csv"),
    "prediction from bad release": (arguments("predict", "design.toml", "new.csv", "-o", "out.csv"), "release file"),
    "prediction feature unknown": (predict("--features", "height"), "height"),
    # beginning a design
    "init data missing": (init(data="none.csv"), "none.csv"),
    "init data of unknown kind": (init(data="design.toml"), ".csv"),
    "init data a pipe": (init_pipe, "pipe"),
    "init data empty": (init_of(""), "empty"),
    "init data without header": (init_of(BAD), "must contain column names, but contains a number or a date"),
    "init data not Parquet": (init_of(PEOPLE, "bad.parquet"), "not in the Parquet format"),
    "init delimiter other": (init("--delimiter", ";"), "--delimiter"),
    "init delimiter too long": (init("--delimiter", "::"), "delimiter"),
    "init encoding unknown": (init("--encoding", "klingon"), "klingon"),
    "init target unknown": (init("--target", "agee"), "Did you mean 'age'?"),
    "init output exists": (init("-o", "design.toml"), "--force"),
    "init output of other kind": (init("-o", "people.csv", "--force"), ".toml"),
    "init output folder missing": (init("-o", "none/new.toml"), "does not exist"),
    # the program
    "command unknown": (arguments("relase"), "Did you mean 'release'?"),
    "global option unknown": (arguments("--colour"), "--colour"),
    "argument missing": (arguments("predict", "income.release.json", "-o", "out.csv"), "NEW"),
    "argument too many": (arguments("fit", "a", "b"), "unexpected extra argument"),
    "demo folder is a file": (arguments("demo", "-o", "people.csv"), "people.csv"),
    "demo over a design": (arguments("demo", "-o", "."), "was not written by the demo"),
}


@pytest.mark.no_cover
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("debug", [False, True])
def test_bad_input_is_told_in_one_line_and_changes_nothing(name: str, debug: bool, folder: Path, call: Call) -> None:
    prepare, fragment = CASES[name]
    command = prepare(folder)
    before = contents(folder)
    result = call(*(["--debug"] if debug else []), *command)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    told = [line for line in lines if not (debug and line.startswith("debug: "))]
    assert len(told) == 1, result.stderr
    assert told[0].startswith("error: ")
    assert fragment in told[0]
    assert "Traceback" not in result.stderr
    assert "unexpected failure" not in told[0]
    assert CANARY not in result.stderr
    assert SECRET not in result.stderr
    assert contents(folder) == before


def test_control_signs_of_a_name_are_shown_as_escapes(folder: Path, call: Call) -> None:
    result = call("fit", "evil\x1b[31m\n\u202ename.json")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "\x1b" not in result.stderr
    assert "\u202e" not in result.stderr
    assert "evil\\x1b[31m\\n\\u202ename.json" in result.stderr


def test_control_signs_of_an_option_are_shown_as_escapes(folder: Path, call: Call) -> None:
    result = call(*release_command("--grid-bits", "a\x1b[2Jb"))
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr
