"""What somebody might try, and what it got: the table of attacks in the documentation is this one."""

from __future__ import annotations

from dataclasses import replace

import pytest

import discreet
from discreet.errors import PartFileError, SpecError
from discreet.mechanisms.sampler import ExactSampler
from discreet.parts.agreement import Session
from discreet.parts.keys import MASK_SCHEME, SIGN_SCHEME, CuratorKey, key_text
from discreet.parts.part_file import MODULUS, Part, masked, pair_keys, unmasked
from support.curators import DESIGN, TERMS, curators, rows

TABLES = [rows(seed) for seed in range(3)]


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return curators(tmp_path_factory.mktemp("attacks"))


@pytest.fixture(scope="module")
def parts(people):
    return people.parts(TABLES, ExactSampler())


@pytest.fixture(scope="module")
def others(people, tmp_path_factory):
    """Parts of the same people, tables and terms in another session."""
    session = Session.new(DESIGN, people.session.curators, **TERMS)
    folder = tmp_path_factory.mktemp("others")
    for place, key in enumerate(people.keys):
        key.save(folder / f"{place}.key")
    return replace(people, folder=folder, session=session).parts(TABLES, ExactSampler())


def two_files(people, parts, others):
    """A second file under the same mask, which would show the difference of two tables with two shares of noise."""
    return people.part(0, rows(7), ExactSampler())


def altered_header(people, parts, others):
    content = parts[0].content.replace(b'"epsilon":1.0', b'"epsilon":9.0')
    assert content != parts[0].content
    return discreet.merge([Part.from_bytes(content), *parts[1:]])


def altered_sums(people, parts, others):
    content = bytearray(parts[0].content)
    content[-65] ^= 1
    return discreet.merge([Part.from_bytes(bytes(content)), *parts[1:]])


def altered_terms_signed_anew(people, parts, others):
    """A curator who states other terms than the rest, with its own good signature."""
    session = replace(people.session, epsilon=9.0)
    return discreet.merge([Part.signed(replace(parts[0].header, session=session), parts[0].numbers,
                                       people.keys[0].sign), *parts[1:]])  # fmt: skip


def swapped(people, parts, others):
    """The sums of one curator under the name of another."""
    header = replace(parts[0].header, curator=1)
    return discreet.merge([parts[0], Part.signed(header, parts[1].numbers, people.keys[0].sign), parts[2]])


def missing(people, parts, others):
    return discreet.merge([parts[0], parts[1], parts[1]])


def fewer(people, parts, others):
    return discreet.merge(parts[:2])


def doubled(people, parts, others):
    return discreet.merge([*parts, parts[2]])


def replayed(people, parts, others):
    """A part of an earlier session in place of the new one."""
    return discreet.merge([parts[0], parts[1], others[2]])


def foreign(people, parts, others):
    """A stranger's part: its own keys in place of a curator's."""
    stranger = CuratorKey.new("west")
    session = replace(people.session, curators=(*people.session.curators[:2], stranger.public))
    header = replace(parts[2].header, session=session)
    return discreet.merge([*parts[:2], Part.signed(header, parts[2].numbers, stranger.sign)])


def unsigned(people, parts, others):
    content = parts[0].content[:-64] + bytes(64)
    return discreet.merge([Part.from_bytes(content), *parts[1:]])


def other_masks(people, parts, others):
    """A curator whose masks are of other keys, signed as it should be: only the sums show it."""
    keys = [None, b"1" * 32, b"2" * 32]
    size = parts[0].header.numbers
    return discreet.merge([Part.signed(parts[0].header, masked([5] * size, keys, 0), people.keys[0].sign), *parts[1:]])


def low_order(people, parts, others):
    """A curator whose public key would give everybody the same known secret."""
    return replace(people.session.curators[1], mask_key=key_text(bytes(32), MASK_SCHEME))


def known_masks(people, parts, others):
    """A curator whose public key is the base point: each secret is then the other's public key."""
    return replace(people.session.curators[1], mask_key=key_text((9).to_bytes(32, "little"), MASK_SCHEME))


