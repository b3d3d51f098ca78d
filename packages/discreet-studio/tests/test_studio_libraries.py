"""A library that is missing is named, with what to install."""

from __future__ import annotations

import sys

import pytest

import discreet
from discreet_studio.libraries import check_libraries


def test_what_is_missing_is_named(monkeypatch):
    check_libraries()
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(discreet.DiscreetError, match=r"needs 'uvicorn'.*packages/discreet-studio"):
        check_libraries()
