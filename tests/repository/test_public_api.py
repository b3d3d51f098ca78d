"""The public names are a decision, not an accident."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import discreet
import discreet_papers
import discreet_studio

ROOT = Path(__file__).parents[2]
PUBLIC = [
    "CancelToken",
    "Cancelled",
    "ComputeOptions",
    "Cost",
    "Curator",
    "CuratorKey",
    "DatabaseTable",
    "Design",
    "DesignError",
    "DesignProblem",
    "DiscreetError",
    "Fit",
    "Ledger",
    "Part",
    "PrivacyBudget",
    "PrivacyUnit",
    "PrivateLinearRegression",
    "ReadOptions",
    "Release",
    "ReleaseOptions",
    "RobustErrors",
    "Session",
    "blank_design",
    "check",
    "check_pipeline",
    "compare_models",
    "cost",
    "database_tables",
    "design_problems",
    "diagnose",
    "fit",
    "mechanism_choices",
    "merge",
    "page_svg",
    "part",
    "path",
    "plan",
    "release",
    "report",
    "table",
    "verify",
]
ROOMS = ["audit", "datasets", "planning", "primitives", "privacy", "testing"]


def test_public_names_are_the_stored_list():
    assert sorted(discreet.__all__) == sorted(PUBLIC)
    assert sorted([*PUBLIC, "__version__"]) == dir(discreet)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_resolves_and_is_documented(name):
    thing = getattr(discreet, name)
    assert thing.__doc__
    assert not thing.__doc__.startswith(f"{name}(")


@pytest.mark.parametrize("room", ["", *ROOMS, "discreet_papers"])
def test_every_public_function_has_an_example(room):
    home = discreet_papers if room == "discreet_papers" else getattr(discreet, room) if room else discreet
    functions = [name for name in home.__all__ if inspect.isfunction(getattr(home, name))]
    assert [name for name in functions if ">>>" not in (getattr(home, name).__doc__ or "")] == []
    assert functions


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'regress'"):
        discreet.regress  # noqa: B018


@pytest.mark.no_cover
@pytest.mark.parametrize("room", ROOMS)
def test_the_rooms_that_users_visit_open_without_an_import_of_their_own(room):
    code = f"import discreet; room = discreet.{room}; assert room.__doc__; assert {room!r} not in discreet.__all__; "
    use = "assert room.__all__; assert all(getattr(room, name) is not None for name in room.__all__)"
    subprocess.run([sys.executable, "-c", code + use], check=True)


def test_the_release_function_is_not_shadowed_by_a_module():
    from discreet.releases import Release

    assert callable(discreet.release)
    assert discreet.Release is Release


def test_importing_the_package_imports_nothing_heavy():
    heavy = {"numpy", "scipy", "pyarrow", "opendp", "pandas", "rich", "click"}
    code = "import sys, discreet; print(*{m.split('.')[0] for m in sys.modules})"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & heavy


def test_the_three_packages_have_one_version():
    assert discreet_papers.__version__ == discreet_studio.__version__ == discreet.__version__
    for project in ROOT.glob("packages/*/pyproject.toml"):
        needed = tomllib.loads(project.read_text())["project"]["dependencies"]
        [library] = [one for one in needed if one.startswith("discreet")]
        assert library.partition("==")[2] == discreet.__version__


def test_the_version_is_one_and_the_same():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(rf"^## {re.escape(discreet.__version__)}\b", changelog, flags=re.MULTILINE)


def test_no_file_names_a_path_of_a_machine():
    for file in [
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "packages").rglob("*.py"),
        *ROOT.glob("*.md"),
        ROOT / "Makefile",
    ]:
        text = file.read_text()
        for path in ("/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/"):
            assert path not in text, (file, path)
