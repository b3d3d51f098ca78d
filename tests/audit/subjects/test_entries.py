"""Every registered mechanism has an entry, and every part that a release can have."""

from __future__ import annotations

import pytest

from discreet.audit import audited_mechanisms as entries
from discreet.audit.audited_mechanisms import mechanism_entries
from discreet.design.design import Design
from discreet.mechanisms.registry import HOMES


def test_every_registered_mechanism_and_every_part_has_an_entry():
    known = mechanism_entries()
    assert set(HOMES) < set(known)
    assert all(name == entry.name for name, entry in known.items())
    for part in ("clip_counts", "guard", "weights", "estimator", "further"):
        assert any(getattr(entry, part) for entry in known.values())
    assert {entry.robust for entry in known.values()} == {False, True}


@pytest.mark.parametrize("installed", [True, False])
def test_the_estimator_has_one_where_it_is_installed(installed, monkeypatch):
    monkeypatch.setattr(entries, "find_spec", lambda name: object() if installed else None)
    assert ("gaussian estimator" in mechanism_entries()) == installed


def test_an_entry_with_weights_adds_them_to_a_design_once():
    entry, design = mechanism_entries()["gaussian weights"], Design("y", {"y": (0, 1), "x": (0, 1)}, radius=0.5)
    weighted = entry.of(design)
    assert (weighted.weights, weighted.radius, entry.serves(weighted)) == ("weight", 0.5, True)
    assert entry.of(weighted) is weighted
    assert mechanism_entries()["gaussian"].of(design) is design
    assert not mechanism_entries()["staged"].serves(design)
    individuals = Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"id": "who", "max_rows": 2})
    assert [mechanism_entries()[name].serves(individuals) for name in ("staged", "staged robust")] == [True, False]


def test_an_entry_with_further_models_has_them_for_every_design():
    entry = mechanism_entries()["gaussian robust models"]
    one, two = (Design("y", {"y": (0, 1), "x": (0, 1)} | more) for more in ({}, {"z": bool}))
    assert entry.options(one).robust.models == ("y ~ 1",)
    assert entry.options(two).robust.models == ("y ~ 1", "y ~ x")
    assert mechanism_entries()["gaussian robust"].options(two).robust.models == ()
