"""Every component of every case gives the stored fragment; `python tests/support/update_snapshots.py` stores it."""

from __future__ import annotations

import pytest

from support.page_reading import Reader
from support.stored_fragments import FOLDER, PAIRS, fragment, path


@pytest.mark.parametrize(("case", "name"), PAIRS)
def test_a_component_is_what_was_stored(case: str, name: str) -> None:
    assert fragment(case, name) == path(case, name).read_text(encoding="utf-8")


@pytest.mark.parametrize(("case", "name"), PAIRS)
def test_a_component_is_balanced_by_itself(case: str, name: str) -> None:
    Reader().read(fragment(case, name))


def test_no_fragment_is_stored_that_nobody_compares() -> None:
    assert {file.name for file in FOLDER.glob("*")} == {path(*pair).name for pair in PAIRS}
