"""Messages meet people in Python and in a terminal, so that none of them may be written in Python alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet.analyst

ROOM = Path(discreet.analyst.__file__).parent
# what browsers read is markup, not a message
FILES = sorted(set(ROOM.rglob("*.py")) - {ROOM / "tables" / "formats.py"})
ASSIGNED = re.compile(r"\b[a-z_0-9]+=(['\"\[0-9]|True|False|None)")


def spoken(tree: ast.AST) -> Iterator[str]:
    """Every text in code that is no docstring."""
    silent = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.value


def test_the_search_finds_python_words_and_leaves_docstrings() -> None:
    code = """def f(a):\n    'a=1'\n    raise E(f"use penalty='none' {a}")\n"""
    assert [text for text in spoken(ast.parse(code)) if ASSIGNED.search(text)] == ["use penalty='none' "]


@pytest.mark.no_cover
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_message_is_written_in_python_alone(file: Path) -> None:
    texts = spoken(ast.parse(file.read_text(encoding="utf-8")))
    assert [text for text in texts if ASSIGNED.search(text)] == []
