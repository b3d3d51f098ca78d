"""Components of a page."""

from __future__ import annotations

import sys

import pytest

from discreet.errors import SpecError
from discreet.pages import page as components
from discreet.pages.page import component, render
from support.report_cases import PLAIN


@pytest.mark.parametrize("module", ["jinja2", "markupsafe", "matplotlib"])
@pytest.mark.parametrize("used_before", [False, True])
def test_without_a_library_of_pages_the_extra_is_named(
    module: str, used_before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if used_before:
        component("banner", PLAIN)
    else:
        components.environment.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == module] or [module]:
        monkeypatch.setitem(sys.modules, name, None)
    for make in (lambda: render(PLAIN), lambda: component("banner", PLAIN), lambda: component("facts", PLAIN)):
        with pytest.raises(SpecError, match=rf"this needs '{module}'.*discreet\[report\]"):
            make()
