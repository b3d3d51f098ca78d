"""`discreet part`: keys, sessions and parts on the command line; bad input costs nothing and gets exit code 2."""

from __future__ import annotations

import json

import pytest

import discreet
from support.cli_folder import contents

NAMES = ("north", "süd", "west")
KEYS: dict[str, bytes] = {}
SESSION: dict[str, bytes] = {}


@pytest.fixture
def keys(folder, call):
    """Three curators with keys, which were made once."""
    if not KEYS:
        for name in NAMES:
            made = call("part", "--new-key", f"{name}.key", "-o", f"{name}.pub")
            assert made.exit_code == 0, made.output
            KEYS.update({path: (folder / path).read_bytes() for path in (f"{name}.key", f"{name}.pub")})
    for path, content in KEYS.items():
        (folder / path).write_bytes(content)
        (folder / path).chmod(0o600 if path.endswith(".key") else 0o644)
    return folder


def new_session(call, *more, path="S.toml"):
    given = [word for name in NAMES for word in ("--curator", f"{name}.pub")]
    return call(
        "part", "--new-session", path, "--design", "design.toml", "--epsilon", "1", "--delta", "1e-6", *given, *more
    )


@pytest.fixture
def agreed(keys, call):
    """The same with a session, which was made once."""
    if not SESSION:
        assert new_session(call).exit_code == 0
        SESSION["S.toml"] = (keys / "S.toml").read_bytes()
    (keys / "S.toml").write_bytes(SESSION["S.toml"])
    return keys


def part(call, *more, key="north.key", output="north.part"):
    words = ("--design", "design.toml", "--session", "S.toml", "--key", key, "-o", output)
    return call("part", "people.csv", *words, *more)


def test_a_new_key_is_secret_and_its_public_half_is_printed(keys, call):
    public = discreet.Curator.load(keys / "süd.pub")
    assert public.name == "süd"
    said = call("part", "--new-key", "fourth.key").stdout
    (keys / "fourth.pub").write_text(said, encoding="utf-8")
    assert discreet.Curator.load(keys / "fourth.pub").fingerprint in said
    found = call("part", "--new-key", "other.key", "--name", "Krankenhaus Süd", "--json")
    assert json.loads(found.stdout)["name"] == "Krankenhaus Süd"
    assert (keys / "other.key").stat().st_mode & 0o777 == 0o600
    again = call("part", "--new-key", "other.key")
    assert again.exit_code == 2
    assert "exists" in again.stderr


def test_a_session_is_written_and_says_what_to_compare(keys, call):
    made = new_session(call)
    assert made.exit_code == 0, made.output
    session = discreet.Session.load("S.toml")
    assert "2 honest curators of 3 suffice, and nobody sees exact pooled sums" in made.stdout
    assert "compares the fingerprint by telephone" in made.stdout
    assert session.fingerprint[:4] in made.stdout
    more = ("--merger-noise", "--parts-per-person", "2", "--grid-bits", "12", "--json")
    other = json.loads(new_session(call, *more, path="T.toml").stdout)
    assert (other["noise"], other["honest"], other["parts_per_person"], other["grid_bits"]) == ("merger", 0, 2, 12)
    assert "who sees the exact pooled sums" in new_session(call, "--merger-noise", path="U.toml").stdout


def test_a_part_is_made_once_and_given_again(agreed, call):
    made = part(call)
    assert made.exit_code == 0, made.output
    assert "now used by this key" in made.stdout
    assert "discreet merge north.part ... --session S.toml -o R.json" in made.stdout
    assert "Spent       epsilon = 1, delta = 1e-06" in made.stdout
    assert "People      each in one part" in made.stdout
    again = part(call, output="again.part")
    assert "Spent       nothing more: this is the part that was made before" in again.stdout
    again = part(call, "--json", "--force", output="again.part")
    found = json.loads(again.stdout)
    assert (found["curator"], found["repeated"], found["parts_per_person"]) == ("north", True, 1)
    assert (agreed / "again.part").read_bytes() == (agreed / "north.part").read_bytes()
    (agreed / "people.csv").write_text((agreed / "people.csv").read_text().replace("20000", "20001", 1))
    before = contents(agreed)
    other = part(call, output="other.part")
    assert other.exit_code == 2
    assert "this key already used session" in other.stderr
    assert contents(agreed) == before


