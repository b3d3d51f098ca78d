"""A public name is one thing: no module or folder beside it can take its place once it is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import discreet

PACKAGE = Path(discreet.__file__).parent
ROOMS = ("audit", "datasets", "planning", "primitives", "privacy", "testing")
# takes every public name before and after all modules of the package are imported, and prints those that changed
TWICE = """
import pkgutil, sys
from importlib import import_module

package, *rooms = sys.argv[1:]
homes = [import_module(name) for name in (package, *(f"{package}.{room}" for room in rooms))]
first = {(home.__name__, name): getattr(home, name) for home in homes for name in home.__all__}
inside = [one.name for one in pkgutil.walk_packages(homes[0].__path__, f"{package}.")]
for name in inside:
    if not name.endswith("__main__"):
        import_module(name)
changed = [f"{home}.{name}" for (home, name), thing in first.items() if getattr(sys.modules[home], name) is not thing]
print(len(first), len(inside), *changed)
"""


def beside(folder: Path) -> set[str]:
    """Names of the modules and folders of a package."""
    return {file.stem for file in folder.glob("*.py")} | {child.name for child in folder.iterdir() if child.is_dir()}


def taken_twice(package: str, *rooms: str, path: Path | None = None) -> tuple[int, int, list[str]]:
    """How many public names and modules a package has, and the names that imports of its modules changed."""
    where = os.pathsep.join([str(path or PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", TWICE, package, *rooms],
        capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": where},
    )  # fmt: skip
    names, modules, *changed = done.stdout.split()
    return int(names), int(modules), changed


@pytest.fixture
def shadowed(tmp_path: Path) -> Path:
    """A package whose function `plan` is also the name of a module."""
    folder = tmp_path / "house"
    folder.mkdir()
    (folder / "__init__.py").write_text("from house.inner import plan, path\n__all__ = ['plan', 'path']\n")
    (folder / "inner.py").write_text("def plan(): ...\ndef path(): ...\n")
    (folder / "plan.py").write_text("")
    return folder


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_no_public_name_is_that_of_a_module_or_folder_beside_it(room):
    if room == "planning":
        assert not (PACKAGE / room).exists(), "it is a module, with nothing beside its names"
        return
    names = getattr(discreet, room).__all__ if room else discreet.__all__
    assert sorted(set(names) & beside(PACKAGE / room)) == []


@pytest.mark.no_cover
def test_public_names_stay_what_they_are_when_every_module_is_imported():
    names, modules, changed = taken_twice("discreet", *ROOMS)
    assert changed == []
    assert names > 60
    assert modules > 200


def test_a_name_that_a_module_takes_is_found(shadowed):
    assert {"plan", "path"} & beside(shadowed) == {"plan"}
    assert taken_twice("house", path=shadowed.parent) == (2, 2, ["house.plan"])
