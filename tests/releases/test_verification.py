"""What `verify` finds, refuses and says that it cannot see."""

from __future__ import annotations

import json

import pytest

import discreet
from discreet.errors import ReleaseFileError, SpecError
from discreet.mechanisms.registry import mechanisms
from discreet.releases import Release
from discreet.testing import exact_release
from support.release_edits import edited

DESIGN = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
TABLE = {"x": [0.1, 0.9], "y": [0.3, 0.4]}


@pytest.mark.parametrize("name", sorted(mechanisms()))
def test_a_release_of_every_mechanism_is_verified(name):
    delta = 1e-6 if mechanisms()[name].info.notion == "approximate" else 0.0
    release = discreet.release(TABLE, DESIGN, epsilon=2.0, delta=delta, mechanism=name)
    found = discreet.verify(release)
    assert found.promised == release.guarantee
    assert found.digest == release.digest
    # where only a delta can be said, it is said at the promised epsilon
    assert 0.9 * 2 <= found.epsilon_given <= 2 * (1 + 1e-6)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["verified"] is True
    assert plain["noise"]["epsilon"] == found.epsilon_given
    assert plain["noise"]["delta"] <= delta * (1 + 1e-6)


def test_what_cannot_be_seen_is_said():
    found = discreet.verify(discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6))
    assert "the file was changed after the release" in found.cannot_see[0]
    assert any("drawn at all" in line for line in found.cannot_see)


def test_whether_a_ledger_has_the_release_is_not_seen(tmp_path):
    untracked = discreet.verify(discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6))
    assert untracked.anchor == untracked.to_dict()["anchor"] == "untracked"
    assert not any("ledger" in line for line in untracked.cannot_see)
    ledger = discreet.Ledger.create(tmp_path / "books.db")
    ledger.declare("people", epsilon=1.0, delta=1e-6)
    made = discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, spend=ledger.account("people"))
    tracked = discreet.verify(made)
    assert tracked.anchor == made.anchor
    assert any("its owner can run Ledger.verify" in line for line in tracked.cannot_see)
    for anchor in ("x", "9" * 5000, made.anchor.replace(":", ";")):
        text = edited(made, anchor=anchor)
        (line,) = (line for line in discreet.verify(Release.from_json(text)).cannot_see if "anchor" in line)
        assert "is not the anchor of a discreet ledger" in line
        assert len(line) < 300


def test_what_promises_nothing_is_refused():
    with pytest.raises(ReleaseFileError, match="NOT PRIVATE"):
        discreet.verify(exact_release(TABLE, DESIGN))
    with pytest.raises(ReleaseFileError, match="cannot read"):
        discreet.verify("none.json")
    with pytest.raises(SpecError, match="expected a release or the path of a release file, got int"):
        discreet.verify(3)
