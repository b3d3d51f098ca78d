"""The libraries that pages need."""

from __future__ import annotations

import sys

import pytest

from discreet.errors import SpecError
from discreet.pages.libraries import check_libraries
from discreet.pages.page import render
from support.report_cases import PLAIN


def test_a_plain_install_names_the_first_library_of_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("jinja2", "markupsafe", "matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SpecError, match=r"this needs 'jinja2'.*discreet\[report\]"):
        render(PLAIN)


@pytest.mark.parametrize("module", ["jinja2", "markupsafe", "matplotlib"])
def test_each_missing_library_is_named_with_the_extra(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_libraries()
    monkeypatch.setitem(sys.modules, f"{module}.figure" if module == "matplotlib" else module, None)
    with pytest.raises(SpecError, match=rf"this needs '{module}'.*discreet\[report\]") as caught:
        check_libraries()
    assert caught.value.__cause__ is None
