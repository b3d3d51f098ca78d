"""The folder listing explains the product: small rooms with cards, and imports that never go in a circle."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "discreet"
MOST_MODULES = 15
CONTRACTS = 6
FOLDERS = sorted(file.parent for file in PACKAGE.rglob("__init__.py"))


def modules(package: Path) -> dict[str, Path]:
    """Every module below a package by its dotted name; a package has the name of its folder."""
    named = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package.parent).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return named


def imports(file: Path, known: dict[str, Path]) -> set[str]:
    """Modules of the package that a file imports at run time, on top or inside a function."""
    tree = ast.parse(file.read_text())
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {
                f"{node.module}.{name.name}" if f"{node.module}.{name.name}" in known else node.module
                for name in node.names
            }
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found & set(known)


def circle(package: Path) -> list[str]:
    """Modules that import each other in a circle, in order; nothing if there are none."""
    known = modules(package)
    edges = {name: imports(file, known) - {name} for name, file in known.items()}
    done: set[str] = set()

    def visit(name: str, trail: list[str]) -> list[str]:
        if name in trail:
            return trail[trail.index(name) :]
        if name in done:
            return []
        for other in sorted(edges[name]):
            if found := visit(other, [*trail, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(edges) if (found := visit(name, []))), [])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(PACKAGE.parent)))
def test_a_folder_has_few_modules_and_a_card(folder):
    assert len([file for file in folder.glob("*.py") if file.name != "__init__.py"]) <= MOST_MODULES
    if folder != PACKAGE:
        info = (folder / "__init__.py").read_text()
        assert all(f"\n{word}:" in info for word in ("Sees", "Never", "Hands on"))


@pytest.mark.no_cover
def test_no_module_imports_itself_through_others_even_inside_functions():
    assert circle(PACKAGE) == []


def test_a_circle_through_a_lazy_import_is_found(tmp_path):
    package = tmp_path / "house"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("from house.two import b\n")
    (package / "two.py").write_text("def b():\n    from house.one import a\n    return a\n")
    assert circle(package) == ["house.one", "house.two"]


def test_sub_rooms_have_import_contracts():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert len(contracts) >= CONTRACTS
    large = {folder.relative_to(PACKAGE).parts[0] for folder in FOLDERS if len(folder.relative_to(PACKAGE).parts) > 1}
    named = " ".join(str(contract) for contract in contracts)
    assert all(f"discreet.{room}." in named for room in large)


def named_paths(page: str) -> set[str]:
    """Files and folders that a page names in backquotes, as it writes them."""
    quoted = re.findall(r"`([\w./-]+)`", page)
    return {one for one in quoted if one.endswith("/") or re.search(r"/.*\.(py|md|j2)$", one)}


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_files_that_a_page_names_exist(page):
    text = (ROOT / page).read_text()
    # a sub-room is named after its room, on one row of a table
    homes = [ROOT, PACKAGE, *(folder for folder in PACKAGE.iterdir() if folder.is_dir())]
    named = named_paths(text)
    assert len(named) >= 20
    assert sorted(one for one in named if not any((home / one).exists() for home in homes)) == []


def test_names_of_files_are_found_in_a_page():
    assert named_paths("see `exact/`, `design/model.py` and `make test`") == {"exact/", "design/model.py"}
    assert not (PACKAGE / "design/models.py").exists()


KINDS = (
    "mechanism", "primitive", "sum", "column", "formulas", "command", "diagnostic", "report", "documentation", "study",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_change_has_a_template(kind):
    rows = [row.split("|") for row in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if row.startswith("| a")]
    assert any(kind in row[1] and re.search(r"`[\w./-]+\.(py|md)`", row[2]) for row in rows), kind


# it only starts the command line
GLUE = {"discreet.__main__"}


def untested(package: Path, tests: Path) -> list[str]:
    """Modules of a package, cards left out, without a test file or folder of their name in the mirrored tree."""
    found = []
    for name, file in modules(package).items():
        inside = file.relative_to(package).with_suffix("")
        mirrored = tests / inside.parent / f"test_{inside.name}.py"
        # a module with many tests has a folder of them
        if file.name != "__init__.py" and not mirrored.exists() and not any((tests / inside).glob("test_*.py")):
            found.append(name)
    return sorted(found)


def test_every_module_has_a_test_file_of_its_name():
    lacking = untested(PACKAGE, ROOT / "tests")
    assert [name for name in lacking if name not in GLUE] == []
    # what is listed exists
    assert set(modules(PACKAGE)) >= GLUE


def test_a_module_without_a_test_file_is_found(tmp_path):
    package, tests = tmp_path / "house", tmp_path / "tests"
    for file in ("house/__init__.py", "house/one.py", "house/attic/__init__.py", "house/attic/two.py", "house/big.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    for file in ("tests/test_one.py", "tests/test_two.py", "tests/big/test_much.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    # a file of the right name in another room is not its test
    assert untested(package, tests) == ["house.attic.two"]
    (tests / "attic").mkdir()
    (tests / "attic" / "test_two.py").write_text("")
    assert untested(package, tests) == []
