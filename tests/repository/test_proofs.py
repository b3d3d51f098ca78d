"""Every privacy claim has a proof beside it that was read against the code as it stands."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import replace

import pytest

from discreet.accounting.settings import MECHANISMS
from discreet.mechanisms.registry import mechanisms
from support import proof_gate

PROOFS = proof_gate.proofs()
MODULES = proof_gate.sources()
STORE = proof_gate.accepted()
PARAGRAPHS = ("## Claim", "## Assumptions", "## Errors do not depend on data", "## Output is of the stated form",
              "## Sensitivity", "## Privacy loss")  # fmt: skip
each_proof = pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)


@pytest.fixture(scope="module")
def code():
    """Return the definitions of the package, parsed once."""
    return proof_gate.Code(MODULES)


def test_every_mechanism_has_a_proof_of_its_name():
    assert {f"{name.replace('-', '_')}.proof.md" for name in mechanisms()} <= {proof.name for proof in PROOFS}


def test_no_two_proofs_have_the_same_name():
    assert len({proof.name for proof in PROOFS}) == len(PROOFS)


@each_proof
def test_a_proof_has_the_fixed_paragraphs_in_order(proof):
    text = proof.read_text()
    claims_privacy = "## Privacy loss" in text
    paragraphs = PARAGRAPHS if claims_privacy else ("## Claim", "## Proof")
    indices = [text.index(paragraph) for paragraph in paragraphs]
    assert indices == sorted(indices)


def test_the_proof_of_every_mechanism_bounds_its_privacy_loss():
    for name in mechanisms():
        [proof] = [proof for proof in PROOFS if proof.name == f"{name.replace('-', '_')}.proof.md"]
        assert "## Privacy loss" in proof.read_text(), name


@each_proof
def test_the_files_that_a_proof_names_exist(proof):
    assert proof_gate.named_files(proof)
    for name in proof_gate.named_files(proof):
        assert any((folder / name).exists() for folder in (proof_gate.PACKAGE, *proof_gate.OTHERS)), name


def test_every_tag_is_on_one_line_of_code_and_in_one_proof():
    in_code = Counter(tag for source in MODULES.values() for tag in proof_gate.code_tags(source))
    in_proofs = Counter(tag for proof in PROOFS for tag in set(proof_gate.tags(proof.read_text())))
    assert not [tag for tag, count in in_code.items() if count > 1], "a tag is on two lines"
    assert not [tag for tag, count in in_proofs.items() if count > 1], "a tag is in two proofs"
    assert set(in_code) == set(in_proofs)


def test_a_tag_outside_any_function_is_an_error():
    assert list(proof_gate.code_tags("def f(x):\n    return x  # [P:kept]\n")) == ["kept"]
    with pytest.raises(ValueError, match="outside any function"):
        list(proof_gate.code_tags("BOUND = 1  # [P:kept]\n"))


# -- the gate ----------------------------------------------------------------------------------------------------------


def test_every_proof_is_in_the_store():
    assert set(STORE.proofs) == {proof.name for proof in PROOFS}
    assert all(STORE.proofs.values())


def test_the_code_is_what_the_proofs_were_read_against(code):
    assert proof_gate.stale(code, STORE) == set(), "code changed: re-read these proofs, then run make proofs"


def test_every_definition_between_cells_and_noise_has_a_proof_or_a_reason(code):
    assert proof_gate.uncovered(code, STORE) == [], "re-read the proofs that rely on them, then run make proofs"


# -- negative controls -------------------------------------------------------------------------------------------------


def returning_a_constant(definition, number):
    """Copy a definition with one of its functions returning a constant at once."""
    copied = ast.parse(ast.unparse(definition.node)).body[0]
    function = functions_of(copied)[number]
    function.body.insert(bool(ast.get_docstring(function)), ast.parse("return 0.0").body[0])
    return replace(definition, node=copied)


def functions_of(node):
    return [inner for inner in ast.walk(node) if isinstance(inner, proof_gate.Function)]


@pytest.mark.full
@pytest.mark.no_cover
def test_a_constant_returned_by_any_function_that_a_proof_lists_fails_the_gate(code):
    listed = {one for entries in STORE.proofs.values() for one in entries}
    tried = 0
    for definition, digest in code.fingerprinted:
        entry = proof_gate.entry(definition, digest)
        if entry in listed:
            for number in range(len(functions_of(definition.node))):
                mutant = code.fingerprint(returning_a_constant(definition, number))
                assert proof_gate.entry(definition, mutant) not in listed, entry
                tried += 1
    assert tried > 1500


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize(("definition", "proof"), [
    ("lattice_gap", "lattice"), ("ExactSampler", "refinement"), ("scaled_residuals", "residual_sums"),
])  # fmt: skip
def test_a_mutant_in_the_code_of_a_proof_makes_it_stale(code, definition, proof):
    [one] = [one for one in code.definitions if one.name == definition]
    function = functions_of(one.node)[0]
    lines = MODULES[one.file].splitlines(keepends=True)
    first = function.body[0]
    lines.insert(first.lineno - 1, " " * first.col_offset + "return 0.0\n")
    mutant = proof_gate.Code({**MODULES, one.file: "".join(lines)})
    assert f"{proof}.proof.md" in proof_gate.stale(mutant, STORE)
    assert proof_gate.uncovered(mutant, STORE) == [f"{one.file}:{definition}"]


def fingerprints(modules):
    code = proof_gate.Code({f"exact/{name}.py": text for name, text in modules.items()})
    return {one.name: digest for one, digest in code.fingerprinted}


PLAIN = {"one": "SHARE = 0.01\n\ndef f(x):\n    '''Say it.'''\n    return x + SHARE\n"}


def test_layout_comments_docstrings_and_moves_keep_a_fingerprint():
    laid_out = {"one": "'''A module.'''\nSHARE = (  # delta\n    0.01\n)\ndef f(\n    x,\n):\n    return x + SHARE\n"}
    inside = "def f(x):\n    from discreet.exact.two import SHARE\n    return x + SHARE\n"
    by_module = "from discreet.exact import two\ndef f(x):\n    return x + two.SHARE\n"
    for same in (laid_out, *({"two": "SHARE = 0.01\n", "one": text} for text in (inside, by_module))):
        assert fingerprints(same) == fingerprints(PLAIN)


@pytest.mark.parametrize(("old", "new"), [("0.01", "0.02"), ("x + SHARE", "x - SHARE"), ("x + SHARE", "SHARE")])
def test_another_constant_or_statement_is_another_fingerprint(old, new):
    assert fingerprints({"one": PLAIN["one"].replace(old, new)}) != fingerprints(PLAIN)


def test_another_import_of_the_same_name_is_another_fingerprint():
    def using(line):
        return {"one": "BOUND = 1\n", "two": "BOUND = 2\n", "three": f"{line}\ndef f(x):\n    return BOUND + x\n"}

    own = fingerprints(using("from discreet.exact.one import BOUND"))
    other = fingerprints(using("from discreet.exact.two import BOUND"))
    assert own["f"] != other["f"]
    outside = {"one": "from math import floor\ndef f(x):\n    return floor(x)\n"}
    swapped = {"one": "from math import ceil as floor\ndef f(x):\n    return floor(x)\n"}
    assert fingerprints(outside) != fingerprints(swapped)


def test_a_definition_that_no_proof_lists_is_found_and_given_to_the_proof_that_uses_it():
    first = proof_gate.Code({"exact/one.py": "def f(x):\n    return x\n"})
    store = proof_gate.Accepted({PROOFS[0].name: [*first.entries]}, {})
    assert not proof_gate.uncovered(first, store)
    second = proof_gate.Code({"exact/one.py": "def f(x):\n    return g(x)\n\ndef g(x):\n    return x\n"})
    assert proof_gate.uncovered(second, store) == ["exact/one.py:f", "exact/one.py:g"]
    renewed, notes = proof_gate.renewed(second, store)
    assert renewed.proofs[PROOFS[0].name] == sorted(second.entries)
    assert notes == [f"exact/one.py:g -> {PROOFS[0].name}"]
    assert not proof_gate.stale(second, renewed)
    assert not proof_gate.uncovered(second, renewed)


def test_an_exempt_name_excuses_one_definition_only():
    code = proof_gate.Code({"exact/one.py": "A = 1\n", "exact/two.py": "A = 2\n"})
    assert proof_gate.uncovered(code, proof_gate.Accepted({}, {"a reason": ["A"]})) == ["exact/two.py:A"]
    assert proof_gate.uncovered(code, proof_gate.Accepted({}, {"a reason": ["A", "A"]})) == []


# -- tables by mechanism -----------------------------------------------------------------------------------------------

TABLE = "MECHANISMS = MappingProxyType({'ssp': f(1, {'share': 0.3}), 'k-norm': f(2)})\n"


def with_table(text):
    return proof_gate.Code({"exact/one.py": text, "exact/two.py": "def g():\n    return MECHANISMS['ssp']\n"})


@pytest.fixture
def read():
    """Accept a table of two mechanisms with their proofs."""
    code = with_table(TABLE)
    empty = proof_gate.Accepted({proof.name: [] for proof in PROOFS}, {"a reason": ["g"]})
    store, notes = proof_gate.renewed(code, empty)
    assert notes == ["exact/one.py:MECHANISMS[ssp] -> maps.proof.md, ssp.proof.md",
                     "exact/one.py:MECHANISMS[k-norm] -> k_norm.proof.md, maps.proof.md"]  # fmt: skip
    assert proof_gate.stale(code, store) == set()
    assert proof_gate.uncovered(code, store) == []
    return store


def test_a_new_mechanism_leaves_other_proofs_as_they_were_read(read):
    code = with_table(TABLE.replace("{'ssp'", "{'dpme': f(3), 'ssp'"))
    assert proof_gate.stale(code, read) == set()
    assert proof_gate.uncovered(code, read) == ["exact/one.py:MECHANISMS[dpme]"]
    renewed, _ = proof_gate.renewed(code, read)
    assert proof_gate.uncovered(code, renewed) == []
    assert [name for name, listed in renewed.proofs.items() if listed != read.proofs[name]] == [
        "dpme.proof.md", "maps.proof.md",
    ]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "proof"), [("0.3", "0.4", "ssp"), ("f(2)", "f(4)", "k_norm")])
def test_a_changed_entry_makes_the_proof_of_its_mechanism_stale(read, old, new, proof):
    code = with_table(TABLE.replace(old, new))
    assert proof_gate.stale(code, read) == {f"{proof}.proof.md", "maps.proof.md"}
    assert len(proof_gate.uncovered(code, read)) == 1


def test_a_removed_entry_makes_the_proof_of_its_mechanism_stale(read):
    assert proof_gate.stale(with_table(TABLE.replace(", 'k-norm': f(2)", "")), read) == {
        "k_norm.proof.md", "maps.proof.md",
    }  # fmt: skip


def test_the_proof_of_the_privacy_maps_covers_every_mechanism():
    [maps] = [proof for proof in PROOFS if proof.name == "maps.proof.md"]
    modules = {f"accounting/{account.queries[0]}.py" for account in MECHANISMS.values()}
    assert modules <= set(proof_gate.named_files(maps))
    entries = {one.split(" ")[0] for one in STORE.proofs["maps.proof.md"]}
    assert {f"MECHANISMS[{name}]" for name in MECHANISMS} <= entries
    for name in MECHANISMS:
        assert f"MECHANISMS[{name}]" in {
            one.split(" ")[0] for one in STORE.proofs[f"{name.replace('-', '_')}.proof.md"]
        }
