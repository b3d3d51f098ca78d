"""What is public of a curator: names and keys are checked, one text for one key."""

from __future__ import annotations

import builtins
from dataclasses import replace

import pytest

from discreet.errors import SpecError
from discreet.parts.keys import Curator, CuratorKey, need_library

KEYS = CuratorKey.new("north").public
ZERO = "A" * 43 + "="


def curator(name="north"):
    return CuratorKey.new(name).public


@pytest.mark.parametrize("name", ["north", "Krankenhaus Süd", "東", "x" * 60])
def test_a_curator_is_read_back(name, tmp_path):
    made = curator(name)
    assert Curator.from_dict(made.to_dict()) == made
    (tmp_path / "a.pub").write_text(f"# a remark\n{made.to_toml()}", encoding="utf-8")
    assert Curator.load(tmp_path / "a.pub") == made


@pytest.mark.parametrize("name", ["", " north", "x" * 61, "a\nb", "a\u202eb", "\ud800", None, 5])
def test_odd_names_are_refused(name):
    with pytest.raises(SpecError, match="the name of a curator must have"):
        Curator(name, KEYS.mask_key, KEYS.sign_key)


@pytest.mark.parametrize(
    "change", [{"mask_key": f"x25519:{ZERO}"}, {"sign_key": f"ed25519:{ZERO}"}, {"sign_key": KEYS.mask_key}]
)
def test_keys_that_were_never_drawn_are_refused(change):
    with pytest.raises(SpecError, match=r"was not generated at random|expected a public key as ed25519: and 32 bytes"):
        replace(KEYS, **change)


def test_fingerprints_tell_curators_apart():
    one, other = curator(), curator()
    assert one.fingerprint != other.fingerprint
    assert len(one.fingerprint.replace(" ", "")) == 64


@pytest.mark.parametrize(
    "text", ["", "curators = 1", "[[curators]]\nname = 'a'", "more = 1", "[[curators]]\n[[curators]]"]
)
def test_other_files_are_refused(text, tmp_path):
    (tmp_path / "a.pub").write_text(text)
    with pytest.raises(SpecError):
        Curator.load(tmp_path / "a.pub")


def test_a_missing_library_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "cryptography":
            raise ImportError
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SpecError, match=r"a session of several curators needs 'cryptography'.*discreet\[parts\]"):
        need_library()


def test_a_private_key_in_place_of_a_public_one_is_recognised(tmp_path):
    CuratorKey.new("north").save(tmp_path / "north.key")
    with pytest.raises(SpecError, match=r"north.key' holds PRIVATE keys.*make new keys"):
        Curator.load(tmp_path / "north.key")