def test_the_ledger_records_the_spend_at_the_part(agreed, call):
    assert call("ledger", "init", "L.db", "--dataset", "people", "--epsilon", "1", "--delta", "1e-6").exit_code == 0
    made = part(call, "--ledger", "L.db", "--dataset", "people")
    assert made.exit_code == 0, made.output
    assert "recorded now" in made.stdout
    found = json.loads(part(call, "--ledger", "L.db", "--dataset", "people", "--json", output="again.part").stdout)
    assert found["repeated"] is True
    assert found["anchor"] != "untracked"
    assert new_session(call, path="T.toml").exit_code == 0
    other = call("part", "people.csv", "--design", "design.toml", "--session", "T.toml", "--key", "north.key",
                 "-o", "t.part", "--ledger", "L.db", "--dataset", "people")  # fmt: skip
    assert other.exit_code == 3
    assert not (agreed / "t.part").exists()


def test_a_part_that_cannot_be_saved_is_kept(agreed, call, monkeypatch):
    from discreet.errors import OutputError

    def full(*_, **__):
        raise OutputError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(discreet.Part, "save", full)
        failed = part(call)
    assert failed.exit_code == 5
    assert "it is recorded in the folder of the key, and the same command writes it" in failed.stderr
    assert part(call).exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "expected --design, --session, --key and -o"),
        (("people.csv", "--session", "S.toml"), "expected --design, --session, --key and -o"),
        (("people.csv", "--new-key", "a.key"), "DATA cannot be used with --new-key"),
        (("--new-key", "a.key", "--epsilon", "1"), "--epsilon cannot be used with --new-key"),
        (("--new-key", "a.key", "--new-session", "T.toml"), "--new-session cannot be used with --new-key"),
        (("--new-key", "a.key", "--name", " "), "the name of a curator"),
        (("--new-key", "a.key", "-o", "a.key"), "is the private key"),
        (("--new-key", "a.key", "-o", "existing.json"), "exists"),
        (("--new-session", "T.toml", "--key", "north.key"), "--key cannot be used with --new-session"),
        (("--new-session", "T.toml"), "--new-session requires --design"),
        (("--new-session", "T.toml", "--design", "design.toml"), "--new-session requires --epsilon"),
        (("--new-session", "T.toml", "--design", "design.toml", "--epsilon", "one"), "epsilon"),
        (
            ("--new-session", "T.toml", "--design", "design.toml", "--epsilon", "1", "--delta", "1e-6"),
            "expected at least 3 curators in a session, got 0",
        ),
        (("--new-key", "north.key", "--force"), "a key file never replaces another file, so choose another name"),
        (
            ("--new-session", "T.toml", "--design", "design.toml", "--epsilon", "1", "--curator", "no.pub"),
            "cannot read",
        ),
        (("people.csv", "--name", "a"), "--name cannot be used with anything but --new-key"),
        (("people.csv", "--honest", "2"), "--honest cannot be used with anything but --new-session"),
    ],
)
def test_steps_are_not_mixed(agreed, call, words, message):
    before = contents(agreed)
    found = call("part", *words)
    assert (found.exit_code, message in found.stderr) == (2, True), found.stderr
    assert contents(agreed) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--key", "no.key"), "cannot read"),
        (("--key", "design.toml"), "is not a curator's key file|other users may read"),
        (("--session", "design.toml"), "unknown session field"),
        (("--key", "north.pub"), "holds public keys"),
        (("--session", "no.toml"), "cannot read"),
        (("--ledger", "L.db"), "--ledger and --dataset must be given together"),
        (("--workers", "0"), "workers"),
        (("-o", "existing.json"), "exists"),
        (("-o", "north.key", "--force"), "is the same file as the input"),
        (("-o", "S.toml", "--force"), "is the same file as the input"),
        (("-o", "none/a.part"), "does not exist"),
    ],
)
def test_bad_input_costs_nothing(agreed, call, words, message):
    import re

    before = contents(agreed)
    found = part(call, *words)
    assert found.exit_code == 2
    assert re.search(message, found.stderr), found.stderr
    assert contents(agreed) == before


def test_terms_that_are_not_served_are_refused_when_the_session_is_made(keys, call):
    for more, message in (
        (("--honest", "3"), "expected an integer from 1 to 2, got 3"),
        (("--mechanism", "laplace"), "noise in shares requires the mechanism 'gaussian'"),
        (("--merger-noise", "--mechanism", "irls"), "requires a mechanism with a single pass"),
        (("--delta", "0"), "needs delta above 0"),
    ):
        found = new_session(call, *more)
        assert (found.exit_code, message in found.stderr) == (2, True), found.stderr
        assert not (keys / "S.toml").exists()


