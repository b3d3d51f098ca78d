"""The whole page: it holds together, runs and fetches nothing, and no name becomes markup."""

from __future__ import annotations

import base64
import html
import json
import re
import struct
from dataclasses import replace
from importlib import resources

import pytest

from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.pages.page import render
from discreet.pages.view import report_view
from discreet.releases import Release
from discreet.testing.not_private import exact_release, seeded_release
from support.page_reading import Reader
from support.report_cases import CASES, PLAIN, WEAK, example, promised, table

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
# what the page itself is made of; a name that became markup would bring others
ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "nav", "a", "p", "h1", "h2", "h3", "dl", "dt",
    "dd", "div", "section", "sup", "span", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "figure",
    "figcaption", "svg", "g", "path", "polyline", "defs", "use", "text", "article", "details", "summary", "code", "pre",
    "footer",
}  # fmt: skip
HOSTILE = (
    "<img src=x onerror=alert(1)>", "\"'></script><b onclick=a>", "{{7*7}}", "{% raw %}", "=HYPERLINK(\"x\")",
    "L" * 300, "$\\frac{$", "x&lt;y", "name-0-", "</style><style>*{}", "日本",
)  # fmt: skip


def hostile_release(rows: int, epsilon: float) -> Release:
    names = ("y </title>", *HOSTILE)
    design = Design(names[0], {**dict.fromkeys(names, (0, 1)), "g": ["<b>", "{{1}}", "--><i>"]})
    columns: dict[str, list[object]] = {**table(names, rows)}
    columns["g"] = [design.columns["g"].levels[index % 3] for index in range(rows)]
    return seeded_release(columns, design, seed=1, epsilon=epsilon, delta=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_a_page_is_balanced_and_its_places_have_one_name_each(case: str) -> None:
    reader = Reader().read(render(CASES[case]))
    assert set(reader.elements) <= ELEMENTS
    assert len(set(reader.ids)) == len(reader.ids)
    anchors = {value for name, value in reader.attributes if name == "href"}
    assert {anchor.removeprefix("#") for anchor in anchors} <= set(reader.ids)


@pytest.mark.parametrize("case", CASES)
def test_a_page_runs_nothing_and_fetches_nothing(case: str) -> None:
    page = render(CASES[case])
    assert f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">' in page
    # the policy must come before anything that it rules
    assert page.index("Content-Security-Policy") < page.index("<style")
    for banned in (
        "<script",
        "http(?!-equiv)",
        "//",
        "@import",
        r"url\(",
        "javascript:",
        "<link",
        "<iframe",
        r"\bon\w+=",
    ):
        assert not re.search(banned, page, re.IGNORECASE), banned


def test_diagnostics_have_their_anchor() -> None:
    assert {"d003", "d009"} <= set(Reader().read(render(PLAIN)).ids)


@pytest.mark.parametrize(("rows", "epsilon", "penalty"), [(3000, 20.0, "none"), (100, 0.5, "adaptive")])
def test_no_name_becomes_an_element_an_attribute_or_a_template(rows: int, epsilon: float, penalty: str) -> None:
    release = hostile_release(rows, epsilon)
    page = render(report_view(release, fit(release, penalty=penalty)))
    reader = Reader().read(page)
    assert set(reader.elements) <= ELEMENTS
    calm = {"class", "id", "href", "content", "charset", "name", "lang", "style", "d", "transform", "role", "scope",
            "colspan", "data-label", "viewbox", "aria-label", "http-equiv", "x", "y", "open"}  # fmt: skip
    assert {name for name, _ in reader.attributes} <= calm
    text = "".join(reader.text)
    for name in (*HOSTILE, "g[--><i>]", "y </title>"):
        assert name in text, name
    assert "49" not in [piece.strip() for piece in reader.text]
    for banned in ("<script", "<img", "http(?!-equiv)", r"url\(", "@import"):
        assert not re.search(banned, page, re.IGNORECASE)


def test_signs_that_steer_are_shown_as_escapes() -> None:
    steering = "a\u202eb\x1b[31m\u2028c\ue000"
    case = replace(PLAIN, model=replace(PLAIN.model, target=steering), refusal=steering, provenance=replace(
        PLAIN.provenance, anchor=steering), effects=(replace(PLAIN.effects[0], name=steering),))  # fmt: skip
    page = render(case)
    assert not re.search("[\u202e\x1b\u2028\ue000]", page)
    assert page.count(r"a\u202eb\x1b[31m\u2028c\ue000") >= 5


def test_the_same_release_file_gives_the_same_page() -> None:
    text = example().to_json()
    pages = [render(report_view(release, fit(release))) for release in map(Release.from_json, (text, text))]
    assert pages[0] == pages[1]


def test_settings_of_the_drawing_library_do_not_show() -> None:
    import matplotlib as mpl

    before = render(PLAIN)
    with mpl.rc_context({"font.size": 40, "axes.facecolor": "red", "text.usetex": True}):
        assert render(PLAIN) == before


def test_a_page_holds_the_facts_as_json() -> None:
    view = report_view(example(), fit(example()))
    found = re.search(r'<pre class="json">(.*?)</pre>', render(view), re.DOTALL)
    assert json.loads(html.unescape(found[1])) == json.loads(json.dumps(view.to_dict()))


def test_no_number_of_the_rows_is_in_the_page() -> None:
    planted = 0.8765432198765432
    columns = table(("y", "a", "b", "c"), 500)
    columns["a"][17] = planted
    page = render(report_view(example(data=columns), fit(example(data=columns))))
    raw = struct.pack("<d", planted)
    for marker in (repr(planted), "0.87654321", raw.hex(), base64.b64encode(raw).decode()):
        assert marker not in page


def test_a_release_that_is_not_private_has_a_banner_and_no_promise() -> None:
    design = Design("y", {"y": (0, 1), "a": (0, 1)})
    release = exact_release(table(("y", "a"), 50), design)
    page = render(report_view(release, fit(release)))
    assert '<div class="banner" role="alert">' in page
    assert "<title>NOT PRIVATE: " in page
    assert 'id="promise"' not in page
    assert '<div class="banner"' not in render(PLAIN)


def test_a_model_that_is_not_estimable_is_shown_as_it_is() -> None:
    names = ("y", "a", "b")
    release = promised(
        seeded_release(
            table(names, 60),
            Design("y", dict.fromkeys(names, (0, 1))),
            seed=5,
            epsilon=0.3,
            delta=1e-6,
            mechanism="gaussian",
        )
    )
    page = render(report_view(release, fit(release)))
    assert "The coefficients of this model are not estimable:</strong> the released sums of products" in page
    assert page.count("any value") >= 3
    assert "--penalty bayes" in page
    assert "Penalised coefficients" in render(report_view(release, fit(release, penalty="adaptive")))


def test_unbounded_sets_are_bracketed_on_the_page() -> None:
    text = " ".join(" ".join(Reader().read(render(WEAK)).text).split())
    assert "[-1200] – not between -2,100 and -300.0" in text
    assert "[1200] – any value" in text
    assert "at least 12.00" in text
    assert "at most 1,000,000" in text
    assert "1,235" not in text.partition("The same facts, machine-readable")[0]
    assert "[0.64] (95% interval 0.000 to 1.000)" in text.replace("\N{NO-BREAK SPACE}", " ")


def test_the_templates_are_in_the_package() -> None:
    folder = resources.files("discreet.pages") / "templates"
    assert (folder / "page.html.j2").is_file()
    assert (folder / "style.css").is_file()
