"""`discreet merge`: one release from the parts of all curators, and exit code 2 for what is not one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import discreet
from discreet.ledger.event_log import MergedAnchor
from support.cli_folder import contents
from support.curators import DESIGN, TERMS, curators, rows
from support.release_edits import edited


@pytest.fixture
def parts(folder):
    made = curators(folder)
    made.session.save(folder / "S.toml")
    for place, one in enumerate(made.parts([rows(k, 400) for k in range(3)])):
        one.save(folder / f"{place}.part")
    return folder


FILES = ("0.part", "1.part", "2.part")


def test_parts_are_merged_into_an_ordinary_release(parts, call):
    made = call("merge", *FILES, "--session", "S.toml", "-o", "R.json")
    assert made.exit_code == 0, made.output
    assert "at least 2 of the 3 curators" in made.stdout
    for words in (("verify", "R.json"), ("fit", "R.json"), ("show", "R.json")):
        assert call(*words).exit_code == 0
    found = json.loads(call("merge", *reversed(FILES), "-o", "again.json", "--json").stdout)
    assert found["curators"]["honest"] == 2
    assert (parts / "again.json").read_bytes() == (parts / "R.json").read_bytes()


def test_the_merger_draws_the_noise_only_if_so_agreed(folder, call):
    made = curators(folder, noise="merger")
    for place, one in enumerate(made.parts([rows(k) for k in range(3)])):
        one.save(folder / f"{place}.part")
    assert call("merge", *FILES, "-o", "R.json").exit_code == 2
    found = call("merge", *FILES, "-o", "R.json", "--merger-noise")
    assert found.exit_code == 0, found.output
    assert "who saw the exact pooled sums" in found.stdout
    call("merge", *FILES, "-o", "again.json", "--merger-noise")
    assert (folder / "again.json").read_bytes() == (folder / "R.json").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (FILES[:2], "the part of 'west' is missing; without it"),
        (FILES[:1], "the parts of 'süd', 'west' are missing; without them"),
        ((*FILES, "--sign", "design.toml"), "is not a private key in PEM"),
        ((*FILES[:2], "1.part"), "there are two parts of 'süd'"),
        ((*FILES[:2], "no.part"), "cannot read 'no.part'"),
        ((*FILES[:2], "people.csv"), "this is not a part"),
        ((*FILES, "--merger-noise"), "leave --merger-noise"),
        ((*FILES, "--session", "design.toml"), "unknown session field"),
    ],
)
def test_what_is_not_one_part_of_each_is_refused(parts, call, words, message):
    before = contents(parts)
    found = call("merge", *words, "-o", "R.json")
    assert (found.exit_code, message in found.stderr) == (2, True), found.stderr
    assert contents(parts) == before


def test_outputs_are_checked_first(parts, call):
    assert call("merge", *FILES).exit_code == 2
    assert "exists" in call("merge", *FILES, "-o", "existing.json").stderr
    assert "is the same file as the input" in call("merge", *FILES, "-o", "0.part", "--force").stderr


def test_the_release_of_a_command_is_that_of_the_function(parts, call):
    call("merge", *FILES, "-o", "R.json")
    assert discreet.Release.load("R.json") == discreet.merge(list(FILES))


def test_the_fingerprint_of_the_session_is_shown_wherever_people_look(parts, call):
    from discreet.text import in_groups

    fingerprint = in_groups(discreet.Session.load("S.toml").fingerprint)
    made = call("merge", *FILES, "-o", "R.json").stdout
    assert all(fingerprint in text for text in (made, call("show", "R.json").stdout, call("verify", "R.json").stdout))
    assert json.loads(call("verify", "R.json", "--json").stdout)["session"] == fingerprint.replace(" ", "")


def test_a_merged_release_is_signed_as_any_other(parts, call, keys_in_pem):
    found = call("merge", *FILES, "-o", "R.json", "--sign", "key.pem", "--json")
    assert json.loads(found.stdout)["signed"] is True
    assert call("verify", "R.json", "--key", "key.pub.pem").exit_code == 0
    call("merge", *reversed(FILES), "-o", "again.json", "--sign", "key.pem")
    assert (parts / "again.json").read_bytes() == (parts / "R.json").read_bytes()
    # without the key it is the same release, and nothing that was signed
    call("merge", *FILES, "-o", "plain.json")
    assert discreet.Release.load("plain.json").digest == discreet.Release.load("R.json").digest
    assert call("verify", "plain.json", "--key", "key.pub.pem").exit_code == 2


@pytest.fixture
def keys_in_pem(folder):
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    plain = forms.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, plain))
    public = key.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)
    (folder / "key.pub.pem").write_bytes(public)


def test_a_key_is_never_written_over(parts, call, keys_in_pem):
    before = contents(parts)
    for words in (("-o", "key.pem", "--sign", "key.pem"), ("-o", "key.pem"), ("-o", "0.key")):
        found = call("merge", *FILES, *words, "--force")
        assert found.exit_code == 2
        kept = ("is the same file as the input", "is a private key and is never replaced")
        assert any(words in found.stderr for words in kept)
    assert contents(parts) == before


@pytest.fixture
def counted(folder, call):
    """Parts of three curators, each with a ledger of its own."""
    made = curators(folder)
    for place in range(3):
        books = discreet.Ledger.create(folder / f"{place}.db")
        books.declare("people", epsilon=1.0, delta=1e-5)
        made.part(place, rows(place, 400), spend=books.account("people")).save(folder / f"{place}.part")
    return made


def test_every_ledger_knows_its_part_of_a_merged_release(counted, folder, call):
    merged = call("merge", *FILES, "-o", "R.json")
    assert f"the ledgers of 3 curators, session {counted.session.id}" in " ".join(merged.stdout.split())
    for place in range(3):
        found = call("ledger", "verify", f"{place}.db", "R.json")
        assert found.exit_code == 0, found.stderr
        assert "the parts of R.json that were charged to this ledger are recorded in it" in found.stdout
    assert "not checked: the ledgers of 3 curators" in call("verify", "R.json").stdout
    discreet.Ledger.create(folder / "other.db").declare("people", epsilon=1.0, delta=1e-5)
    other = call("ledger", "verify", "other.db", "R.json")
    assert other.exit_code == 4
    assert "the release has 3 anchors, one for each curator, but none belongs to this ledger" in other.stderr


def copied(folder, call, release, anchor, **changes):
    """A release with another's anchor, in words that agree with it: the exit code and message of its ledger."""
    body = json.loads(release.to_json())
    codes = ["ledger-budgets" if code == "only-release" else code for code in body["guarantee"]["conditions"]]
    guarantee = body["guarantee"] | {"conditions": codes}
    (folder / "copy.json").write_text(edited(release, anchor=anchor, guarantee=guarantee, **changes))
    found = call("ledger", "verify", "0.db", "copy.json")
    return found.exit_code, found.stderr