def test_no_key_and_nothing_that_was_read_is_written_over(agreed, call):
    """Not even with --force, by no step."""
    before = contents(agreed)
    for path in ("design.toml", "north.pub", "north.key"):
        found = new_session(call, "--force", path=path)
        assert found.exit_code == 2
        kept = ("is the same file as the input", "is a private key and is never replaced")
        assert any(words in found.stderr for words in kept)
    for output in ("north.key", "süd.key"):
        found = call("part", "--new-key", "fourth.key", "-o", output, "--force")
        assert (found.exit_code, "is a private key and is never replaced" in found.stderr) == (2, True)
    assert contents(agreed) == before
    part(call)
    (record,) = agreed.glob("discreet-sessions-*/*")
    kept = record.read_bytes()
    found = call("part", "--new-key", "fourth.key", "-o", str(record), "--force")
    assert "is the record of a session and is never replaced" in found.stderr
    assert record.read_bytes() == kept


def test_weak_privacy_of_a_session_needs_a_word_and_is_said(keys, call):
    refused = new_session(call, "--epsilon", "30")
    assert refused.exit_code == 2
    assert "pass --allow-weak-privacy" in refused.stderr
    made = new_session(call, "--epsilon", "30", "--allow-weak-privacy")
    assert made.exit_code == 0
    assert "notice: WEAK PRIVACY: epsilon = 30" in made.stderr
    assert "WEAK PRIVACY: epsilon = 9" in new_session(call, "--epsilon", "9", path="T.toml").stderr


def test_how_many_parts_a_person_may_be_in_is_said(keys, call):
    made = new_session(call, "--parts-per-person", "2")
    assert "People      each in at most 2 of the 3 parts" in made.stdout
    assert "Budget      epsilon = 1, delta = 1e-06" in made.stdout


def test_the_ledger_refuses_what_the_records_beside_a_moved_key_do_not_know(agreed, call):
    """The key in another folder, another table, and leave to change the table: the session is used all the same."""
    call("ledger", "init", "L.db", "--dataset", "people", "--epsilon", "3", "--delta", "1e-5")
    counted = ("--ledger", "L.db", "--dataset", "people")
    assert part(call, *counted).exit_code == 0
    (agreed / "moved").mkdir()
    (agreed / "north.key").rename(agreed / "moved" / "north.key")
    (agreed / "people.csv").write_text((agreed / "people.csv").read_text().replace("20000", "20001", 1))
    status = call("ledger", "status", "L.db").stdout
    other = part(call, *counted, "--accept-changed-data", key="moved/north.key", output="other.part")
    assert other.exit_code == 2
    assert "A session can be used once" in other.stderr
    assert "Nothing was spent" in other.stderr
    assert call("ledger", "status", "L.db").stdout == status
    assert not (agreed / "other.part").exists()


def test_a_ledger_that_comes_to_an_untracked_part_is_said_in_one_sentence(agreed, call):
    call("ledger", "init", "L.db", "--dataset", "people", "--epsilon", "1", "--delta", "1e-6")
    assert "Ledger      untracked" in part(call).stdout
    found = part(call, "--ledger", "L.db", "--dataset", "people", output="again.part").stdout
    said = " ".join(found.split())
    assert "Ledger the part was made before, without a ledger, and says untracked, as the release will." in said
    assert "Request" in said
    assert "recorded now" in said
    assert found.count("untracked") == 1
    again = part(call, "--ledger", "L.db", "--dataset", "people", output="third.part").stdout
    assert "recorded earlier, so this is the same part" in " ".join(again.split())


def test_words_of_single_options(agreed, call):
    assert "1 honest curator of 3 suffices" in new_session(call, "--honest", "1", path="T.toml").stdout
    found = part(call, "--accept-changed-data")
    assert (found.exit_code, "--new-release" in found.stderr) == (2, False)
    assert "--accept-changed-data requires a ledger; pass --ledger and --dataset" in found.stderr
    found = new_session(call, "--curator", "north.key", path="U.toml")
    assert (found.exit_code, "holds PRIVATE keys" in found.stderr) == (2, True)
    found = part(call, output="-")
    assert (found.exit_code, "cannot write to standard output ('-'); name a file" in found.stderr) == (2, True)
    made = json.loads(call("part", "--new-key", "fourth.key", "--json").stdout)
    assert made["fingerprint"] == discreet.CuratorKey.load("fourth.key").public.fingerprint.replace(" ", "")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("north.part", "it is a curator's part; pass it to `discreet merge`"),
        ("S.toml", "it is a session of several curators"),
        ("north.key", "it is a curator's PRIVATE key"),
        ("north.pub", "it holds a curator's public keys"),
    ],
)
def test_show_and_verify_say_what_a_file_of_several_curators_is(agreed, call, path, message):
    if path == "north.part":
        part(call)
    for command in ("show", "verify"):
        found = call(command, path)
        assert (found.exit_code, message in " ".join(found.stderr.split())) == (2, True), found.stderr
