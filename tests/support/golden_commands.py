"""Command lines that are refused, the folder they are tried in, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

import discreet
from discreet.cli.main import program
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.workflow import release_with
from support.cli_folder import DESIGN as TOML
from support.golden_cases import RepeatedSampler

TAKEN = "taken"
HEADER = "income,age,region\n"
PEOPLE = HEADER + "".join(f"{20_000 + 700 * i},{18 + i},{'north' if i % 3 else 'south'}\n" for i in range(60))


def commands() -> Iterator[list[str]]:
    """Command lines that are refused; files of the folder are made by `folder`."""
    release = ["release", "people.csv", "--design", "design.toml"]
    budget, out = ["--epsilon", "1", "--delta", "1e-6"], ["-o", "out.json"]
    for epsilon in ("nan", "0", "-1", "1e999", "abc", "1,5", "1_0", "１", "", "21"):
        yield [*release, "--epsilon", epsilon, "--delta", "1e-6", *out]
    yield [*release, *out]
    for more in (
        ["--delta", "-1e-6"], ["--delta", "1"], ["--delta", "tiny"], ["--delta", "0.01"], ["--mechanism", "gausian"],
        ["--mechanism", "gaussian", "--delta", "0"], ["--grid-bits", "many"], ["--grid-bits", "60"], ["--seed", "1"],
        ["--epsilom", "1"], ["--setting", "bins"], ["--setting", "bins=3"], ["--encoding", "klingon"],
        ["--delimiter", "::"], ["--delimiter", ";"], ["--robust", "--delta", "0"], ["--residual-bound", "x"],
        ["--robust-model", "income ~ 1"], ["--robust", "--robust-model", "income ~ height"],
        ["-o", "existing.json"], ["-o", "none/out.json"], ["-o", ".", "--force"], ["-o", "/proc/x.json"],
        ["-o", "people.csv", "--force"], ["-o", "link.json", "--force"], ["--design", "none.toml"],
    ):  # fmt: skip
        yield [*release, *budget, *([] if "-o" in more else out), *more]
    for more in (
        ["none.json"], ["design.toml"], ["R.json", "--features", ""], ["R.json", "--features", "age,,region"],
        ["R.json", "--features", '"age'], ["R.json", "--features", "agee"], ["R.json", "--strength", "1"],
        ["R.json", "--penalty", "lasso", "--strength", "criterium"], ["R.json", "--formula", "income"],
        ["R.json", "--penalty", "elastic-net", "--strength", "1", "--l1-ratio", "half"], ["R.json", "--robust"],
        ["a", "b"], [], ["evil\x1b[31m\n\u202ename.json"],
    ):  # fmt: skip
        yield ["fit", *more]
    for more in (["none.json"], ["R.json", "--penalty", "none"], ["R.json", "--penalty", "laso"],
                 ["R.json", "--plot", "out.docx"], ["R.json", "--plot", "existing.json"],
                 ["R.json", "--plot", "none/out.svg"], ["R.json", "--plot", "./R.json", "--force"]):  # fmt: skip
        yield ["path", *more]
    for more in (["none.csv", "-o", "out.csv"], ["new.csv", "-o", "out.xlsx"], ["new.csv", "-o", "existing.csv"],
                 ["new.csv", "-o", "none/out.csv"], ["new.csv", "-o", "new.csv", "--force"],
                 ["bad.csv", "-o", "out.csv"],
                 ["new.csv"], ["new.csv", "-o", "out.csv", "--keep", "nobody"],
                 ["new.csv", "-o", "out.csv", "--level", "2"]):  # fmt: skip
        yield ["predict", "R.json", *more]
    for more in (["none.json", "-o", "p.svg"], ["R.json"], ["R.json", "-o", "p.docx"], ["R.json", "-o", "none/p.svg"],
                 ["R.json", "-o", "R.json", "--force"], ["R.json", "-o", "p.svg", "--scale", "units"],
                 ["R.json", "-o", "p.svg", "--at", "age=3"], ["R.json", "-o", "p.svg", "--prediction", "agee"],
                 ["R.json", "-o", "p.svg", "--prediction", "age", "--at", "region=x"]):  # fmt: skip
        yield ["plot", *more]
    for more in (["none.json", "-o", "r.html"], ["R.json", "-o", "r.txt"], ["R.json", "-o", "none/r.html"],
                 ["R.json", "-o", "r.html", "--level", "2"], ["R.json", "--json", "--level", "much"]):  # fmt: skip
        yield ["report", *more]
    for more in (["none.csv", "-o", "n.toml"], ["design.toml", "-o", "n.toml"], ["people.csv", "-o", "design.toml"],
                 ["people.csv", "-o", "n.csv"], ["people.csv", "-o", "n.toml", "--target", "agee"],
                 ["people.csv", "-o", "n.toml", "--delimiter", ";"], ["people.csv"]):  # fmt: skip
        yield ["init", *more]
    for more in ([], ["--rows", "0"], ["--rows", "many"], ["--rows", "1000", "--rsquared", "2"],
                 ["--rows", "1000", "--mechanism", "gausian"], ["--rows", "1000", "--width", "1"],
                 ["--rows", "1000", "--coefficient", "age", "--width", "-1"],
                 ["--rows", "1000", "--coefficient", "agee", "--width", "1"],
                 ["--from", "R.json", "--rows", "5"]):  # fmt: skip
        yield ["plan", "--design", "design.toml", *budget, *more]
    for more in (
        ["mechanisms", "gausian"],
        ["relase"],
        ["--colour"],
        ["demo", "-o", "people.csv"],
        ["demo", "-o", "."],
    ):
        yield more


def told(words: list[str]) -> str:
    """Exit code and stderr of a command, in this process."""
    result = CliRunner().invoke(program, words, env={"COLUMNS": "100"})
    return TAKEN if result.exit_code == 0 else f"exit {result.exit_code}: {result.stderr.strip()}"


def prepare(folder: Path) -> None:
    """Files that command lines name."""
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "new.csv").write_text("region,age\nnorth,30\nsouth,40\n")
    (folder / "bad.csv").write_text("region,age\nSECRET,30\n")
    (folder / "design.toml").write_text(TOML)
    for name in ("existing.json", "existing.csv"):
        (folder / name).write_bytes(b"precious")
    (folder / "link.json").symlink_to("existing.json")
    (folder / "empty folder").mkdir()
    design = discreet.Design.from_toml(TOML)
    made = release_with(
        RepeatedSampler(1),
        folder / "people.csv",
        design,
        PrivacyBudget(8.0, 1e-6),
        ReleaseOptions(mechanism="gaussian"),
    )
    made.save(folder / "R.json")
