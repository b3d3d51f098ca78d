"""Masks: they hide, they cancel, and pooled sums are the ones of the pooled table, whatever the split."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from discreet.errors import DataError
from discreet.parts.agreement import Session
from discreet.parts.part_file import MODULUS, MOST, WIDTH, check_range, masked, pair_keys, unmasked
from support.curators import curators


def drawn_keys(rng, parts):
    """A key for each pair, the same for both of it."""
    keys: list[list[bytes | None]] = [[None] * parts for _ in range(parts)]
    for i in range(parts):
        for j in range(i):
            keys[i][j] = keys[j][i] = rng.bytes(32)
    return keys


@pytest.mark.no_cover
def test_a_thousand_random_splits_of_a_table_give_the_sums_of_the_pooled_one():
    rng = np.random.default_rng(18)
    steps = rng.integers(-(2**16), 2**16, size=(60, 4), endpoint=True)
    upper = np.triu_indices(4)
    pooled = (steps.T @ steps)[upper].tolist()
    for _ in range(1000):
        parts = int(rng.integers(3, 21))
        owner = rng.integers(0, parts, size=len(steps))
        keys = drawn_keys(rng, parts)
        sent = []
        for place in range(parts):
            own = steps[owner == place]
            sent.append(masked((own.T @ own)[upper].tolist(), keys[place], place))
        assert unmasked(sent) == pooled


@pytest.mark.parametrize("parts", [3, 7])
def test_the_largest_sums_of_either_sign_are_read_back(parts):
    keys = drawn_keys(np.random.default_rng(parts), parts)
    most = MOST // parts
    values = [most, -most, most - 1, 1 - most, 0, -1]
    check_range(values, parts)
    # with the noise of every share at the limit of the sampler
    noisy = [one + (2**63 if one > 0 else -(2**63)) for one in values]
    sent = [masked(noisy, keys[place], place) for place in range(parts)]
    assert unmasked(sent) == [parts * one for one in noisy]


def test_larger_sums_are_refused():
    for one in (MOST // 3 + 1, -(MOST // 3) - 1):
        with pytest.raises(DataError, match=r"could reach 2\^126"):
            check_range([0, one], 3)


def test_a_mask_is_the_stream_of_its_key_and_has_its_sign():
    key = b"k" * 32
    stream = hashlib.shake_256(b"discreet part mask stream 1\n" + key).digest(2 * WIDTH)
    mask = [int.from_bytes(stream[start : start + WIDTH], "little") for start in (0, WIDTH)]
    first, second = masked([5, -7], [None, key], 0), masked([5, -7], [key, None], 1)
    for place, value in enumerate((5, -7)):
        where = slice(WIDTH * place, WIDTH * (place + 1))
        assert int.from_bytes(first[where], "little") == (value + mask[place]) % MODULUS
        assert int.from_bytes(second[where], "little") == (value - mask[place]) % MODULUS


def test_without_one_part_the_rest_is_uniform_and_says_nothing():
    """Bytes of what two of three parts of zeros add up to; false alarms below 1e-9, and zeros alone are found out."""
    rng = np.random.default_rng(3)
    keys = drawn_keys(rng, 3)
    sent = [masked([0] * 2000, keys[place], place) for place in range(3)]

    def uniform(content):
        counts = np.bincount(np.frombuffer(content, dtype=np.uint8), minlength=256)
        return stats.chisquare(counts).pvalue > 1e-9

    two = [value % MODULUS for value in unmasked(sent[:2])]
    assert uniform(b"".join(value.to_bytes(WIDTH, "little") for value in two))
    assert all(map(uniform, sent))
    assert not uniform(b"".join(value.to_bytes(WIDTH, "little") for value in unmasked(sent)))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return curators(tmp_path_factory.mktemp("masks"))


def test_both_of_a_pair_have_the_same_key_and_every_pair_another(made):
    keys = [pair_keys(made.session, place, own) for place, own in enumerate(made.keys)]
    assert all(keys[i][j] == keys[j][i] for i in range(3) for j in range(3))
    assert [keys[place][place] for place in range(3)] == [None] * 3
    assert len({keys[0][1], keys[0][2], keys[1][2]}) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"id": "0" * 32}, {"epsilon": 2.0}, {"delta": 1e-7}, {"grid_bits": 17}, {"honest": 1}, {"parts_per_person": 2},
        {"noise": "merger", "honest": 0}, {"design": "sha256:0"},
    ],
)  # fmt: skip
def test_other_terms_give_other_masks(made, change):
    before = pair_keys(made.session, 0, made.keys[0])
    after = pair_keys(replace(made.session, **change), 0, made.keys[0])
    assert before[1] != after[1] is not None
    assert before[2] != after[2]


def test_another_name_unit_or_third_curator_gives_other_masks(made, tmp_path):
    session: Session = made.session
    third = curators(tmp_path / "other").keys[2].public
    other = replace(session, curators=(*session.curators[:2], replace(third, name="third")))
    assert pair_keys(session, 0, made.keys[0])[1] != pair_keys(other, 0, made.keys[0])[1]
