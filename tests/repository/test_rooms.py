"""Check import cycles and contracts, and that the pages name files that exist."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "discreet"
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


@pytest.mark.no_cover
def test_no_module_imports_itself_through_others_even_inside_functions():
    for package in (PACKAGE, *ROOT.glob("packages/*/src/*")):
        assert circle(package) == []


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
    homes = [ROOT, PACKAGE, *(folder for folder in PACKAGE.iterdir() if folder.is_dir()),
             *ROOT.glob("packages/*/src/*"), *ROOT.glob("packages/*")]  # fmt: skip
    named = named_paths(text)
    assert len(named) >= 20
    assert sorted(one for one in named if not any((home / one).exists() for home in homes)) == []


def test_names_of_files_are_found_in_a_page():
    assert named_paths("see `exact/`, `design/design.py` and `make test`") == {"exact/", "design/design.py"}
    assert not (PACKAGE / "design/models.py").exists()
