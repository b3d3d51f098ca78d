"""Every privacy claim has a proof beside it that was read against the code as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.mechanisms.registry import mechanisms
from support import proof_tags

PROOFS = proof_tags.proofs()
PARAGRAPHS = ("## Claim", "## Assumptions", "## Errors do not depend on data", "## Output is of the stated form",
              "## Sensitivity", "## Privacy loss")  # fmt: skip


def test_every_mechanism_has_a_proof_of_its_name():
    assert {name.replace("-", "_") for name in mechanisms()} <= {
        proof.name.removesuffix(".proof.md") for proof in PROOFS
    }


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.name)
def test_a_proof_has_the_fixed_paragraphs_in_order(proof):
    indices = [proof_tags.body(proof).index(paragraph) for paragraph in PARAGRAPHS]
    assert indices == sorted(indices)


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.name)
def test_tags_in_proof_and_code_are_the_same(proof):
    in_code = [mark.tag for mark in proof_tags.marks(proof)]
    in_proof = {f"P{tag}" for tag in proof_tags.TAG.findall(proof_tags.body(proof))}
    assert len(in_code) == len(set(in_code)), "a tag marks two lines"
    assert set(in_code) == in_proof


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.name)
def test_tagged_code_is_what_the_proof_was_read_against(proof):
    now = [mark.line() for mark in proof_tags.marks(proof)]
    assert proof_tags.written(proof) == now, "tagged code changed: re-read the proof, then run make proofs"


def test_no_tag_stands_in_code_that_no_proof_names():
    named = {file for proof in PROOFS for file in proof_tags.code_files(proof)}
    for file in proof_tags.PACKAGE.rglob("*.py"):
        if file not in named:
            assert not proof_tags.TAG.findall(file.read_text()), f"{file.name} has a tag but no proof names it"


def test_a_changed_function_changes_its_fingerprint(tmp_path, monkeypatch):
    proof = next(proof for proof in PROOFS if proof.name == "gaussian.proof.md")
    monkeypatch.setattr(proof_tags, "PACKAGE", tmp_path)
    copies = {}
    for name in {mark.index.split(":")[0] for mark in [*_marks_of(proof)]}:
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text((Path(proof_tags.__file__).parents[2] / "src" / "discreet" / name).read_text())
        copies[name] = target
    before = proof_tags.marks(proof)
    changed = copies["curator/rows.py"]
    changed.write_text(changed.read_text().replace("np.rint(index[1:]", "np.floor(index[1:]"))
    after = proof_tags.marks(proof)
    assert [m.tag for m, n in zip(before, after, strict=True) if m != n] == ["P1"]


def _marks_of(proof):
    package = Path(proof_tags.__file__).parents[2] / "src" / "discreet"
    original = proof_tags.PACKAGE
    proof_tags.PACKAGE = package
    try:
        return proof_tags.marks(proof)
    finally:
        proof_tags.PACKAGE = original
