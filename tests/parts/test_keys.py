"""Private keys: for their owner alone, read back, never shown."""

from __future__ import annotations

import pytest

from discreet.errors import OutputError, SpecError
from discreet.parts.keys import CuratorKey


@pytest.fixture
def saved(tmp_path):
    made = CuratorKey.new("süd")
    made.save(tmp_path / "a.key")
    return made, tmp_path / "a.key"


def test_a_key_is_read_back_from_a_file_for_its_owner_alone(saved):
    made, path = saved
    assert path.stat().st_mode & 0o777 == 0o600
    again = CuratorKey.load(path)
    assert again.public == made.public
    assert again.record_key() == made.record_key() != CuratorKey.new("süd").record_key()


def test_a_key_is_not_shown(saved):
    made, path = saved
    assert repr(made) == "<CuratorKey of 'süd': secret, not shown>"
    assert path.read_text(encoding="utf-8").startswith("# SECRET")


def test_a_key_is_never_replaced(saved):
    made, path = saved
    with pytest.raises(OutputError, match="exists"):
        CuratorKey.new("west").save(path)
    assert CuratorKey.load(path).public == made.public


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_may_read_is_refused(saved, mode):
    _, path = saved
    path.chmod(mode)
    with pytest.raises(SpecError, match=r"other users may read the private key .*chmod 600"):
        CuratorKey.load(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("discreet-curator-key", "other", "is not a curator's key file; make a key with"),
        ("version = 1", "version = 2", "a key file of version 2, expected version 1"),
        ("mask = ", "more = ", "unknown key file field"),
        ('sign = "', 'sign = "=', "a private key must be 32 bytes"),
        ('sign = "', 'sign = "AAAA', "a private key must be 32 bytes"),
        ('name = "süd"', 'name = " "', "the name of a curator"),
    ],
)
def test_a_damaged_key_is_refused(saved, old, new, message):
    _, path = saved
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(SpecError, match=message):
        CuratorKey.load(path)


def test_a_name_that_no_session_takes_is_refused():
    with pytest.raises(SpecError, match="the name of a curator"):
        CuratorKey.new("")


@pytest.mark.parametrize("given", [None, "", 5])
def test_what_is_no_path_of_a_key_is_said(given):
    with pytest.raises(SpecError, match="key: expected the path of a curator's private keys, got"):
        CuratorKey.load(given)
