"""`discreet release`: what it writes, what it says, and what neither may hold."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import pytest

import discreet.workflow
from discreet.errors import OutputError
from discreet.mechanisms import sampler
from discreet.releases import Release
from discreet.releases.fields import released_count
from discreet.testing.not_private import calling
from support.cli_folder import CANARY, DESIGN, PEOPLE, SECRET, Call, contents

COMMAND = ("release", "people.csv", "--design", "design.toml", "--epsilon", "1", "--delta", "1e-6", "-o", "out.json")


def traces_of_the_canary() -> list[str]:
    value = float(CANARY)
    packed = [struct.pack(order + "d", value) for order in "<>"]
    forms = [CANARY, repr(value), str(int(value)), f"{value:e}", value.hex(), SECRET]
    forms += [base64.b64encode(raw).decode().rstrip("=") for raw in packed] + [raw.hex() for raw in packed]
    return forms


def test_a_release_is_written_and_told_without_a_count(folder: Path, call: Call) -> None:
    result = call(*COMMAND)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    made = Release.load("out.json")
    assert made.columns == ("1", "age", "region[south]", "income")
    assert "least squares of any of the columns 1, age, region[south], income follows" in result.stdout
    assert made.guarantee is not None
    assert made.guarantee.sentence() in result.stdout
    assert "untracked: repeated releases of this table are not counted" in result.stdout
    assert "out.json" in result.stdout
    assert "Rows" not in result.stdout
    counted = released_count(made)
    count = f"about {round(counted.value):,} rows (noisy count, standard deviation {counted.sd:.3g})"
    assert f"Count       {count}\n" in result.stdout


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--engine", "dask"), "unknown engine 'dask'; allowed: here, spark"),
        (("--engine", "spark"), "--engine spark requires --master"),
        (("--master", "local[2]"), "--master requires --engine spark"),
        (("--engine", "spark", "--master", "local[2]"), "a CSV file; CSV files are not read through Spark"),
        (("--engine", "spark", "--master", "somewhere"), "for --master, got 'somewhere'"),
    ],
)
def test_engines_that_cannot_read_the_table(folder: Path, call: Call, words: tuple[str, ...], problem: str) -> None:
    result = call(*COMMAND, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in result.stderr
    assert not Path("out.json").exists()


def test_a_biased_sampler_is_refused_before_anything_is_spent(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = ("--dataset", "people", "--epsilon", "3", "--delta", "1e-5")
    assert call("ledger", "init", "books.db", *budget).exit_code == 0
    before = contents(folder)
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.14.1")
    sampler.check_opendp.cache_clear()
    # a table that cannot be opened shows that nobody tries
    result = call("release", "missing.csv", *COMMAND[2:], "--ledger", "books.db", "--dataset", "people")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "0.14.2 or newer" in result.stderr
    assert "got 0.14.1" in result.stderr
    assert contents(folder) == before


def test_a_mechanism_without_a_count_says_so(folder: Path, call: Call) -> None:
    result = call(*COMMAND, "--mechanism", "irls")
    assert result.exit_code == 0, result.stderr
    assert "Count       no count was released\n" in result.stdout
    assert json.loads(call(*COMMAND, "--mechanism", "irls", "--force", "--json").stdout)["count"] is None


def test_a_public_number_of_rows_is_told(folder: Path, call: Call) -> None:
    (folder / "design.toml").write_text(DESIGN + '[unit]\nneighbours = "replace"\n')
    result = call(*COMMAND)
    assert result.exit_code == 0, result.stderr
    assert "61 (public)" in result.stdout
    assert "Count" not in result.stdout
    assert json.loads(call(*COMMAND, "--force", "--json").stdout)["count"] == {"value": 61, "sd": 0}


def test_a_public_number_of_persons_is_told_as_such(folder: Path, call: Call) -> None:
    unit = '[unit]\nid = "person"\nmax_rows = 2\nneighbours = "replace"\n'
    (folder / "design.toml").write_text(DESIGN + unit)
    lines = PEOPLE.splitlines()
    people = [f"{lines[0]},person", *(f"{line},p{index // 2}" for index, line in enumerate(lines[1:]))]
    (folder / "people.csv").write_text("\n".join(people) + "\n")
    result = call(*COMMAND)
    assert result.exit_code == 0, result.stderr
    assert "Persons     31 (public)\n" in result.stdout
    assert "Rows" not in result.stdout
    assert json.loads(call(*COMMAND, "--force", "--json").stdout)["units_public"] == 31


def test_the_promise_is_wrapped_to_the_terminal_and_the_next_command_is_not(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{'long' * 20}.json"
    piped = call(*COMMAND[:-1], name).stdout
    assert any(line.startswith("Promise ") and len(line) > 100 for line in piped.splitlines())
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    for columns, width in (("20", 60), ("72", 72), ("300", 100)):
        monkeypatch.setenv("COLUMNS", columns)
        lines = call(*COMMAND[:-1], name, "--force").stdout.splitlines()
        prose = [line for line in lines if name not in line]
        assert max(map(len, prose)) <= width
        assert max(map(len, prose)) > width - 20
        page = f"{name.removesuffix('.json')}.html"
        assert lines[-3:] == [
            f"            discreet {step}" for step in (f"fit {name}", f"report {name} -o {page}", f"verify {name}")
        ]
        at = next(index for index, line in enumerate(lines) if line.startswith("Promise "))
        assert lines[at + 1].startswith(" " * 12)
        assert not lines[at + 1].startswith(" " * 13)


def test_json_is_one_document_of_public_facts(folder: Path, call: Call) -> None:
    result = call(*COMMAND, "--json")
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    made = Release.load("out.json")
    assert facts == {
        "path": "out.json",
        "digest": made.digest,
        "epsilon": 1.0,
        "delta": 1e-6,
        "neighbours": "add-remove",
        "kind": "moments",
        "mechanism": "staged",
        "settings": {},
        "calibration": made.noise.calibration,
        "columns": ["1", "age", "region[south]", "income"],
        "units_public": None,
        "count": {"value": released_count(made).value, "sd": released_count(made).sd},
        "counts": {"rows": {"count": released_count(made).value, "sd": released_count(made).sd}},
        "found_bounds": None,
        "anchor": "untracked",
        "signed": False,
        "request": None,
        "repeated": False,
    }


@pytest.mark.parametrize("how", [(), ("--json",), ("--debug",)])
def test_no_trace_of_a_planted_cell_is_left_anywhere(how: tuple[str, ...], folder: Path, call: Call) -> None:
    result = call(*COMMAND, *how)
    assert result.exit_code == 0, result.stderr
    public = (folder / "out.json").read_text() + result.stdout + result.stderr
    assert [form for form in traces_of_the_canary() if form in public] == []


def test_a_delimiter_can_be_said_in_words_and_an_encoding_by_name(folder: Path, call: Call) -> None:
    (folder / "people.csv").write_bytes(PEOPLE.replace(",", "\t").replace(SECRET, "é").encode("latin-1"))
    assert call(*COMMAND, "--delimiter", "tab", "--encoding", "latin-1").exit_code == 0
    assert call(*COMMAND, "--delimiter", "\\t", "--encoding", "latin-1", "--force").exit_code == 0


def test_force_replaces_an_existing_file(folder: Path, call: Call) -> None:
    assert call(*COMMAND[:-1], "existing.json", "--force").exit_code == 0
    assert Release.load("existing.json").private


@pytest.mark.parametrize(
    ("budget", "words"),
    [(("9", "1e-6"), "WEAK PRIVACY"), (("1", "1e-4"), "delta"), (("50", "0.01", "--allow-weak-privacy"), "WEAK")],
)
def test_weak_budgets_bring_notices_on_stderr(budget: tuple[str, ...], words: str, folder: Path, call: Call) -> None:
    epsilon, delta, *more = budget
    result = call("release", "people.csv", "--design", "design.toml", "--epsilon", epsilon, "--delta", delta, *more,
                  "-o", "out.json", "--json")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert all(line.startswith("notice: ") for line in result.stderr.splitlines())
    assert words in result.stderr
    json.loads(result.stdout)


def test_a_delta_that_is_not_used_brings_a_notice_on_stderr(folder: Path, call: Call) -> None:
    result = call(*COMMAND, "--mechanism", "laplace", "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == (
        "notice: the mechanism 'laplace' does not use delta = 1e-06 with these settings, so the release guarantees "
        "delta = 0; leave delta out, or choose a mechanism that uses it\n"
    )
    assert json.loads(result.stdout)["delta"] == 0


def test_a_failure_to_write_after_the_draw_is_exit_5(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OutputError("cannot write 'out.json': No space left on device")

    monkeypatch.setattr("discreet.releases.release.write_bytes", full)
    before = contents(folder)
    result = call(*COMMAND)
    assert result.exit_code == 5
    assert result.stderr.startswith("error: the release was made but not saved: cannot write 'out.json'")
    assert result.stderr.count("\n") == 1
    assert contents(folder) == before


def test_an_unexpected_failure_names_its_type_and_nothing_else(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError(f"bad cell {CANARY}") from KeyError(SECRET)

    monkeypatch.setattr(discreet.workflow.Table, "sums", broken)
    result = call(*COMMAND)
    assert result.exit_code == 2
    assert result.stderr == (
        "error: unexpected failure (ValueError); nothing was written. Run it with --debug and report the output\n"
    )
    traced = call("release", "--debug", *COMMAND[1:])
    assert traced.exit_code == 2
    assert "debug: ValueError passed through" in traced.stderr
    assert "debug: KeyError passed through" in traced.stderr
    assert "discreet/workflow.py" in traced.stderr
    assert CANARY not in traced.output
    assert SECRET not in traced.output


@pytest.mark.parametrize(("stage", "outcome"), [("randomise", "nothing was published"), ("print", "out.json")])
def test_an_unexpected_failure_after_the_spend_is_exit_5(
    stage: str, outcome: str, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(CANARY)

    index = (
        "discreet.mechanisms.gaussian.GaussianMoments.randomise" if stage == "randomise" else "discreet.cli.release.say"
    )
    monkeypatch.setattr(index, broken)
    result = call(*COMMAND, "--mechanism", "gaussian")
    assert result.exit_code == 5
    assert "unexpected failure (RuntimeError)" in result.stderr
    assert outcome in result.stderr
    assert CANARY not in result.output


def test_the_summary_says_what_was_published(folder: Path, call: Call) -> None:
    assert "the noisy score of the residuals of a pilot line" in call(*COMMAND).stdout
    # the square of the indicator is its sum
    summed = call(*COMMAND, "--mechanism", "gaussian", "--force").stdout
    assert "9 noisy sums of products of the columns 1, age, region[south], income" in summed
    robust = call(*COMMAND, "--robust", "--force")
    assert "and noisy sums of products of scores for robust standard errors" in robust.stdout
    residuals = call(*COMMAND, "--mechanism", "gaussian", "--robust", "--force")
    assert "from a second pass sums over residuals" in residuals.stdout
    inside = call(*COMMAND, "--mechanism", "dpme", "--setting", "bins=3", "--force")
    assert "3 coefficients of a model of income" in inside.stdout
    fewer = call(*COMMAND, "--mechanism", "ssp", "--force")
    assert "9 noisy sums of products" in fewer.stdout


def test_an_interrupt_is_exit_130_with_one_line(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(discreet.workflow.Table, "sums", stop)
    result = call(*COMMAND)
    assert result.exit_code == 130
    assert result.stderr == "error: interrupted; nothing was written\n"


def test_a_reader_that_left_is_no_failure_once_the_file_is_written(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("discreet.cli.release.say", gone)
    result = call(*COMMAND)
    assert (result.exit_code, result.stderr) == (0, "")
    assert (folder / "out.json").exists()


def test_robust_standard_errors_are_paid_for_by_a_flag(folder: Path, call: Call) -> None:
    words = ("release", "people.csv", "--design", "design.toml", "--epsilon", "1", "--delta", "1e-6")
    made = call(*words, "--robust", "--residual-bound", "50000", "-o", "robust.json")
    assert made.exit_code == 0, made.stderr
    assert Release.load("robust.json").residuals is not None
    refused = call(*words, "--residual-bound", "0.5", "-o", "plain.json")
    assert refused.exit_code == 2
    assert "--residual-bound requires --robust" in refused.stderr


@pytest.mark.parametrize(
    ("more", "how"),
    [
        ((), "run the same command again to complete it at no additional cost"),
        (
            ("--new-release",),
            "find its id with `discreet ledger history`, and pass --request-id ID to complete it at no cost",
        ),
    ],
)
@pytest.mark.parametrize("step", ["summed", "reserving", "reserved"])
def test_an_interrupt_while_the_ledger_is_asked_says_that_the_spend_may_be_recorded(
    folder: Path, call: Call, step: str, more: tuple[str, ...], how: str
) -> None:
    def stop(reached: str) -> None:
        if reached == step:
            raise KeyboardInterrupt

    discreet.Ledger.create("books.db").declare("people", epsilon=5.0, delta=1e-5)
    tracked = (*COMMAND, "--ledger", "books.db", "--dataset", "people")
    with calling(stop):
        result = call(*tracked, *more)
    assert result.exit_code == 130
    assert result.stderr == f"error: interrupted; nothing was written, but the spend may be recorded; {how}\n"
    # what it says is so: one spend, and a release for it
    waiting = discreet.Ledger("books.db").status("people").waiting
    assert len(waiting) == (step == "reserved")
    resumed = call(*tracked, *(("--request-id", waiting[0]) if more and waiting else ()))
    assert resumed.exit_code == 0, resumed.stderr
    assert discreet.Ledger("books.db").status("people").requests == 1


def test_after_the_spend_a_new_release_is_finished_by_its_id(folder: Path, call: Call) -> None:
    def stop(reached: str) -> None:
        if reached == "drawn":
            raise KeyboardInterrupt

    discreet.Ledger.create("books.db").declare("people", epsilon=5.0, delta=1e-5)
    tracked = (*COMMAND, "--ledger", "books.db", "--dataset", "people")
    with calling(stop):
        result = call(*tracked, "--new-release")
    (name,) = discreet.Ledger("books.db").status("people").waiting
    assert f"--request-id {name} instead of --new-release completes it at no cost\n" in result.stderr
    assert call(*tracked, "--request-id", name).exit_code == 0
    assert discreet.Ledger("books.db").status("people").requests == 1
    promise = json.loads((folder / COMMAND[COMMAND.index("-o") + 1]).read_text())["guarantee"]["conditions"]
    assert promise == ["one-row", "blind-choices", "ledger-budget"]


def test_private_bounds_are_told_where_they_are_found_and_named_where_not(folder: Path, call: Call) -> None:
    """Noise alone finds bounds of all six columns of the second table with a probability below 1e-12."""
    columns = {"x": {"bounds": "private", "within": (0, 32)}, "y": {"bounds": "private", "within": (0, 32)}}
    Path("private.toml").write_text(discreet.Design("y", columns).to_toml())
    Path("rows.csv").write_text("x,y\n" + "".join(f"{20 - i % 4},{17 + i % 3}\n" for i in range(3000)))
    command = ("release", "rows.csv", "--design", "private.toml", "--epsilon", "4", "--delta", "1e-6", "-o", "out.json")
    result = call(*command)
    assert result.exit_code == 0, result.stderr
    assert "found privately: x " in result.stdout
    assert "private bounds without --ledger: every run draws new counts and spends again" in result.stderr
    assert call("ledger", "init", "books.db", "--dataset", "rows", "--epsilon", "4", "--delta", "1e-5").exit_code == 0
    counted = call(*command[:-1], "counted.json", "--ledger", "books.db", "--dataset", "rows")
    assert counted.exit_code == 0, counted.stderr
    assert "spends again" not in counted.stderr
    assert call("verify", "out.json").exit_code == 0
    result = call(*command, "--force", "--json")
    assert json.loads(result.stdout)["found_bounds"]["x"][1] == 32.0
    names = [f"x{place}" for place in range(6)]
    Path("private.toml").write_text(discreet.Design("x0", dict.fromkeys(names, "private")).to_toml())
    Path("rows.csv").write_text(",".join(names) + "\n" + "1,2,3,4,5,6\n")
    result = call(*command, "--force")
    assert result.exit_code == 5
    assert "were not found at this budget" in result.stderr
    assert "The search spent epsilon = " in result.stderr
    result = call("plan", "--design", "private.toml", "--rows", "100", "--epsilon", "1")
    assert result.exit_code == 2
    assert "has private bounds, so a plan needs its expected mean and sd" in result.stderr
    result = call("check", "rows.csv", "--design", "private.toml")
    assert "Private bounds: x0, x1" in result.stdout


def test_what_was_published_and_what_comes_next_is_said_in_plain_words(folder: Path, call: Call) -> None:
    text = call(*COMMAND[:-1], "a b.release.json").stdout
    assert text.startswith(
        "In short    anyone who has the file can fit any linear model of its columns, such as income on "
    )
    assert "It contains no row, exact sum or exact count. Publish this file and nothing else" in text
    assert "            discreet report 'a b.release.json' -o 'a b.html'" in text
    one = call(*COMMAND[:-1], "one.json", "--mechanism", "irls").stdout
    assert one.startswith(
        "In short    anyone who has the file has one noisy model of income; no other model can be fitted"
    )


BAD_SIGNS = {
    "decimal: expected '.' or ',', got ';'": ["--decimal", ";"],
    "thousands: expected one of": ["--thousands", "x"],
    "thousands and decimal must be different characters, got ',' for both": ["--decimal", ",", "--thousands", ","],
    "delimiter: expected one ASCII character": ["--delimiter", ",,"],
}


def test_signs_that_are_not_allowed_are_refused_by_every_command_that_reads_a_table(folder: Path, call: Call) -> None:
    assert call(*COMMAND[:-1], "R.json").exit_code == 0
    before = contents(folder)
    for words in (
        [*COMMAND[:-1], "out.json"],
        ["check", "people.csv", "--design", "design.toml"],
        ["predict", "R.json", "people.csv", "-o", "out.csv", "--penalty", "bayes"],
        ["init", "people.csv", "-o", "new.toml"],
    ):
        for message, options in BAD_SIGNS.items():
            result = call(*words, *options)
            assert (result.exit_code, result.stdout) == (2, "")
            assert message in result.stderr
            assert contents(folder) == before


def test_numbers_with_a_decimal_comma_and_cells_with_line_breaks_are_read(folder: Path, call: Call) -> None:
    rows = "".join(f'"{18 + number % 60},5";"a\nb";1.000,25;north\n' for number in range(60))
    (folder / "t.csv").write_text("age;remark;income;region\n" + rows, newline="")
    reading = ["--delimiter", ";", "--decimal", ",", "--thousands", ".", "--quoted-line-breaks"]
    checked = call("check", "t.csv", "--design", "design.toml", "--json", *reading)
    assert checked.exit_code == 0, checked.stderr
    assert '"rows_fit": 60' in checked.stdout
    made = call("release", "t.csv", *COMMAND[2:-1], "out.json", *reading)
    assert made.exit_code == 0, made.stderr
    assert "every cell of the file is quoted correctly" in made.stdout
    told = call("predict", "out.json", "t.csv", "-o", "out.csv", "--features", "age", "--penalty", "bayes", *reading)
    assert told.exit_code == 0, told.stderr
    assert (folder / "out.csv").read_text().splitlines()[1].startswith("18.5,")


def test_further_models_with_robust_errors_are_declared_one_by_one(folder: Path, call: Call) -> None:
    words = ("release", "people.csv", "--design", "design.toml", "--epsilon", "1", "--delta", "1e-6", "--robust")
    models = ("--robust-model", "income ~ age", "--robust-model", "income ~ 1")
    made = call(*words, *models, "-o", "models.json")
    assert made.exit_code == 0, made.stderr
    assert "robust standard errors of the full model, 'income ~ 1', 'income ~ age'" in " ".join(made.stdout.split())
    assert Release.load("models.json").robust_models == ("income ~ 1", "income ~ age")
    shown = call("show", "models.json")
    assert "of the full model and of 'income ~ 1', 'income ~ age'" in " ".join(shown.stdout.split())
    assert json.loads(call("show", "models.json", "--json").stdout)["robust_models"] == ["income ~ 1", "income ~ age"]
    assert call("verify", "models.json").exit_code == 0
    assert call("fit", "models.json", "--formula", "income ~ age", "--robust").exit_code == 0
    report = call("report", "models.json", "-o", "models.html")
    assert report.exit_code == 0, report.stderr
    assert "squared residuals times squares, income ~ age" in (folder / "models.html").read_text()
    other = call("fit", "models.json", "--features", "region", "--robust")
    assert other.exit_code == 2
    assert "the declared full model and 'income ~ 1', 'income ~ age'" in other.stderr


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (("income ~ height",), "unknown column 'height'"),
        (("income ~ age", "income ~ age"), "describe the same model"),
        (("income ~ .",), "is the full model"),
        (("income",), "expected a target, '~' and features"),
    ],
)
def test_a_wrong_model_is_one_line_and_spends_nothing(folder: Path, call: Call, models, message) -> None:
    words = [word for model in models for word in ("--robust-model", model)]
    result = call(*COMMAND, "--robust", *words)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert message in result.stderr
    assert not (folder / "out.json").exists()
    alone = call(*COMMAND, *words)
    assert alone.exit_code == 2
