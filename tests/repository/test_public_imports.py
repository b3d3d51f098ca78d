"""What users read imports from `discreet` and its public rooms only, never from the modules behind them."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[2]
ROOMS = ("audit", "datasets", "planning", "primitives", "privacy", "testing")
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = [page for page in TEXTS if "_build" not in page.parts]
_BLOCK = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_CHECK = re.compile(r"^% check: (.*)$", flags=re.MULTILINE)
_SPAN = re.compile(r"`(discreet(?:\.\w+)+)[`(]")


def is_public(dotted: str) -> bool:
    """Whether a dotted name begins with a public name of the package, or of one of its rooms."""
    package, first, *rest = [*dotted.split("."), ""]
    if package != "discreet" or first in ("", "__version__", *discreet.__all__):
        return package == "discreet"
    return first in ROOMS and (rest[0] == "" or rest[0] in getattr(discreet, first).__all__)


def deep_names(code: str) -> list[str]:
    """Dotted names of the package that some code imports or uses, and that are not public."""
    used: set[str] = set()
    known = {"discreet": "discreet"}
    nodes = list(ast.walk(ast.parse(code)))
    for node in nodes:
        if isinstance(node, ast.Import):
            ours = [name for name in node.names if name.name.split(".")[0] == "discreet"]
            used |= {name.name for name in ours}
            known |= {name.asname: name.name for name in ours if name.asname}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "discreet":
            used |= {f"{node.module}.{name.name}" for name in node.names}
            known |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    for node in nodes:
        root, _, rest = ast.unparse(node).partition(".") if isinstance(node, ast.Attribute) else ("", "", "")
        if root in known and re.fullmatch(r"[\w.]+", rest):
            used.add(f"{known[root]}.{rest}")
    return sorted(name for name in used if not is_public(name))


def markdown_names(text: str) -> list[str]:
    """Names that are not public in the Python of a page and in the code spans of its sentences."""
    code = [body for tag, body in _BLOCK.findall(text) if tag == "python"] + _CHECK.findall(text)
    spans = _SPAN.findall(_BLOCK.sub("", text))
    return deep_names("\n".join(code)) + sorted(name for name in spans if not is_public(name))


def public_docstrings() -> Iterator[tuple[str, str]]:
    """Docstrings of the public names and of the members of public classes, each with its name."""
    homes = {"discreet": discreet, **{f"discreet.{room}": getattr(discreet, room) for room in ROOMS}}
    for home, module in homes.items():
        yield home, module.__doc__ or ""
        for name in module.__all__:
            thing = getattr(module, name)
            yield f"{home}.{name}", inspect.getdoc(thing) or ""
            if inspect.isclass(thing):
                members = [one for one, _ in inspect.getmembers(thing) if not one.startswith("_")]
                yield from ((f"{home}.{name}.{one}", inspect.getdoc(getattr(thing, one)) or "") for one in members)


def examples(docstring: str) -> str:
    return "".join(example.source for example in doctest.DocTestParser().get_examples(docstring))


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_needs_public_names_only(page):
    assert markdown_names(page.read_text()) == []


def test_examples_of_public_names_need_public_names_only():
    found = {name: deep_names(examples(text)) for name, text in public_docstrings()}
    assert {name: deep for name, deep in found.items() if deep} == {}
    assert sum(bool(examples(text)) for _, text in public_docstrings()) > 40


@pytest.mark.parametrize("mechanism", ["gaussian", "output"])
@pytest.mark.parametrize("rows", [3, 300])
def test_the_usage_text_of_a_report_needs_public_names_only(mechanism, rows):
    design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    table = {"x": [1.0, 2.0, 3.0] * rows, "y": [2.0, 4.0, 6.0] * rows}
    made = discreet.testing.seeded_release(table, design, seed=1, epsilon=1.0, delta=1e-6, mechanism=mechanism)
    lines = discreet.report(made).view.usage.python
    assert lines[0] == "import discreet"
    assert deep_names("\n".join(lines)) == []


@pytest.mark.parametrize(
    ("code", "deep"),
    [
        ("from discreet.analyst.comparison import compare_models", ["discreet.analyst.comparison.compare_models"]),
        ("import discreet.testing.not_private", ["discreet.testing.not_private"]),
        ("from discreet.privacy import gaussian_dp", ["discreet.privacy.gaussian_dp"]),
        ("from discreet import analyst", ["discreet.analyst"]),
        ("from discreet import privacy as p\np.gaussian_dp", ["discreet.privacy.gaussian_dp"]),
        ("import discreet\nprint(discreet.pages.page)", ["discreet.pages", "discreet.pages.page"]),
        ("import discreet\ndiscreet.planning.plan(d).width\ndiscreet.Release.load('a').columns", []),
        ("from discreet.testing import exact_release\nfrom discreet import datasets, fit\ndatasets.load('x').data", []),
        ("import discreetly.inner\nfrom other.discreet import x", []),
    ],
)
def test_names_behind_the_public_ones_are_found_and_public_ones_are_not(code, deep):
    assert deep_names(code) == deep


def test_pages_are_searched_in_blocks_hidden_checks_and_sentences():
    page = (
        "Call `discreet.analyst.path.path(release)`, or `discreet.path`.\n\n"
        "```python\nfrom discreet.releases import NoiseDistribution\n```\n\n"
        "% check: from discreet.design import design as model\n\n"
        "```text\nfrom discreet.curator import rows\n```\n"
    )
    assert markdown_names(page) == [
        "discreet.design.design", "discreet.releases.NoiseDistribution", "discreet.analyst.path.path",
    ]  # fmt: skip
