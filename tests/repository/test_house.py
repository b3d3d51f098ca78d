"""What must stand in one place only stands there: each count has a planted copy that is found."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "discreet"
# a method of one short statement is the shape of a protocol, not a copy
FEWEST_NODES = 12


def nodes(folder: Path) -> Iterator[ast.AST]:
    """Every node of every module below a folder."""
    for file in sorted(folder.rglob("*.py")):
        yield from ast.walk(ast.parse(file.read_text(encoding="utf-8")))


def names(node: ast.AST) -> set[str]:
    """Names and attributes that occur in an expression."""
    return {
        inner.id if isinstance(inner, ast.Name) else inner.attr
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name | ast.Attribute)
    }


def constants(node: ast.AST) -> set[object]:
    return {inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)}


def share_comparisons(folder: Path) -> int:
    return sum(isinstance(node, ast.Compare) and "LATTICE_SHARE" in names(node) for node in nodes(folder))


def exponent_limits(folder: Path) -> int:
    """Comparisons of an epsilon with 700, beyond which e^epsilon leaves the doubles."""
    return sum(
        isinstance(node, ast.Compare) and "epsilon" in names(node) and 700 in constants(node) for node in nodes(folder)
    )


def currency_refusals(folder: Path) -> int:
    """Conditions under which a budget that is no pair of epsilon and delta is refused."""
    return sum(
        isinstance(node, ast.If)
        and "currency" in names(node.test)
        and "approximate" in constants(node.test)
        and any(isinstance(inner, ast.Raise) for inner in node.body)
        for node in nodes(folder)
    )


def float_arrays(folder: Path) -> int:
    """Assignments to the name `FloatArray`."""
    targets: list[ast.expr] = []
    for node in nodes(folder):
        if isinstance(node, ast.AnnAssign):
            targets.append(node.target)
        elif isinstance(node, ast.Assign):
            targets += node.targets
    return sum(isinstance(target, ast.Name) and target.id == "FloatArray" for target in targets)


def eliminations(folder: Path) -> int:
    """Divisions by the pivot before, of a difference of two products: one step of Bareiss's elimination."""
    return sum(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.FloorDiv)
        and isinstance(node.left, ast.BinOp)
        and isinstance(node.left.op, ast.Sub)
        and "pivot" in names(node.left)
        for node in nodes(folder)
    )


def triangle_roots(folder: Path) -> int:
    """Roots of 8 n + 1, the size of a triangle from its number of entries."""
    return sum(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and isinstance(node.left, ast.BinOp)
        and isinstance(node.left.op, ast.Mult)
        and isinstance(node.left.left, ast.Constant)
        and node.left.left.value == 8
        and constants(node.right) == {1}
        for node in nodes(folder)
    )


def written_pis(folder: Path) -> int:
    """Pi written out with more digits than a double has."""
    return sum(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("3.14159265358979323")
        for node in nodes(folder)
    )


SINGLE: dict[str, tuple[Callable[[Path], int], str]] = {
    "lattice share comparisons": (share_comparisons, "if gap <= LATTICE_SHARE * budget.delta:\n    pass\n"),
    "limits of e^epsilon": (exponent_limits, "if budget.epsilon > 700:\n    pass\n"),
    "currency refusals": (currency_refusals, 'if budget.currency != "approximate":\n    raise SpecError("no")\n'),
    "definitions of FloatArray": (float_arrays, "FloatArray = npt.NDArray[np.float64]\n"),
    "eliminations": (eliminations, "entry = (pivot * entry - factor * above) // last\n"),
    "sizes of a triangle": (triangle_roots, "size = int((8 * len(totals) + 1) ** 0.5) // 2\n"),
    "pi written out": (written_pis, 'PI = Decimal("3.14159265358979323846264338")\n'),
}


def identical_methods(folder: Path) -> list[list[str]]:
    """Methods of several classes with the same body, names of arguments included."""
    found: dict[str, list[str]] = defaultdict(list)
    for node in nodes(folder):
        if not isinstance(node, ast.ClassDef):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and not is_abstract(method):
                body = [one for one in method.body if not is_docstring(one)]
                dumped = ast.dump(ast.Module(body, [])) + ast.dump(method.args)
                if sum(1 for one in body for _ in ast.walk(one)) >= FEWEST_NODES:
                    found[dumped].append(f"{node.name}.{method.name}")
    return [places for places in found.values() if len(places) > 1]


def is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def is_abstract(method: ast.FunctionDef) -> bool:
    return all(is_docstring(statement) for statement in method.body)


@pytest.mark.no_cover
@pytest.mark.parametrize("what", SINGLE)
def test_it_stands_in_one_place(what):
    count, _ = SINGLE[what]
    assert count(PACKAGE) == 1


@pytest.mark.parametrize("what", SINGLE)
def test_a_planted_copy_is_found(what, tmp_path):
    count, copy = SINGLE[what]
    (tmp_path / "planted.py").write_text("x = 1\n")
    assert count(tmp_path) == 0
    (tmp_path / "planted.py").write_text(copy)
    assert count(tmp_path) == 1


def test_no_two_mechanisms_have_the_same_method():
    assert identical_methods(PACKAGE / "mechanisms") == []


def test_a_planted_method_is_found(tmp_path):
    method = '    def law(self, unit, budget):\n        """{}"""\n        return promised(unit, budget, self, 1, 2)\n'
    other = method.replace("budget, self", "budget, None")
    (tmp_path / "one.py").write_text("class One:\n" + method.format("What one promises."))
    (tmp_path / "two.py").write_text("class Two:\n" + method.format("What two promises."))
    (tmp_path / "three.py").write_text("class Three:\n" + other.format("What three promises."))
    assert identical_methods(tmp_path) == [["One.law", "Two.law"]]
