"""The libraries that pages need."""

from __future__ import annotations

import sys

import pytest

from discreet.errors import SpecError
from discreet.pages.page import check_libraries, render
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


def test_a_library_that_another_one_needs_is_named_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a fresh process: jinja2 is there, is imported, and fails for want of markupsafe."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "jinja2"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "markupsafe", None)
    with pytest.raises(SpecError, match=r"this needs 'markupsafe'.*discreet\[report\]"):
        check_libraries()


def test_an_import_that_fails_without_a_name_is_put_down_to_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise ImportError(f"cannot load {name}")

    monkeypatch.setattr("discreet.pages.page.import_module", broken)
    with pytest.raises(SpecError, match=r"this needs 'jinja2'.*discreet\[report\]"):
        check_libraries()
