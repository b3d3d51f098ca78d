"""Questions that are asked in few places stay there, and page fragments stay few."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet
from support.stored_fragments import FOLDER

SOURCE = Path(discreet.__file__).parent
KINDS = {"moments", "coefficients"}
MOST_KINDS, MOST_KIND_FILES = 15, 8
MOST_MISSING = 45
MOST_FRAGMENTS = 33
# in templates
ASKED = re.compile(r"""\bkind\s*(?:==|!=|in)\s*\(?["'](?:moments|coefficients)""")


def trees() -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def kind_questions(tree: ast.AST) -> int:
    """How often a kind is compared with `moments`, with `coefficients` or with the kind of another."""
    return sum(_compares_kinds(node) for node in ast.walk(tree) if isinstance(node, ast.Compare))


def _compares_kinds(node: ast.Compare) -> bool:
    sides = [node.left, *node.comparators]
    asked = [side for side in sides if isinstance(side, ast.Attribute | ast.Name) and _name(side) == "kind"]
    named = {one.value for side in sides for one in ast.walk(side) if isinstance(one, ast.Constant)}
    return bool(asked) and (len(asked) > 1 or bool(named & KINDS))


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


def missing_questions(tree: ast.AST) -> int:
    """How often it is asked whether a value is a `NotEstimable`."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) == 2)
    return sum(
        _name(call.func) == "isinstance"
        and any(isinstance(one, ast.Name) and one.id == "NotEstimable" for one in ast.walk(call.args[1]))
        for call in calls
    )


def test_the_kind_of_a_release_is_asked_in_few_places() -> None:
    found = {path: kind_questions(tree) for path, tree in trees()}
    found |= {path: len(ASKED.findall(path.read_text(encoding="utf-8"))) for path in (SOURCE / "pages").rglob("*.j2")}
    asked = {str(path.relative_to(SOURCE)): count for path, count in found.items() if count}
    assert sum(asked.values()) <= MOST_KINDS, asked
    assert len(asked) <= MOST_KIND_FILES, asked


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('release.kind == "coefficients"', 1),
        ('if kind != "moments" and self.release.kind in ("moments", "x"): pass', 2),
        ("other.kind == mechanism.kind", 1),
        ('column.kind == "spline"', 0),
        ('CHECKS[release.kind]; kind = "moments"', 0),
    ],
)
def test_a_question_about_the_kind_is_counted(text: str, count: int) -> None:
    assert kind_questions(ast.parse(text)) == count


def test_a_question_in_a_template_is_counted() -> None:
    assert (
        len(ASKED.findall("""{% if made.kind == "moments" %}{{ 1 if made.kind != 'coefficients' }}{% endif %}""")) == 2
    )
    assert not ASKED.findall('{% if slope.kind == "interval" %}{% endif %}')


def test_whether_a_value_is_missing_is_asked_in_few_places() -> None:
    asked = {path.name: count for path, tree in trees() if (count := missing_questions(tree))}
    assert 0 < sum(asked.values()) <= MOST_MISSING, asked


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("isinstance(a.b, NotEstimable) or isinstance(c, float | NotEstimable)", 2),
        ("isinstance(a, (float, NotEstimable))", 1),
        ("isinstance(a, NothingExcluded); NotEstimable('why'); known(a)", 0),
    ],
)
def test_a_question_about_a_missing_value_is_counted(text: str, count: int) -> None:
    assert missing_questions(ast.parse(text)) == count


def fragments(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


def test_few_page_fragments_are_stored() -> None:
    assert 0 < fragments(FOLDER) <= MOST_FRAGMENTS


def test_one_fragment_more_is_counted(tmp_path: Path) -> None:
    for index in range(MOST_FRAGMENTS + 1):
        (tmp_path / f"part.{index}.html").write_text("", encoding="utf-8")
    assert fragments(tmp_path) > MOST_FRAGMENTS
