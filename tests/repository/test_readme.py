"""The README's example and design run as they stand, outside the repository."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import discreet
from discreet.mechanisms.registry import mechanisms

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def shape(printed: str) -> list[str]:
    """What is printed with every number replaced, since noise changes digits but neither words nor lines."""
    return [" ".join(re.sub(r"-?\d+(\.\d+)?(e[-+]\d+)?", "N", line).split()) for line in printed.strip().splitlines()]


def test_the_python_example_runs_recovers_the_slope_and_prints_what_is_shown(tmp_path):
    (example,) = blocks("python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 12
    # the noise of the slope has a standard deviation of about 4, so a false alarm has probability below 1e-80
    check = "\nassert abs(fit.params['age'] - 900) < 90, fit.params\n"
    done = subprocess.run(
        [sys.executable, "-c", example + check], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (shown,) = blocks("text")
    assert shape(done.stdout) == shape(shown)
    assert (tmp_path / "income.release.json").exists()


def test_the_shape_of_a_print_keeps_words_and_lines():
    assert shape("age  -1.5 to 2e-05\n") == ["age N to N"]
    assert shape("age  1 to 2") != shape("age  at least 1")
    assert shape("age  1\nheight  2") != shape("age  1")


def test_the_design_in_the_readme_loads():
    (design,) = blocks("toml")
    assert discreet.Design.from_toml(design).released == ("1", "age", "region[south]", "region[east]", "income")


def test_the_shell_example_runs(tmp_path):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet

    rng = np.random.default_rng(2)
    regions = rng.choice(["north", "south", "east"], 3000)
    table = pa.table({"income": rng.uniform(0, 2e5, 3000), "age": rng.uniform(18, 90, 3000), "region": regions})
    pa.parquet.write_table(table, tmp_path / "survey.parquet")
    (tmp_path / "design.toml").write_text(blocks("toml")[0])
    commands = [line for line in blocks("sh")[-1].splitlines() if line]
    assert len(commands) == 4
    for command in commands:
        words = command.replace("discreet", f"{sys.executable} -m discreet", 1).split()
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "income.html").exists()


def test_every_make_target_of_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"^make (\w+)", README, flags=re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_every_extra_of_the_readme_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    section = README.partition("## Extras")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE))
    assert len(named) >= 5
    assert named <= set(extras)


def test_files_that_the_readme_links_to_exist():
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", README) if not target.startswith("https://")]
    assert "docs/images/report.png" in targets
    assert [target for target in targets if not (ROOT / target).is_file()] == []
    assert (ROOT / "docs/images/report.png").stat().st_size < 200_000


def test_version_and_number_of_mechanisms_are_those_of_the_program():
    (citation,) = blocks("bibtex")
    assert f"version = {{{discreet.__version__}}}" in citation
    assert f"Status: {discreet.__version__}," in README
    assert f"{len(mechanisms())} mechanisms with proofs" in README