def test_a_ledger_vouches_for_no_release_that_carries_the_anchor_of_another(counted, folder, call):
    call("merge", *FILES, "-o", "R.json")
    genuine = discreet.Release.load("R.json")
    anchor = genuine.anchor
    strangers = curators(folder / "strangers", epsilon=5.0)
    other = curators(folder / "other")
    tables = [rows(k) for k in range(3)]
    code, said = copied(folder, call, discreet.merge(strangers.parts(tables)), anchor)
    assert (code, "records a part of a different release, which has another 'curators'" in said) == (4, True), said
    for terms in (None, genuine.curators.to_dict()):
        more = {} if terms is None else {"curators": terms}
        code, said = copied(folder, call, discreet.merge(strangers.parts(tables)), anchor, **more)
        assert (code, "another 'curators'" in said or "another 'guarantee.epsilon'" in said) == (4, True), said
    code, said = copied(folder, call, discreet.merge(other.parts(tables)), anchor)
    assert (code, "another 'curators'" in said) == (4, True), said
    changed = genuine.curators.to_dict() | {"session": "0" * 64}
    code, said = copied(folder, call, genuine, anchor, curators=changed)
    assert (code, "another 'curators'" in said) == (4, True), said
    # of the same session with other bounds
    design = json.loads(genuine.to_json())["design"]
    columns = design["columns"] | {"x": design["columns"]["x"] | {"bounds": [0.0, 6.0]}}
    code, said = copied(folder, call, genuine, anchor, design=design | {"columns": columns})
    assert (code, "another 'design'" in said) == (4, True), said
    assert copied(folder, call, genuine, anchor) == (0, "")


