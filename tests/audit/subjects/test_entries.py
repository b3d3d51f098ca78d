"""Every registered mechanism has an entry, and every part that a release can have."""

from __future__ import annotations

import pytest

from discreet.audit.subjects import entries
from discreet.audit.subjects.entries import mechanism_entries
from discreet.mechanisms.registry import HOMES


def test_every_registered_mechanism_and_every_part_has_an_entry():
    known = mechanism_entries()
    assert set(HOMES) < set(known)
    assert all(name == entry.name for name, entry in known.items())
    for part in ("clip_counts", "guard", "estimator"):
        assert any(getattr(entry, part) for entry in known.values())
    assert {entry.moments for entry in known.values()} == {"plain", "robust"}


@pytest.mark.parametrize("installed", [True, False])
def test_the_estimator_has_one_where_it_is_installed(installed, monkeypatch):
    monkeypatch.setattr(entries, "find_spec", lambda name: object() if installed else None)
    assert ("gaussian estimator" in mechanism_entries()) == installed
