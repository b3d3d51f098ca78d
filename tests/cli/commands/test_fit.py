"""`discreet fit`: text, tables and JSON of a model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from discreet.analyst.model import fit
from discreet.analyst.summary import cells, summary_text
from discreet.cli.flags import FLAGS
from discreet.cli.terminal import in_flags
from discreet.design.design import Design
from discreet.options import RobustErrors
from discreet.releases import Release
from discreet.testing.not_private import exact_release, seeded_release
from discreet.workflow import release
from support.cli_folder import Call

PATH = "income.release.json"


@pytest.fixture
def not_private(folder: Path) -> str:
    design = Design("y", {"y": (0, 10), "group": ["a", "b[red]"]})
    made = exact_release({"y": [1.0, 2.0, 4.0, 5.0], "group": ["a", "b[red]"] * 2}, design)
    name = "test.NOT-PRIVATE.json"
    made.save(folder / name)
    return name


def test_plain_text_is_the_summary_of_the_fit(folder: Path, call: Call) -> None:
    result = call("fit", PATH)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == summary_text(fit(Release.load(PATH)), wording=FLAGS)
    assert result.stderr == ""


def test_json_is_the_fit_as_plain_values(folder: Path, call: Call) -> None:
    result = call("fit", PATH, "--json", "--target", "age", "--features", "income", "--no-intercept")
    assert result.exit_code == 0, result.stderr
    expected = fit(Release.load(PATH), target="age", features=["income"], intercept=False)
    assert json.loads(result.stdout) == in_flags(expected.to_dict())


PENALTIES: list[dict[str, str | float]] = [
    {"penalty": "adaptive"},
    {"penalty": "ridge", "strength": 0.1},
    {"penalty": "lasso", "strength": 1e-3},
    {"penalty": "lasso", "strength": "criterion"},
    {"penalty": "elastic-net", "strength": 0.01, "l1_ratio": 0.5},
    {"penalty": "elastic-net", "strength": "criterion", "l1_ratio": 1},
]


@pytest.mark.parametrize("spec", PENALTIES, ids=lambda spec: " ".join(map(str, spec.values())))
def test_penalties_are_passed_on(spec: dict[str, str | float], folder: Path, call: Call) -> None:
    flags = [word for name, value in spec.items() for word in ("--" + name.replace("_", "-"), str(value))]
    result = call("fit", PATH, *flags, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    expected = fit(Release.load(PATH), **spec)  # type: ignore[arg-type]
    assert json.loads(result.stdout) == in_flags(expected.to_dict())


def test_a_strength_chosen_by_the_criterion_is_shown(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = ("--penalty", "lasso", "--strength", " criterion ")
    strength = fit(Release.load(PATH), penalty="lasso", strength="criterion").strength
    shown = f"lasso, strength {strength:g} (by criterion)"
    assert shown in call("fit", PATH, *flags).stdout
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    assert shown in call("fit", PATH, *flags).stdout


def test_a_model_can_be_said_in_one_line(folder: Path, call: Call) -> None:
    result = call("fit", PATH, "--formula", "age ~ income + region - 1", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    expected = fit(Release.load(PATH), target="age", features=["income", "region"], intercept=False)
    assert json.loads(result.stdout) == in_flags(expected.to_dict())


def test_a_release_that_is_not_private_says_so_first(not_private: str, call: Call) -> None:
    result = call("fit", not_private)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("NOT PRIVATE")
    assert "\x1b" not in result.stdout
    assert "group[b[red]]" in result.stdout


def test_json_of_a_release_that_is_not_private_keeps_stdout_clean(not_private: str, call: Call) -> None:
    result = call("fit", not_private, "--json")
    assert json.loads(result.stdout)["private"] is False
    assert result.stderr.startswith("notice: NOT PRIVATE")


def test_a_terminal_gets_a_table(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    result = call("fit", PATH)
    assert result.exit_code == 0, result.stderr
    assert "━" in result.stdout
    assert "region[south]" in result.stdout
    assert "noisy count" in result.stdout
    assert "This release hides" in result.stdout


@pytest.mark.parametrize("columns", ["30", "80", "200"])
def test_a_terminal_gets_every_column_of_the_summary_uncut(
    columns: str, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", columns)
    result = call("fit", PATH)
    assert result.exit_code == 0, result.stderr
    assert all(word in result.stdout for word in ("coef", "std", "err", "[0.025", "0.975]", "privacy"))
    lines = [set(line.replace("│", " ").replace("┃", " ").split()) for line in result.stdout.splitlines()]
    assert any({"t", "p"} <= line for line in lines)
    rows = cells(fit(Release.load(PATH)))
    assert len(rows) == 3
    for row in rows:
        shown = next(line for line in result.stdout.splitlines() if row[1] in line).replace("│", " ").split()
        assert shown[-7:] == list(row[1:])


@pytest.mark.parametrize(("columns", "width"), [("20", 60), ("72", 72), ("300", 100)])
@pytest.mark.parametrize("command", ["fit", "path"])
def test_sentences_are_wrapped_to_the_terminal(
    command: str, columns: str, width: int, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", columns)
    result = call(command, PATH)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    said = lines[next(index for index, line in enumerate(lines) if line.startswith("Promise ")) :]
    prose = [line for line in said if not line.startswith("Next ")]
    assert width - 20 < max(map(len, prose)) <= width
    assert all(line[:9].strip() in ("", "Promise", "Note", "Picture") for line in prose)


def test_a_terminal_gets_a_loud_line_for_a_release_that_is_not_private(
    not_private: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    result = call("fit", not_private)
    assert result.exit_code == 0, result.stderr
    assert "NOT PRIVATE" in result.stdout.splitlines()[0]
    assert "group[b[red]]" in result.stdout


def test_a_field_that_is_not_known_is_a_notice(folder: Path, call: Call) -> None:
    from discreet.releases.fields import digest_of

    body = json.loads((folder / PATH).read_text())
    del body["digest"]
    body["later"] = 1
    (folder / "later.json").write_text(json.dumps(body | {"digest": digest_of(body)}))
    result = call("fit", "later.json", "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("notice: the release file has an unknown field 'later'")
    assert "params" in json.loads(result.stdout)


@pytest.fixture
def robust_release(folder: Path) -> str:
    rows = 3000
    table = {"x": [(i % 101) / 101 for i in range(rows)], "y": [(i % 101) / 202 + (i % 7) / 20 for i in range(rows)]}
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    made = release(table, design, epsilon=8.0, delta=1e-6, robust=RobustErrors(models=["y ~ 1"]))
    made.save(folder / "robust.json")
    return "robust.json"


def test_robust_standard_errors_are_asked_for_with_a_word(robust_release: str, call: Call) -> None:
    result = call("fit", robust_release, "--robust")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == summary_text(fit(Release.load(robust_release)).robust(), wording=FLAGS)
    assert "Standard errors are robust" in result.stdout
    document = json.loads(call("fit", robust_release, "--robust", "--json").stdout)
    assert document == in_flags(fit(Release.load(robust_release)).robust().to_dict())
    declared = call("fit", robust_release, "--formula", "y ~ 1", "--robust")
    assert declared.stdout == summary_text(fit(Release.load(robust_release), "y ~ 1").robust(), wording=FLAGS)
    assert "Standard errors are robust" in declared.stdout


@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_the_level_is_that_of_every_interval(level: float, folder: Path, call: Call) -> None:
    result = call("fit", PATH, "--level", str(level))
    assert result.exit_code == 0, result.stderr
    model = fit(Release.load(PATH))
    assert result.stdout == summary_text(model, level, wording=FLAGS)
    assert f"[{(1 - level) / 2:g}" in result.stdout
    assert f"{(1 + level) / 2:g}]" in result.stdout
    assert "95%" not in result.stdout
    document = json.loads(call("fit", PATH, "--level", str(level), "--json").stdout)
    assert document == in_flags(model.to_dict(level))
    assert document["interval_level"] == level
    assert document["conf_int"] == {name: ends.to_dict() for name, ends in model.conf_int(level).items()}


def test_a_level_that_is_none_is_refused(folder: Path, call: Call) -> None:
    for word in ("0.05", "1", "much"):
        result = call("fit", PATH, "--level", word)
        assert result.exit_code == 2
        assert "level" in result.stderr


def test_robust_standard_errors_that_cannot_be_given_are_refused(robust_release: str, call: Call) -> None:
    for words, message in (
        ((PATH, "--robust"), "make a release with the option robust"),
        ((robust_release, "--robust", "--penalty", "adaptive"), "without a penalty"),
        ((robust_release, "--robust", "--no-intercept"), "declared full model"),
    ):
        result = call("fit", *words)
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.fixture
def inside(folder: Path) -> str:
    table = {"x": [(i % 101) / 101 for i in range(500)], "y": [(i % 101) / 202 + (i % 7) / 20 for i in range(500)]}
    design = Design("y", {"x": (0, 1), "y": (0, 1)})
    made = release(table, design, epsilon=2.0, mechanism="frank-wolfe", settings={"iterations": 3})
    made.save(folder / "inside.json")
    return "inside.json"


@pytest.fixture
def hopeless(folder: Path) -> str:
    table = {"x": [(i % 101) / 101 for i in range(20)], "y": [(i % 7) / 20 for i in range(20)]}
    table["z"] = table["x"]
    made = seeded_release(
        table, Design("y", dict.fromkeys("xyz", (0, 1))), seed=3, epsilon=0.1, delta=1e-6, mechanism="gaussian"
    )
    made.save(folder / "hopeless.NOT-PRIVATE.json")
    return "hopeless.NOT-PRIVATE.json"


PYTHON_WORDS = re.compile(r"\b\w+=['\"\[\w]|\w\(\)|discreet\.\w+\(")


def test_what_a_refusal_advises_can_be_typed(hopeless: str, inside: str, call: Call) -> None:
    for words, advice in (
        (("predict", hopeless, "no.csv", "-o", "o.csv"), "pass --penalty bayes"),
        (("fit", inside, "--robust"), "release with --mechanism gaussian and --robust"),
        (("fit", PATH, "--penalty", "ridge"), "--strength 0.1"),
        (("fit", PATH, "--penalty", "ridge"), "--strength criterion"),
        (("fit", PATH, "--penalty", "ridge", "--strength", "0"), "--penalty none"),
        (("fit", PATH, "--penalty", "elastic-net", "--strength", "1"), "--l1-ratio 0.5"),
        (("fit", PATH, "--formula", "income ~ 0"), "name a feature or keep the intercept"),
        (("path", inside), "discreet fit"),
        (
            ("release", "no.csv", "--design", "d.toml", "--epsilon", "1", "--residual-bound", "1", "-o", "o.json"),
            "--residual-bound requires --robust",
        ),
    ):
        Design("y", {"x": (0, 1), "y": (0, 1)}).save("d.toml", force=True)
        result = call(*words)
        assert result.exit_code == 2, words
        assert advice in result.stderr
        assert not PYTHON_WORDS.search(result.stderr), result.stderr


def test_sums_that_are_not_positive_definite_are_fitted_with_any_value(
    hopeless: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = call("fit", hopeless)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert re.match(r"Rows:     about -?\d+ \(noisy count, standard deviation \d+\)", lines[2])
    assert "x not estimable - - 1.000 any value" in " ".join(result.stdout.split())
    document = json.loads(call("fit", hopeless, "--json").stdout)
    assert document["estimable"] is False
    assert document["params"] == document["bse"] == {"Intercept": None, "x": None, "z": None}
    assert document["pvalues"] == {"Intercept": 1.0, "x": 1.0, "z": 1.0}
    assert document["conf_int"]["x"] == {"kind": "everything", "lower": None, "upper": None}
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    shown = call("fit", hopeless)
    assert shown.exit_code == 0
    assert shown.stdout.index("noisy count") < shown.stdout.index("not estimable")


def test_the_reasons_in_a_document_speak_no_python(folder: Path, call: Call) -> None:
    document = json.loads(call("fit", PATH, "--penalty", "lasso", "--strength", "0.01", "--json").stdout)
    told = [*document["reasons"].values(), document["rsquared_reason"], document["table_conf_int_reason"]]
    assert "the penalty 'none'" in told[0]
    assert "the penalty 'none'" in document["rsquared_reason"]
    assert not [reason for reason in told if PYTHON_WORDS.search(reason)]


def test_a_release_of_coefficients_is_fitted_shown_and_predicted_with(
    inside: str, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = call("fit", inside)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == summary_text(fit(Release.load(inside)), wording=FLAGS)
    document = json.loads(call("fit", inside, "--json").stdout)
    assert document["bse"] == {"Intercept": None, "x": None}
    assert "publishes coefficients" in document["reasons"]["x"]
    (folder / "rows.csv").write_text("x\n0.5\n0.75\n")
    assert call("predict", inside, "rows.csv", "-o", "out.csv").exit_code == 0
    written = [float(line.split(",")[1]) for line in (folder / "out.csv").read_text().splitlines()[1:]]
    assert written == pytest.approx(fit(Release.load(inside)).predict({"x": [0.5, 0.75]}).tolist())
    page = call("report", inside, "-o", "inside.html")
    assert (page.exit_code, page.stderr) == (0, "")
    assert "No standard errors, intervals or p-values" in (folder / "inside.html").read_text()
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    shown = call("fit", inside)
    assert shown.exit_code == 0
    assert "not released" in shown.stdout


def test_noise_in_the_coefficients_themselves_is_told(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {"x": [(i % 101) / 101 for i in range(500)], "y": [(i % 101) / 202 + (i % 7) / 20 for i in range(500)]}
    made = release(table, Design("y", {"x": (0, 1), "y": (0, 1)}), epsilon=2.0, delta=1e-6, mechanism="output")
    made.save(folder / "added.json")
    model = fit(made)
    document = json.loads(call("fit", "added.json", "--json").stdout)
    assert document["privacy_sd"] == dict(model.privacy_sd)
    assert document["table_conf_int"] == {name: ends.to_dict() for name, ends in model.table_conf_int().items()}
    assert document["bse"] == document["conf_int"] == {"Intercept": None, "x": None}
    assert document["interval_target"] == "none"
    assert call("fit", "added.json").stdout == summary_text(model, wording=FLAGS)
    assert call("report", "added.json", "-o", "added.html").exit_code == 0
    page = (folder / "added.html").read_text()
    assert "interval, this table" in page
    assert "They include no sampling error" in page
    monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
    shown = call("fit", "added.json")
    assert shown.exit_code == 0
    assert "privacy sd" in shown.stdout


@pytest.mark.parametrize(
    "words",
    [("fit", "--penalty", "ridge", "--strength", "1"), ("fit", "--target", "x"), ("path",), ("fit", "--robust")],
)
def test_what_a_release_of_coefficients_does_not_hold_is_refused(inside: str, call: Call, words: tuple[str]) -> None:
    result = call(words[0], inside, *words[1:])
    assert result.exit_code == 2
    assert "'frank-wolfe' published only the coefficients" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_kind_of_standard_errors_is_passed_on(folder: Path, call: Call) -> None:
    result = call("fit", PATH, "--cov-type", "nonrobust")
    assert result.stdout == summary_text(fit(Release.load(PATH)), wording=FLAGS)
    for kind, message in (
        ("HC3", "needs the leverage of every row"),
        ("HC9", "unknown cov_type"),
        ("HC0", "make a release with the option robust"),
    ):
        refused = call("fit", PATH, "--cov-type", kind)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert message in refused.stderr


def test_two_ways_to_ask_for_standard_errors_are_refused(folder: Path, call: Call) -> None:
    refused = call("fit", PATH, "--robust", "--cov-type", "nonrobust")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "pass only one of these options" in refused.stderr


@pytest.mark.parametrize("kind", ["text", "md", "tex", "html", "csv"])
def test_a_format_is_printed_or_written_as_the_library_writes_it(folder: Path, call: Call, kind: str) -> None:
    known = fit(Release.load(PATH))
    expected = known.to_csv(0.9) if kind == "csv" else known.table(0.9).written(kind)  # type: ignore[arg-type]
    printed = call("fit", PATH, "--format", kind, "--level", "0.9")
    assert printed.exit_code == 0, printed.stderr
    assert printed.stdout == expected
    output = f"table.{'txt' if kind == 'text' else kind}"
    written = call("fit", PATH, "-o", output, "--level", "0.9")
    assert written.stdout == f"Written  {output}\n"
    assert (folder / output).read_text() == expected
    assert call("fit", PATH, "-o", output).exit_code == 2
    assert call("fit", PATH, "-o", output, "--force", "--format", kind).exit_code == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--format", "xlsx"], "unknown format 'xlsx'; allowed: text, md, tex, html, csv"),
        (["--format", "xlsx", "-o", "a.md"], "unknown format 'xlsx'"),
        (["--format", "md", "-o", "a.tex"], "does not match the output name 'a.tex'"),
        (["-o", "a.xlsx"], "expected a file name ending in one of .txt"),
        (["-o", PATH], "expected a file name ending in one of .txt"),
        (["-o", "nowhere/a.md"], "does not exist"),
        (["--format", "md", "--json"], "leave --json out, or leave out --format and -o"),
        (["--format", "md", "--level", "2"], "for --level, got 2.0"),
    ],
)
def test_a_table_that_cannot_be_written_is_refused(folder: Path, call: Call, more: list[str], words: str) -> None:
    before = sorted(folder.iterdir())
    result = call("fit", PATH, *more)
    assert result.exit_code == 2
    assert words in result.stderr
    assert sorted(folder.iterdir()) == before


def test_a_table_that_is_not_private_says_so_on_both_streams(call: Call, not_private: str) -> None:
    result = call("fit", not_private, "--format", "md")
    assert result.stdout.startswith("**NOT PRIVATE")
    assert "NOT PRIVATE" in result.stderr