def test_a_release_of_one_table_with_the_anchor_of_parts_is_refused(counted, folder, call):
    call("merge", *FILES, "-o", "R.json")
    anchor = discreet.Release.load("R.json").anchor
    plain = discreet.release(rows(0), DESIGN, **TERMS)
    with pytest.raises(
        discreet.DiscreetError, match="records a part of a different release, which has another 'curators'"
    ):
        discreet.Ledger(folder / "0.db").verify(replace(plain, anchor=anchor))
    (folder / "plain.json").write_text(edited(plain, anchor=anchor))
    for words in (("verify", "plain.json"), ("ledger", "verify", "0.db", "plain.json")):
        found = call(*words)
        assert (found.exit_code, "the anchor belongs to a merged release" in found.stderr) == (2, True)


def test_anchors_of_parts_are_checked_against_each_other(counted, folder, call):
    call("merge", *FILES, "-o", "R.json")
    genuine = discreet.Release.load("R.json")
    merged = MergedAnchor.parsed(genuine.anchor)
    one, two, three = merged.anchors
    for anchors in (
        (one, one, one), (one, two, one.partition(":epsilon")[0]), (one, two, str(merged)),
        (one, two, "discreet-ledger:0"), (one, two, "untracked"), (one, two), (),
    ):  # fmt: skip
        anchor = str(replace(merged, anchors=anchors))
        (folder / "copy.json").write_text(edited(genuine, anchor=anchor))
        found = call("verify", "copy.json")
        assert (found.exit_code, "does not name a ledger for each curator" in found.stderr) == (2, True), anchors
    with pytest.raises(discreet.DiscreetError, match="it must name the spend of each curator exactly once"):
        discreet.Ledger(folder / "0.db").verify(str(replace(merged, anchors=(one, one, three))))


def test_an_anchor_on_an_untracked_merged_release_is_refused(parts, call):
    call("merge", *FILES, "-o", "R.json")
    untracked = discreet.Release.load("R.json")
    good = str(MergedAnchor("0" * 32, ("a", "b", "c")))
    for anchor, message in (
        ("discreet-parts:00:[]", "does not name a ledger for each curator"),
        (good, "the anchor names a ledger that the conditions of the guarantee omit"),
    ):
        (parts / "copy.json").write_text(edited(untracked, anchor=anchor))
        found = call("verify", "copy.json")
        assert (found.exit_code, message in found.stderr) == (2, True), found.stderr


def test_an_edited_anchor_of_a_merged_release_is_found(counted, folder, call):
    call("merge", *FILES, "-o", "R.json")
    anchor = discreet.Release.load("R.json").anchor
    books = discreet.Ledger(folder / "1.db")
    books.verify(anchor)
    with pytest.raises(discreet.DiscreetError, match="is not a part of session"):
        books.verify(anchor.replace(counted.session.id, "0" * 32))
    event = next(line.seq for line in books.history() if line.kind == "reserve")
    with pytest.raises(discreet.DiscreetError, match="is not in this ledger"):
        books.verify(anchor.replace(f"{books.ledger_id}:{event}:", f"{books.ledger_id}:{event + 7}:"))
    with pytest.raises(discreet.DiscreetError, match="it does not name the budget that data set"):
        books.verify(anchor.replace(":epsilon=1.0", ":epsilon=0.5"))


def test_a_part_is_exported_from_its_ledger_byte_for_byte(counted, folder, call):
    (request,) = {line.request for line in discreet.Ledger(folder / "0.db").history() if line.request}
    found = call("ledger", "export", "0.db", request, "-o", "again.part")
    assert found.exit_code == 0, found.stderr
    assert (folder / "again.part").read_bytes() == (folder / "0.part").read_bytes()
    assert call("merge", "again.part", *FILES[1:], "-o", "R.json").exit_code == 0


def test_a_link_that_leads_nowhere_in_place_of_the_kept_release_is_said(folder, call):
    made = curators(folder, noise="merger")
    for place, one in enumerate(made.parts([rows(k) for k in range(3)])):
        one.save(folder / f"{place}.part")
    (folder / f"discreet-merge-{made.session.id}").symlink_to("nowhere")
    found = call("merge", *FILES, "-o", "R.json", "--merger-noise")
    assert found.exit_code == 2
    assert "it is a link, a folder or a device; nothing was drawn" in found.stderr
    assert not (folder / "R.json").exists()
