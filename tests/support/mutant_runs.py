"""A copy of the package with one function changed, and a test that is run against it."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

from support import ledger_mutants, mutants, parts_mutants
from support.mutants import ROOT, Mutant


def rewritten(source: str, name: str, old: str, new: str) -> str:
    """The source of a module with one function changed."""
    body: ast.AST = ast.parse(source)
    for part in name.split("."):
        (body,) = (one for one in getattr(body, "body", ()) if getattr(one, "name", None) == part)
    assert isinstance(body, ast.FunctionDef), name
    lines = source.splitlines(keepends=True)
    first, last = body.body[0].lineno - 1, body.end_lineno or 0
    text = "".join(lines[first:last])
    if not old:
        changed = " " * body.body[0].col_offset + f"return {new}\n" + text
    else:
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {name}"
        changed = text.replace(old, new)
    return "".join([*lines[:first], changed, *lines[last:]])


def place_of(mutant: Mutant) -> tuple[str, str]:
    """Module and name of the function that a mutant changes."""
    places = mutants.PLACES | ledger_mutants.PLACES | parts_mutants.PLACES
    module, name = places[mutant.index].split(":")
    return module, name


def mutated_copy(folder: Path, mutant: Mutant | None) -> None:
    """A copy of the package with one function changed, or none."""
    shutil.copytree(ROOT / "src" / "discreet", folder / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
    if mutant is None:
        return
    module, name = place_of(mutant)
    path = folder / Path(*module.split(".")).with_suffix(".py")
    path.write_text(rewritten(path.read_text(encoding="utf-8"), name, mutant.old, mutant.new), encoding="utf-8")


def tried(folder: Path, test: str, words: str = "") -> subprocess.CompletedProcess[str]:
    """A test run against the package in a folder."""
    loaded = (
        "import sys, pathlib, discreet, pytest; "
        f"assert pathlib.Path(discreet.__file__).is_relative_to({str(folder)!r}); sys.exit(pytest.main(sys.argv[1:]))"
    )
    options = ["-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist"]
    return subprocess.run(
        [sys.executable, "-c", loaded, *options, *(["-k", words] if words else []), test],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