def anybody_signs(people, parts, others):
    """A curator whose public key would take the signature of anybody."""
    return replace(people.session.curators[1], sign_key=key_text((1).to_bytes(32, "little"), SIGN_SCHEME))


ATTACKS = {
    two_files: (SpecError, "this key already used session"),
    altered_header: (PartFileError, "the signature of the part is not valid"),
    altered_sums: (PartFileError, "the signature of the part is not valid"),
    altered_terms_signed_anew: (PartFileError, "does not belong to the session of the part of"),
    swapped: (PartFileError, "the signature of the part is not valid"),
    missing: (PartFileError, "there are two parts of 'süd'"),
    fewer: (PartFileError, "the part of 'west' is missing"),
    doubled: (PartFileError, "there are two parts of 'west'"),
    replayed: (PartFileError, "does not belong to the session of the part of"),
    foreign: (PartFileError, "does not belong to the session of the part of"),
    unsigned: (PartFileError, "the signature of the part is not valid"),
    other_masks: (PartFileError, "the masks of the parts do not cancel"),
    low_order: (SpecError, "gives no secret"),
    known_masks: (SpecError, "is unsafe: anyone can compute its secrets"),
    anybody_signs: (SpecError, "accepts forged signatures"),
}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.__name__)
def test_an_attack_gets_an_error_and_nothing_else(attack, people, parts, others):
    error, message = ATTACKS[attack]
    with pytest.raises(error, match=message):
        attack(people, parts, others)


def test_with_four_curators_three_parts_miss_one(tmp_path):
    made = curators(tmp_path, names=("a", "b", "c", "d"))
    parts = made.parts([rows(k) for k in range(4)])
    with pytest.raises(PartFileError, match="the part of 'c' is missing; without it the masks do not cancel"):
        discreet.merge([parts[0], parts[1], parts[3]])


def test_the_merger_without_a_part_has_numbers_that_say_nothing(people, tmp_path):
    """The same two parts fit every table of the third curator: what is added up is off by its unknown masks."""
    made = curators(tmp_path)
    parts = made.parts(TABLES)
    two = unmasked([one.numbers for one in parts[:2]])
    exact = unmasked([one.numbers for one in parts])
    third = [(all_of - some) % MODULUS for all_of, some in zip(exact, two, strict=True)]
    # the rest is the third part itself: masked, and of no use before it is there
    assert b"".join(one.to_bytes(16, "little") for one in third) == parts[2].numbers
    assert not any(abs(one) < 2**100 for one in two)


def test_two_files_under_one_mask_would_show_the_exact_difference(tmp_path):
    """Negative control of the record: without it the attack works, without noise to the last digit."""
    made = curators(tmp_path)
    first = made.part(0, TABLES[0])
    (file,) = tmp_path.glob("discreet-sessions-*/*")
    file.unlink()
    second = made.part(0, rows(0, 21))
    size = first.header.numbers
    sent = [
        [int.from_bytes(one.numbers[16 * k : 16 * k + 16], "little") for k in range(size)] for one in (first, second)
    ]
    # the number of rows differs by exactly one
    assert (sent[1][0] - sent[0][0]) % MODULUS == 2**32


def test_the_merger_and_one_curator_learn_the_noisy_sum_of_the_other_two(tmp_path):
    """What the documentation says: not less, and where the parts have noise, not more."""
    made = curators(tmp_path)
    parts = made.parts(TABLES)
    keys = pair_keys(made.session, 2, made.keys[2])
    mask = int.from_bytes(masked([0], keys, 2), "little")
    own = (int.from_bytes(parts[2].numbers[:16], "little") - mask) % MODULUS
    everybody = unmasked([one.numbers for one in parts])[0]
    assert own == 20 * 2**32
    assert everybody - own == 40 * 2**32


def test_two_curators_who_exchange_their_sums_change_nothing(people, parts):
    """Both signed, and only the sum of all parts counts."""
    one, other, last = parts
    exchanged = [
        Part.signed(one.header, other.numbers, people.keys[0].sign),
        Part.signed(other.header, one.numbers, people.keys[1].sign),
    ]
    assert discreet.merge([*exchanged, last]) == discreet.merge(parts)
