"""The README's example and design run as they stand, outside the repository."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import discreet

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_example_runs_and_recovers_the_slope(tmp_path):
    (example,) = blocks("python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 15
    check = "\nassert abs(fit.params['age'] - 900) < 90, fit.params\n"
    done = subprocess.run(
        [sys.executable, "-c", example + check], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "age" in done.stdout
    assert (tmp_path / "income.release.json").exists()


def test_the_design_in_the_readme_loads():
    (design,) = blocks("toml")
    assert discreet.Design.from_toml(design).released == ("1", "age", "region[south]", "region[east]", "income")


def test_the_shell_example_runs(tmp_path):
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(2)
    regions = rng.choice(["north", "south", "east"], 3000)
    table = pa.table({"income": rng.uniform(0, 2e5, 3000), "age": rng.uniform(18, 90, 3000), "region": regions})
    pa.parquet.write_table(table, tmp_path / "survey.parquet")
    pa.csv.write_csv(table.drop_columns("income"), tmp_path / "new.csv")
    (tmp_path / "design.toml").write_text(blocks("toml")[0])
    commands = [line for line in blocks("sh")[1].splitlines() if line]
    assert len(commands) == 3
    for command in commands:
        words = command.replace("discreet", f"{sys.executable} -m discreet", 1).split()
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "predictions.csv").exists()


def test_every_make_target_of_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"^make (\w+)", README, flags=re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
