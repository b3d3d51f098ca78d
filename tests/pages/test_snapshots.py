"""Every component of every case gives the stored fragment; `python tests/support/update_snapshots.py` stores it."""

from __future__ import annotations

import html
import json

import pytest

from support.page_reading import Reader
from support.report_cases import CASES
from support.stored_fragments import EMPTY, FOLDER, PAIRS, SAME, STORED, fragment, path, stored

FACTS = (
    '<section id="facts">\n<h2>The content of this page as JSON</h2>\n<details>\n'
    "<summary>As printed by <code>discreet report --json</code></summary>\n"
    '<pre class="json">{json}</pre>\n</details>\n</section>\n'
)


@pytest.mark.no_cover
@pytest.mark.parametrize(("case", "name"), PAIRS)
def test_a_component_is_what_was_stored(case: str, name: str) -> None:
    assert fragment(case, name) == stored(case, name)


@pytest.mark.parametrize("case", CASES)
def test_the_facts_are_the_view_as_json(case: str) -> None:
    text = json.dumps(CASES[case].to_dict(), indent=1)
    assert fragment(case, "facts") == FACTS.format(
        json=html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    )


@pytest.mark.no_cover
@pytest.mark.parametrize(("case", "name"), [*PAIRS, *((case, "facts") for case in CASES)])
def test_a_component_is_balanced_by_itself(case: str, name: str) -> None:
    Reader().read(fragment(case, name))


def test_no_fragment_is_stored_that_nobody_compares() -> None:
    assert {file.name for file in FOLDER.glob("*")} == {path(*pair).name for pair in STORED}


def test_a_fragment_is_stored_once_and_is_not_empty() -> None:
    texts = [(name, path(case, name).read_text(encoding="utf-8")) for case, name in STORED]
    assert len(set(texts)) == len(texts)
    assert all(text.strip() for _, text in texts)


def test_every_case_that_has_no_fragment_of_its_own_is_listed_once() -> None:
    for name, shared in SAME.items():
        cases = [case for others in shared.values() for case in others]
        assert len(set(cases)) == len(cases), name
        assert set(cases) <= set(CASES), name
        assert not set(cases) & set(shared), name
        assert set(shared) <= {*CASES, EMPTY}, name


def test_a_case_that_differs_from_the_one_it_shares_with_is_seen() -> None:
    assert fragment("weak", "coefficients") != stored("plain", "coefficients")
    assert fragment("plain", "banner") == stored("plain", "banner") == "\n" != stored("bare", "banner")
