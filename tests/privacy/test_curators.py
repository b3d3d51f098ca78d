"""Terms of several curators: what contradicts itself is refused."""

from __future__ import annotations

import pytest

from discreet.errors import SpecError
from discreet.privacy.guarantee import CuratorTerms

SESSION = "0" * 64


@pytest.mark.parametrize(("parts", "honest"), [(3, 1), (3, 2), (1000, 999)])
def test_shares_of_honest_curators_are_counted(parts, honest):
    terms = CuratorTerms(parts, honest, 1, "shares", SESSION)
    assert (terms.shares, terms.counted) == (parts, honest)
    assert CuratorTerms.from_dict(terms.to_dict()) == terms


def test_noise_of_the_merger_is_one_share():
    terms = CuratorTerms(3, 0, 2, "merger", SESSION)
    assert (terms.shares, terms.counted) == (1, 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((2, 1, 1, "shares", SESSION), "parts of a session: expected an integer from 3 to 1000, got 2"),
        ((1001, 1, 1, "shares", SESSION), "from 3 to 1000"),
        ((True, 1, 1, "shares", SESSION), "from 3 to 1000"),
        ((3, 3, 1, "shares", SESSION), "honest of a session: expected an integer from 1 to 2, got 3"),
        ((3, 0, 1, "shares", SESSION), "from 1 to 2, got 0"),
        ((3, 2.0, 1, "shares", SESSION), r"got 2\.0"),
        ((3, 1, 1, "merger", SESSION), "honest: expected 0, because the merger draws the noise"),
        ((3, False, 1, "merger", SESSION), "honest: expected 0, because the merger draws the noise"),
        ((3, 2, 0, "shares", SESSION), "parts_per_person of a session: expected an integer from 1 to 3, got 0"),
        ((3, 2, 4, "shares", SESSION), "from 1 to 3, got 4"),
        ((3, 2, 1, "share", SESSION), "unknown noise of a session 'share'.*Did you mean 'shares'"),
        ((3, 2, 1, "shares", "ff"), "64 hexadecimal digits"),
        ((3, 2, 1, "shares", "G" * 64), "64 hexadecimal digits"),
        ((3, 2, 1, "shares", None), "64 hexadecimal digits"),
    ],
)
def test_what_cannot_be_is_refused(given, message):
    with pytest.raises(SpecError, match=message):
        CuratorTerms(*given)


@pytest.mark.parametrize("mapping", [None, {}, {"parts": 3}, {"more": 1}])
def test_other_fields_are_refused(mapping):
    with pytest.raises(SpecError, match="curators"):
        CuratorTerms.from_dict(mapping)
