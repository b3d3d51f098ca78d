"""Signatures: keys as openssl writes them, opened before anything is spent."""

from __future__ import annotations

import base64
import builtins
import json
import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

import discreet
from discreet.errors import ReleaseFileError, SpecError
from discreet.privacy.spend import SpendReceipt
from discreet.releases import Release
from discreet.releases.fields import digest_of
from discreet.releases.verification import SigningKey, VerifyKey

DESIGN = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
TABLE = {"x": [0.1, 0.9], "y": [0.3, 0.4]}


def private_pem(key, password=None):
    locked = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)


def public_pem(key):
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


@pytest.fixture
def keys(tmp_path):
    key = ed25519.Ed25519PrivateKey.generate()
    (tmp_path / "key.pem").write_bytes(private_pem(key))
    (tmp_path / "pub.pem").write_bytes(public_pem(key))
    (tmp_path / "other.pem").write_bytes(public_pem(ed25519.Ed25519PrivateKey.generate()))
    return tmp_path


def signed(keys, **options):
    return discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, sign=keys / "key.pem", **options)


@pytest.mark.parametrize("options", [{}, {"robust": True}, {"mechanism": "gradient"}], ids=str)
def test_a_signed_release_is_valid_for_its_key_and_no_other(keys, options):
    release = signed(keys, **options)
    release.save(keys / "r.json")
    found = discreet.verify(keys / "r.json", key=keys / "pub.pem")
    assert found.signature == "valid"
    assert discreet.verify(release, key=str(keys / "pub.pem")).signature == "valid"
    assert discreet.verify(release).signature == "not checked"
    with pytest.raises(ReleaseFileError, match="was made with another key"):
        discreet.verify(release, key=keys / "other.pem")


def test_what_is_signed_is_the_digest_with_the_name_of_the_format_before_it(keys):
    release = signed(keys)
    key = serialization.load_pem_public_key((keys / "pub.pem").read_bytes())
    given = base64.b64decode(release.signature.removeprefix("ed25519:"))
    key.verify(given, b"discreet release 1\n" + release.digest.encode())


def test_an_edited_total_is_refused_when_signed(keys):
    body = json.loads(signed(keys).to_json())
    body["totals"][1] = str(int(body["totals"][1]) + 1)
    (keys / "r.json").write_text(json.dumps(body | {"digest": digest_of(body)}))
    assert discreet.verify(keys / "r.json").signature == "not checked"
    with pytest.raises(ReleaseFileError, match="made with another key, or for other content"):
        discreet.verify(keys / "r.json", key=keys / "pub.pem")


@pytest.mark.filterwarnings("ignore:the release file has an unknown field")
@pytest.mark.parametrize("where", [(), ("mechanism",), ("noise",)], ids=str)
def test_what_the_signature_does_not_cover_is_refused(keys, where):
    body = json.loads(signed(keys).to_json())
    table = body
    for name in where:
        table = table[name]
    table["remark"] = "epsilon is 0.001"
    (keys / "r.json").write_text(json.dumps(body | {"digest": digest_of(body)}))
    with pytest.raises(ReleaseFileError, match="unknown to this version"):
        discreet.verify(keys / "r.json", key=keys / "pub.pem")


def test_a_release_without_a_signature_is_refused_where_a_key_is_given(keys):
    release = discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6)
    assert discreet.verify(release).signature == "none"
    with pytest.raises(ReleaseFileError, match="but the release is not signed"):
        discreet.verify(release, key=keys / "pub.pem")


@pytest.mark.parametrize("text", ["rsa:abc", "ed25519:?", "ed25519:AAAA", "ed25519:" + "A" * 86 + "=="])
def test_a_forged_signature_is_refused(keys, text):
    body = json.loads(signed(keys).to_json()) | {"signature": text}
    release = Release.from_json(json.dumps(body))
    with pytest.raises(ReleaseFileError, match="signature"):
        discreet.verify(release, key=keys / "pub.pem")


def bad_keys(folder):
    key = ed25519.Ed25519PrivateKey.generate()
    (folder / "curve.pem").write_bytes(private_pem(ec.generate_private_key(ec.SECP256R1())))
    (folder / "locked.pem").write_bytes(private_pem(key, b"secret"))
    (folder / "text.pem").write_text("not a key")
    return {
        "curve.pem": "is not an Ed25519 key",
        "locked.pem": "is protected by a password",
        "text.pem": "is not a private key in PEM",
        "pub.pem": "is not a private key in PEM",
        "none.pem": "cannot read the key",
    }


def test_a_key_that_cannot_sign_costs_nothing(keys):
    spent = []

    def hook(request):
        spent.append(request)
        return SpendReceipt("here")

    for name, message in bad_keys(keys).items():
        with pytest.raises(SpecError, match=message):
            discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, spend=hook, sign=keys / name)
    with pytest.raises(SpecError, match="expected the path of a key file, got int"):
        discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, spend=hook, sign=3)
    assert spent == []


def test_a_public_key_that_is_not_there_is_called_so(keys):
    with pytest.raises(SpecError, match="cannot read the key"):
        VerifyKey.load(keys / "none.pem")


def test_a_wrong_public_key_is_refused_in_words(keys):
    curve = ec.generate_private_key(ec.SECP256R1())
    (keys / "curve.pem").write_bytes(public_pem(curve))
    messages = {
        "key.pem": "is not a public key",
        "curve.pem": "is not an Ed25519 key",
        "none.pem": r"cannot read the key .*: No such file or directory",
    }
    for name, message in messages.items():
        with pytest.raises(SpecError, match=message):
            VerifyKey.load(keys / name)


def test_what_is_recorded_is_signed(keys):
    recorded = []

    def hook(request):
        return SpendReceipt("ledger:1", commit=lambda text: recorded.append(text) or text)

    release = signed(keys, spend=hook)
    assert json.loads(recorded[0])["signature"] == release.signature
    assert discreet.verify(release, key=keys / "pub.pem").signature == "valid"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_keys_of_openssl_are_read(tmp_path):
    key, public = str(tmp_path / "key.pem"), str(tmp_path / "pub.pem")
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True, capture_output=True)
    VerifyKey.load(public).check(SigningKey.load(key).signature("sha256:abc"), "sha256:abc")


def test_without_the_library_it_is_named(keys, monkeypatch):
    plain = builtins.__import__

    def without(name, *rest):
        if name.startswith("cryptography"):
            raise ImportError(name)
        return plain(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SpecError, match=r"a signature needs 'cryptography'.*discreet\[sign\]"):
        SigningKey.load(keys / "key.pem")


def test_a_recorded_release_is_given_again_to_the_key_that_signed_it(keys):
    books = discreet.Ledger.create(keys / "books.db")
    books.declare("survey", epsilon=2.0, delta=1e-5)
    first = signed(keys, spend=books.account("survey"))
    assert signed(keys, spend=books.account("survey")) == first
    (keys / "key.pem").write_bytes(private_pem(ed25519.Ed25519PrivateKey.generate()))
    with pytest.raises(SpecError, match="without a signature by this key"):
        signed(keys, spend=books.account("survey"))
    assert books.status("survey").requests == 1
