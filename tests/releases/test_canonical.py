"""Canonical JSON and its digest: the vectors of RFC 8785, and what Node says."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import subprocess

import numpy as np
import pytest

from discreet.errors import ReleaseFileError
from discreet.releases.fields import canonical_json, digest_of
from support.small_releases import a_release, fitted_inside

# appendix B of RFC 8785: the bits of a double, and its text
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
# section 3.2.3: keys are sorted by their UTF-16 code units
SORTED = ["\r", "1", "\x80", "\xf6", "\u20ac", "\U0001f600", "\ufb33"]
NODE = """
const sorted = (v) => Array.isArray(v) ? v.map(sorted) : v && typeof v === 'object'
  ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])])) : v;
const text = (v) => Array.isArray(v) ? '[' + v.map(text).join(',') + ']' : v && typeof v === 'object'
  ? '{' + Object.keys(v).sort().map((k) => JSON.stringify(k) + ':' + text(v[k])).join(',') + '}' : JSON.stringify(v);
const body = JSON.parse(require('fs').readFileSync(0, 'utf8'));
delete body.digest; delete body.signature;
console.log('sha256:' + require('crypto').createHash('sha256').update(text(body), 'utf8').digest('hex'));
"""


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_of_the_rfc(bits, text):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(value).decode() == text


def test_keys_are_sorted_as_in_the_rfc():
    shuffled = dict.fromkeys(reversed(SORTED), 0)
    assert list(json.loads(canonical_json(shuffled))) == SORTED


def test_the_sample_of_the_rfc():
    sample = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '\u20ac$\x0f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical_json(sample).decode() == expected


def test_large_integers_are_doubles_as_in_every_reader_of_json():
    assert canonical_json([2**53 - 1, 10**20, True]) == b"[9007199254740991,100000000000000000000,true]"
    for bad in (10**400, float("inf"), "\ud800", object()):
        with pytest.raises(ReleaseFileError, match="has a value without a canonical JSON form"):
            canonical_json({"a": bad})


def test_seals_take_no_part_in_the_digest():
    body = json.loads(a_release().to_json())
    assert body["digest"] == digest_of(body) == digest_of(body | {"digest": "x", "signature": "y"})
    plain = {name: value for name, value in body.items() if name != "digest"}
    assert body["digest"] == "sha256:" + hashlib.sha256(canonical_json(plain)).hexdigest()


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("made", [a_release, fitted_inside])
def test_node_finds_the_same_digest(made):
    release = made()
    found = subprocess.run(["node", "-e", NODE], input=release.to_json(), capture_output=True, text=True, check=True)
    assert found.stdout.strip() == release.digest


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node_writes_random_doubles_in_the_same_way():
    bits = np.random.default_rng(1).integers(0, 2**63, 2000, dtype=np.uint64)
    values = [value for value in bits.view(np.float64).tolist() if abs(value) < float("inf")]
    body = {"schema": 1, "values": values}
    found = subprocess.run(["node", "-e", NODE], input=json.dumps(body), capture_output=True, text=True, check=True)
    assert found.stdout.strip() == digest_of(body)
