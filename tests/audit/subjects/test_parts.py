"""Parts under audit: the loss of the honest shares reaches the claim, real parts show it, and mistakes are seen."""

from __future__ import annotations

import importlib.util

import pytest

from discreet.audit import audited_parts as parts
from discreet.audit.audited_parts import PartsSubject, parts_entries
from discreet.audit.auditing import Task, audited
from discreet.parts import making
from discreet.parts.part_file import masked

NAMES = list(parts_entries())


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_of_the_honest_reaches_the_claim_and_nothing_is_found_wrong(name, monkeypatch):
    """False alarms of all checks together: 1e-9."""
    monkeypatch.setattr(parts, "WHOLE_DRAWS", 3)
    found = audited(Task(name, 4.0, 200, 1e-9))
    assert not found.violations
    assert 0.99 * found.exact[0].claimed < max(loss.value for loss in found.exact) <= found.exact[0].claimed
    assert {check.name for check in found.checks} >= {"noise distribution", "variance of the noise in masked parts"}


def counted_on_all(mechanism, block, steps):
    """The mistake: shares for all curators in place of the honest ones."""
    return int(steps * mechanism.parts_per_person / mechanism.shares**0.5)


def test_shares_for_all_curators_are_seen_by_the_exact_loss(monkeypatch):
    """With a third of the variance in place of half, the loss is sqrt(3/2) times what is claimed."""
    monkeypatch.setattr(parts.GaussianShares, "_share", counted_on_all)
    monkeypatch.setattr(parts, "WHOLE_DRAWS", 1)
    found = audited(Task(NAMES[0], 4.0, 20, 1e-9))
    assert not all(loss.covered for loss in found.exact)
    assert found.verdict == "violation"


def test_parts_without_noise_are_seen_by_what_is_read_off_them(monkeypatch):
    """Masked all the same: the sum of 72 squares is 0."""
    monkeypatch.setattr(making, "_with_share", lambda exact, *_: exact)
    monkeypatch.setattr(parts, "WHOLE_DRAWS", 6)
    subject = PartsSubject(parts_entries()[NAMES[0]], 1.0)
    drawn = subject.draws(0, 50), subject.draws(1, 50)
    broken = [check.name for check in subject.checks(drawn, 1e-9) if not check.passed]
    assert "variance of the noise in masked parts" in broken
    assert "noise distribution" not in broken


def _unmasked(subject, side):
    """What the merger would read off parts without noise."""
    sums = [subject._totals(table).on_grid(subject._request.distribution.unit) for table in subject._tables(side)[:2]]
    return [float(sum(numbers)) for numbers in zip(*sums, strict=True)]


def test_what_is_read_off_real_parts_is_the_exact_sum_where_no_noise_is_added(monkeypatch):
    """Masks, keys and files between: only the sum of the honest curators is left, to the last step."""
    monkeypatch.setattr(making, "_with_share", lambda exact, *_: exact)
    monkeypatch.setattr(parts, "WHOLE_DRAWS", 1)
    subject = PartsSubject(parts_entries()[NAMES[1]], 1.0)
    assert subject.seen(1).tolist() == [_unmasked(subject, 1)]
    # negative control: with other masks nothing of it is left
    monkeypatch.setattr(parts, "masked", lambda values, keys, place: masked(values, [None, b"1" * 32, None], place))
    assert subject.seen(1).tolist() != [_unmasked(subject, 1)]


def test_another_mechanism_is_no_subject(monkeypatch):
    subject = PartsSubject(parts_entries()[NAMES[0]], 1.0)
    monkeypatch.setattr(parts, "GaussianShares", str)
    with pytest.raises(TypeError, match="expected noise in shares"):
        subject.draws(0, 1)


def test_without_the_library_there_are_no_entries(monkeypatch):
    monkeypatch.setattr(parts, "find_spec", lambda name: None)
    assert importlib.util.find_spec("cryptography") is not None
    assert parts_entries() == {}
