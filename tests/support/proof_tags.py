"""What a proof leans on: the lines that its tags mark, and the fingerprints of the files it was read against.

The head of a proof names its code and the proofs it stands on. Run with --accept after re-reading a proof against
changed code; it rewrites the list at the end of the proof.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "discreet"
HEADING = "## Read against"
TAG = re.compile(r"\[P:([a-z0-9-]+)\]")
# what lies between the cells of a table and a noisy number; from `releases` on, everything is post-processing
TRUSTED = (
    "exact/",
    "privacy/",
    "design/",
    "tables/",
    "curator/",
    "mechanisms/",
    "primitives/",
    "ledger/",
    "losses/",
    "parts/",
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mark:
    """A tagged line: its tag, and the file and function it stands in."""

    tag: str
    index: str

    def line(self) -> str:
        return f"- [P:{self.tag}] {self.index}"


def proofs() -> list[Path]:
    return sorted(PACKAGE.rglob("*.proof.md"))


def body(proof: Path) -> str:
    """The proof without the list at its end."""
    return proof.read_text().split(HEADING)[0]


def sources() -> dict[str, str]:
    """Every module of the package, by its path in it."""
    return {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")}


def code_files(proof: Path) -> list[str]:
    """The files a proof names as its code."""
    return re.findall(r"`([\w/]+\.py)`", _head(proof))


def stands_on(proof: Path) -> list[Path]:
    """The proofs that a proof names in its head."""
    return [PACKAGE / name for name in re.findall(r"`([\w/]+\.proof\.md)`", _head(proof))]


def leans_on(proof: Path) -> set[str]:
    """The code of a proof and of all proofs that it stands on, directly or not."""
    seen: set[Path] = set()
    waiting = [proof]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += stands_on(one)
    return {file for one in seen for file in code_files(one)}


def _head(proof: Path) -> str:
    return body(proof).split("\n## ")[0]


# -- fingerprints ------------------------------------------------------------------------------------------------------


@cache
def fingerprint(source: str) -> str:
    """A digest of what a module does: layout, comments and docstrings may change, everything else may not."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def fingerprints(proof: Path, modules: Mapping[str, str]) -> list[str]:
    """A line for each file of the code of a proof."""
    return [f"- `{file}` {fingerprint(modules[file])}" for file in sorted(code_files(proof))]


def stale(modules: Mapping[str, str]) -> list[Path]:
    """The proofs that were read against other code."""
    return [proof for proof in proofs() if _listed(proof, "- `") != fingerprints(proof, modules)]


def written_marks(proof: Path) -> list[str]:
    return _listed(proof, "- [P:")


def _listed(proof: Path, start: str) -> list[str]:
    """Lines of the list at the end of the proof."""
    _, _, tail = proof.read_text().partition(HEADING)
    return [line for line in tail.splitlines() if line.startswith(start)]


# -- imports -----------------------------------------------------------------------------------------------------------


def reached(files: Iterable[str], modules: Mapping[str, str]) -> set[str]:
    """The modules of the trusted rooms that files import, directly or not, lazily or for their types."""
    seen: set[str] = set()
    waiting = list(files)
    while waiting:
        one = waiting.pop()
        # a card (`__init__.py`) may hand on names, and so is followed whatever its room
        if one not in seen and (one.startswith(TRUSTED) or one.endswith("/__init__.py")):
            seen.add(one)
            waiting += _imported(modules[one], frozenset(modules))
    return {file for file in seen if not file.endswith("/__init__.py")}


@cache
def _imported(source: str, known: frozenset[str]) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports inside the package are absolute"
            # a name that is no module is handed on by the module or card it is asked of
            names = [one if _files(one) & known else str(node.module) for one in _parts(node)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            found += _files(name) & known
    return found


def _parts(node: ast.ImportFrom) -> list[str]:
    return [f"{node.module}.{alias.name}" for alias in node.names]


def _files(name: str) -> set[str]:
    """Where a module of the package may be."""
    path = name.removeprefix("discreet.").replace(".", "/")
    return {f"{path}.py", f"{path}/__init__.py"} if name.startswith("discreet.") else set()


# -- tags --------------------------------------------------------------------------------------------------------------


def marks(proof: Path, modules: Mapping[str, str]) -> list[Mark]:
    """Every tag in the code of a proof, file by file."""
    return [mark for file in sorted(code_files(proof)) for mark in _marks_in(file, modules[file])]


def _marks_in(file: str, source: str) -> list[Mark]:
    out = []
    for number, text in enumerate(source.splitlines(), start=1):
        for tag in TAG.findall(text.partition("#")[2]):
            out.append(Mark(tag, f"{file}:{_enclosing(source, number)}"))
    return out


def _enclosing(source: str, line: int) -> str:
    around = [name for name, node in functions(source) if node.lineno <= line <= (node.end_lineno or 0)]
    if not around:
        raise ValueError(f"the tag on line {line} stands outside any function")
    return around[-1]


def functions(source: str) -> list[tuple[str, Function]]:
    """Every function of a module, outer ones first, by its name with those of its classes and functions."""
    found: list[tuple[str, Function]] = []

    def visit(node: ast.AST, names: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            inner = (*names, child.name) if isinstance(child, Function | ast.ClassDef) else names
            if isinstance(child, Function):
                found.append((".".join(inner), child))
            visit(child, inner)

    visit(ast.parse(source), ())
    return found


# -- acceptance --------------------------------------------------------------------------------------------------------


def accept(proof: Path) -> None:
    modules = sources()
    note = (
        "Each tag with its function, and each file of the code with its fingerprint at the last reading; "
        "`make proofs` renews\nthem after a re-reading."
    )
    tags = [mark.line() for mark in marks(proof, modules)]
    parts = [body(proof).rstrip(), HEADING, note, "\n".join(tags), "\n".join(fingerprints(proof, modules))]
    proof.write_text("\n\n".join(part for part in parts if part) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--accept"]:
        sys.exit("usage: proof_tags.py --accept")
    for path in proofs():
        accept(path)
        print(f"accepted {path.name}")
