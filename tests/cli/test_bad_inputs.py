"""The catalogue of bad inputs: right exit code, one line, no cell, nothing spent, nothing changed, nothing left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

import discreet
from discreet.errors import DiscreetError
from discreet.testing import exact_release
from support.bad_inputs import CASES, TABLES, environment, values
from support.bad_inputs.case import CANARIES, DATASET, LEDGER, PEOPLE, Case, released
from support.cli_folder import DESIGN, Call, contents

NOT_APPLICABLE = {number for table in TABLES for number in getattr(table, "NOT_APPLICABLE", {})}
SPAWNED = {91, 96, 98}


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that every case finds: data, design, ledgers, a recorded release, and a file that must not change."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "design.toml").write_text(DESIGN)
    (folder / "existing.json").write_text("precious")
    design = discreet.Design.from_toml(DESIGN)
    for name in (LEDGER, "other.db"):
        discreet.Ledger.create(folder / name).declare(DATASET, epsilon=6.0, delta=1e-5)
    persons = discreet.PrivacyUnit(id="who", max_rows=2)
    discreet.Ledger(folder / LEDGER).declare("persons", epsilon=6.0, delta=1e-5, unit=persons)
    account = discreet.Ledger(folder / LEDGER).account(DATASET)
    made = discreet.release(folder / "people.csv", design, epsilon=4.0, delta=1e-6, spend=account)
    made.save(folder / "release.json")
    exact_release(folder / "people.csv", design).save(folder / "exact.NOT-PRIVATE.json")
    return folder


@pytest.fixture
def inputs(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them, which is the working folder; rows that wait are in a folder beside it."""
    folder = tmp_path / "inputs"
    shutil.copytree(prepared, folder)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(folder)
    return folder


def state(folder: Path) -> dict[str, bytes]:
    """Every regular file, but one that is too long to be compared."""
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 10_000_000
    }


def check_words(said: str) -> None:
    assert "Traceback" not in said
    assert "unexpected failure" not in said
    for kind, canary in CANARIES.items():
        assert canary not in said, f"a cell is quoted: {kind}"


def check_refused(case: Case, folder: Path, call: Call, words: list[str], before: dict[str, bytes]) -> None:
    result = call(*words)
    assert result.exit_code == case.code, result.output
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if not line.startswith("notice: ")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    assert case.says in lines[0]
    check_words(result.stderr)
    # the ledger among them: no event, no spend
    assert state(folder) == before


@pytest.mark.no_cover
@pytest.mark.parametrize("case", [case for case in CASES if not case.api], ids=lambda case: case.id)
def test_the_command_line(case: Case, inputs: Path, call: Call) -> None:
    if case.name in environment.ROOT_READS_ALL and os.geteuid() == 0:
        pytest.skip("root may read and write everything")
    words = case.make(inputs)
    before = state(inputs)
    if case.code:
        check_refused(case, inputs, call, words, before)
    else:
        result = call(*words)
        assert result.exit_code == 0, result.output
        assert case.says in result.output
        check_words(result.output)
        assert not [name for name in state(inputs) if "/.discreet-" in name]
    assert list(Path(os.environ["TMPDIR"]).iterdir()) == []
    assert not (inputs / "pickle-was-loaded").exists()
    check_twin(case, inputs)


@pytest.mark.parametrize("case", [case for case in CASES if case.api], ids=lambda case: case.id)
@pytest.mark.filterwarnings("ignore")
def test_python(case: Case, inputs: Path) -> None:
    before = state(inputs)
    if case.code:
        with pytest.raises(DiscreetError) as caught:
            case.make(inputs)
        assert caught.value.exit_code == case.code
        assert case.says in str(caught.value)
        assert "\n" not in str(caught.value)
        check_words("".join(map(str, [caught.value, repr(caught.value), caught.value.__context__])))
        after = state(inputs)
        assert {name: content for name, content in after.items() if name in before} == before
    else:
        case.make(inputs)
    assert list(Path(os.environ["TMPDIR"]).iterdir()) == []
    check_twin(case, inputs)


def check_twin(case: Case, folder: Path) -> None:
    """What is accepted has the exact sums of a plain table."""
    if case.twin is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (data, design), (other, its) = case.twin(folder)
        first = exact_release(data, discreet.Design.from_toml(design))
        second = exact_release(other, discreet.Design.from_toml(its))
    assert first.totals == second.totals


def test_a_twin_that_differs_is_found(inputs: Path) -> None:
    wrong = Case(0, "wrong", released, 0, twin=values.twin(PEOPLE + "1,44,south,x\n", data="people.csv"))
    with pytest.raises(AssertionError):
        check_twin(wrong, inputs)


def test_every_number_of_the_catalogue_has_a_case_or_a_reason() -> None:
    tried = {case.number for case in CASES}
    assert tried | NOT_APPLICABLE | SPAWNED == set(range(1, 106))
    assert len({case.id for case in CASES}) == len(CASES) >= 200


def spawned(folder: Path, *words: str, flags: tuple[str, ...] = (), **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, "-m", "discreet", *words],
        cwd=folder, env=os.environ | environ, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.no_cover
@pytest.mark.parametrize("flags", [(), ("-O",), ("-W", "error")], ids=["plain", "-O", "-W error"])
def test_a_process_of_its_own_refuses_in_the_same_words(flags: tuple[str, ...], inputs: Path) -> None:
    (inputs / "bad.csv").write_text(PEOPLE + f"{CANARIES['value']},44\n")
    before = contents(inputs)
    done = spawned(inputs, *released(data="bad.csv"), flags=flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert "line 63" in done.stderr
    check_words(done.stderr)
    assert contents(inputs) == before


def test_locale_hash_seed_and_threads_change_nothing(inputs: Path) -> None:
    plain = spawned(inputs, "check", "people.csv", "--design", "design.toml", "--json")
    other = spawned(
        inputs, "check", "people.csv", "--design", "design.toml", "--json",
        LC_ALL="de_DE.UTF-8", PYTHONHASHSEED="7", OPENBLAS_NUM_THREADS="2",
    )  # fmt: skip
    assert plain.returncode == 0
    assert plain.stdout == other.stdout


def test_a_closed_pipe_is_no_failure(inputs: Path) -> None:
    done = subprocess.run(
        f"'{sys.executable}' -m discreet mechanisms | head -c 1; exit ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", cwd=inputs, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
