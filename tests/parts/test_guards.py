"""Checks that no call of the library fails today, for a ledger or a mechanism of another kind."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from discreet.audit.runs import _staged_numbers
from discreet.errors import LedgerError
from discreet.parts import making
from discreet.releases.fields import StagedPart


def test_another_record_in_place_of_a_part_is_refused():
    with pytest.raises(LedgerError, match="a different record in place of this part"):
        making._stored_part("{}")


def test_a_mechanism_without_shares_sends_no_exact_sums():
    with pytest.raises(TypeError, match="noise in shares"):
        making._with_share([1], None, SimpleNamespace(mechanism=None), SimpleNamespace(noise="shares"), None)


def test_an_audit_sees_every_number_of_a_staged_release():
    part = StagedPart((1.0,), (2.0,), 3.0, (4,), 5.0, 6.0, (7.0,), ((8.0,),), (9,), 10.0, 11.0)
    assert sorted(_staged_numbers(part)) == [float(number) for number in range(1, 12)]
