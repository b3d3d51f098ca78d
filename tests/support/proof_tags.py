"""Maps every [P..] tag of a proof to the function it marks, and keeps the fingerprint the proof was read against.

Run with --accept after re-reading a proof against changed code; it rewrites the list at the end of the proof.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "discreet"
HEADING = "## Read against"
TAG = re.compile(r"\[P(\d+)\]")


@dataclass(frozen=True)
class Mark:
    """A tagged line: its proof tag, file, enclosing function and the fingerprint of that function."""

    tag: str
    index: str
    fingerprint: str

    def line(self) -> str:
        return f"- [{self.tag}] {self.index} {self.fingerprint}"


def proofs() -> list[Path]:
    return sorted(PACKAGE.rglob("*.proof.md"))


def body(proof: Path) -> str:
    """The proof without the list at its end."""
    return proof.read_text().split(HEADING)[0]


def code_files(proof: Path) -> list[Path]:
    """The files a proof names as its code."""
    named = re.findall(r"`([\w/]+\.py)`", body(proof).split("\n## ")[0])
    return [PACKAGE / name for name in named]


def marks(proof: Path) -> list[Mark]:
    """Every tag in the code of a proof, in the order of their numbers."""
    found = [mark for file in code_files(proof) for mark in _marks_in(file)]
    return sorted(found, key=lambda mark: int(mark.tag[1:]))


def _marks_in(file: Path) -> list[Mark]:
    source = file.read_text()
    tree = ast.parse(source)
    out = []
    for number, text in enumerate(source.splitlines(), start=1):
        for tag in TAG.findall(text.partition("#")[2]):
            name, node = _enclosing(tree, number)
            # the parsed function without its docstring: layout and comments may change, meaning may not
            digest = hashlib.sha256(ast.dump(_without_docstring(node)).encode()).hexdigest()[:16]
            out.append(Mark(f"P{tag}", f"{file.relative_to(PACKAGE)}:{name}", digest))
    return out


def _enclosing(tree: ast.Module, line: int) -> tuple[str, ast.FunctionDef]:
    best: tuple[str, ast.FunctionDef] | None = None

    def visit(node: ast.AST, names: tuple[str, ...]) -> None:
        nonlocal best
        for child in ast.iter_child_nodes(node):
            inner = (*names, child.name) if isinstance(child, ast.FunctionDef | ast.ClassDef) else names
            if isinstance(child, ast.FunctionDef) and child.lineno <= line <= (child.end_lineno or 0):
                best = (".".join(inner), child)
            visit(child, inner)

    visit(tree, ())
    if best is None:
        raise ValueError(f"the tag on line {line} stands outside any function")
    return best


def _without_docstring(node: ast.FunctionDef) -> ast.FunctionDef:
    statements = node.body
    if isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant):
        node.body = statements[1:]
    return node


def written(proof: Path) -> list[str]:
    """The list at the end of the proof."""
    _, _, tail = proof.read_text().partition(HEADING)
    return [line for line in tail.splitlines() if line.startswith("- [P")]


def accept(proof: Path) -> None:
    lines = [mark.line() for mark in marks(proof)]
    note = "Tag, function and fingerprint of the code at the last reading; `make proofs` renews it after a re-reading."
    proof.write_text(body(proof).rstrip() + f"\n\n{HEADING}\n\n{note}\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--accept"]:
        sys.exit("usage: proof_tags.py --accept")
    for path in proofs():
        accept(path)
        print(f"accepted {path.name}")
