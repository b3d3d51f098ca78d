"""`discreet verify`: what it prints, and exit code 2 for every refusal, there and wherever a release is loaded."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

import discreet
from discreet.cli.main import program
from support.release_edits import edited

DESIGN = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
TABLE = {"x": [0.1, 0.9], "y": [0.3, 0.4]}


def run(*arguments):
    return CliRunner().invoke(program, [str(one) for one in arguments])


@pytest.fixture
def folder(tmp_path):
    key = ed25519.Ed25519PrivateKey.generate()
    plain = serialization.NoEncryption()
    (tmp_path / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    (tmp_path / "pub.pem").write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    (tmp_path / "t.csv").write_text("x,y\n0.1,0.3\n0.9,0.4\n")
    DESIGN.save(tmp_path / "d.toml")
    return tmp_path


def released(folder, *more):
    return run(
        "release", folder / "t.csv", "--design", folder / "d.toml", "--epsilon", "1", "--delta", "1e-6",
        "-o", folder / "r.json", *more,
    )  # fmt: skip


def test_signed_and_verified(folder):
    made = released(folder, "--sign", folder / "key.pem", "--json")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["signed"] is True
    found = run("verify", folder / "r.json", "--key", folder / "pub.pem")
    assert found.exit_code == 0
    for words in (
        "epsilon = 1, delta = 1e-06",
        "the guarantee is satisfied",
        "matches the content",
        "valid for the given key",
    ):
        assert words in found.stdout
    plain = run("verify", folder / "r.json")
    assert "pass --key to check it" in plain.stdout
    assert "the file was changed after the release" in plain.stdout
    facts = json.loads(run("verify", folder / "r.json", "--json").stdout)
    assert facts["signature"] == "not checked"


def test_a_wrong_key_spends_nothing_and_writes_nothing(folder):
    made = released(folder, "--sign", folder / "pub.pem")
    assert made.exit_code == 2
    assert not (folder / "r.json").exists()


@pytest.mark.parametrize("command", ["verify", "fit", "report", "predict", "path"])
@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ("gaussian", "the guarantee is stronger than the noise"),
        ("staged", "but the released numbers give|the guarantee is stronger than the noise"),
    ],
)
def test_a_forged_release_has_exit_code_2_wherever_it_is_loaded(folder, command, mechanism, message):
    release = discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, mechanism=mechanism)
    (folder / "r.json").write_text(edited(release, noise__sigma__cross="5"))
    more = {"report": ("-o", folder / "r.html"), "predict": (folder / "t.csv", "-o", folder / "p.csv")}.get(command, ())
    found = run(command, folder / "r.json", *more)
    assert found.exit_code == 2
    assert re.search(message, found.stderr)


def test_without_a_signature_a_key_refuses(folder):
    assert released(folder).exit_code == 0
    assert "not signed, so tampering would go undetected" in run("verify", folder / "r.json").stdout
    assert run("verify", folder / "r.json", "--key", folder / "pub.pem").exit_code == 2
    assert run("verify", folder / "none.json").exit_code == 2


def test_the_ledger_that_a_release_names_is_said_not_to_be_checked(folder):
    assert released(folder).exit_code == 0
    assert (
        "\nLedger      untracked: repeated releases of the table are not counted\n"
        in run("verify", folder / "r.json").stdout
    )
    ledger = discreet.Ledger.create(folder / "books.db")
    ledger.declare("people", epsilon=1.0, delta=1e-6)
    made = discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, spend=ledger.account("people"))
    for anchor in (made.anchor, "9" * 5000):
        (folder / "r.json").write_text(edited(made, anchor=anchor))
        found = run("verify", folder / "r.json")
        assert found.exit_code == 0
        assert f"\nLedger      not checked: '{anchor[:50]}" in found.stdout
        assert "9" * 100 not in found.stdout
        assert json.loads(run("verify", folder / "r.json", "--json").stdout)["anchor"] == anchor
