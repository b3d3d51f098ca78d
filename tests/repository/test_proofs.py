"""Every privacy claim has a proof beside it that was read against the code as it stands."""

from __future__ import annotations

import re
from itertools import islice

import pytest

from discreet.mechanisms.registry import mechanisms
from support import proof_tags

PROOFS = proof_tags.proofs()
MODULES = proof_tags.sources()
PARAGRAPHS = ("## Claim", "## Assumptions", "## Errors do not depend on data", "## Output is of the stated form",
              "## Sensitivity", "## Privacy loss")  # fmt: skip
# lemmas that are not about a mechanism, though they are beside one
LEMMAS = {
    "mechanisms/moments/clip_counts.proof.md",
    "mechanisms/coefficients/ball_ridge.proof.md",
    "mechanisms/coefficients/huber_minimum.proof.md",
}
SECOND_SENTENCE = re.compile(r".\w[.?!] (?=[A-Z])")
# modules of the trusted rooms that no promise rests on
NO_PROOF_NEEDED = {
    "mechanisms/registry.py": "names to mechanisms, each of which has its proof",
    "mechanisms/choice.py": "picks a mechanism from public numbers",
    "mechanisms/catalogue.py": "the table of mechanisms that is printed",
    "losses/fields.py": "types of single values in a release file",
    "losses/law_reading.py": "reads a stated law, from which the loss is computed anew; no release calls it",
    "privacy/composition.py": "adds up what several releases cost; no release calls it",
    **{
        f"curator/inspection/{name}.py": "exact counts for the curator; an import contract keeps them in"
        for name in ("reading", "result", "tally", "words")
    },
    "design/bounds.py": "gives declarations a form that the design checks; reads no cell",
    "design/scales.py": "the way back to original units, for analysts; a release asks only whether there is one",
    "tables/files/blank_design.py": "writes a design from names and types; reads no cell",
    "tables/files/proposals.py": "a proposal for a person, from the header line; no release calls it",
}


def name_of(proof):
    return proof.relative_to(proof_tags.PACKAGE).as_posix()


each_proof = pytest.mark.parametrize("proof", PROOFS, ids=name_of)


def test_every_mechanism_has_a_proof_of_its_name():
    assert {name.replace("-", "_") for name in mechanisms()} <= {
        proof.name.removesuffix(".proof.md") for proof in PROOFS
    }


@each_proof
def test_a_proof_has_the_fixed_paragraphs_in_order(proof):
    promise = proof.parent.name in ("moments", "coefficients") and name_of(proof) not in LEMMAS
    paragraphs = PARAGRAPHS if promise or proof.stem == "primitives.proof" else ("## Claim", "## Proof")
    indices = [proof_tags.body(proof).index(paragraph) for paragraph in paragraphs]
    assert indices == sorted(indices)


@each_proof
def test_a_proof_has_one_sentence_to_a_line_and_no_line_over_120(proof):
    lines = proof.read_text().splitlines()
    assert not [line for line in lines if len(line) > 120]
    assert not [line for line in lines if SECOND_SENTENCE.search(line)]


def test_a_second_sentence_on_a_line_is_seen():
    assert SECOND_SENTENCE.search("It ends. The next begins.")
    assert not SECOND_SENTENCE.search("*Mean.* Each number (Bun et al. 2016, Theorem 1.3) counts.")


@pytest.mark.no_cover
@each_proof
def test_tags_in_proof_and_code_are_the_same(proof):
    in_code = [mark.tag for mark in proof_tags.marks(proof, MODULES)]
    in_proof = set(proof_tags.TAG.findall(proof_tags.body(proof)))
    assert len(in_code) == len(set(in_code)), "a tag marks two lines"
    assert set(in_code) == in_proof


@pytest.mark.no_cover
def test_a_tag_has_one_proof():
    tags = [mark.tag for proof in PROOFS for mark in proof_tags.marks(proof, MODULES)]
    assert len(tags) == len(set(tags))


@pytest.mark.no_cover
@each_proof
def test_the_list_of_tags_says_where_they_are(proof):
    now = [mark.line() for mark in proof_tags.marks(proof, MODULES)]
    assert proof_tags.written_marks(proof) == now, "tagged lines moved: run make proofs"


def test_the_code_is_what_the_proofs_were_read_against():
    changed = [name_of(proof) for proof in proof_tags.stale(MODULES)]
    assert not changed, "code changed: re-read these proofs, then run make proofs"


@each_proof
def test_a_proof_names_all_modules_that_its_code_calls(proof):
    leans_on = proof_tags.leans_on(proof)
    assert leans_on <= set(MODULES), "a file that does not exist"
    missing = proof_tags.reached(leans_on, MODULES) - leans_on
    assert not missing, "name them in `Code:`, or a proof that does in `Stands on:`"


def test_a_module_reached_by_a_lazy_import_or_one_for_types_counts():
    modules = {
        "exact/a.py": "def f():\n    from discreet.exact import b\n",
        "exact/b.py": "if TYPE_CHECKING:\n    from discreet.releases import Law\n",
        "releases/__init__.py": "from discreet.losses.law import Law\nimport discreet.releases.release\n",
        "losses/law.py": "import discreet.exact.c\n",
        "exact/c.py": "",
        "exact/d.py": "",
        "releases/release.py": "import discreet.exact.d\n",
    }
    assert proof_tags.reached(["exact/a.py"], modules) == {"exact/a.py", "exact/b.py", "losses/law.py", "exact/c.py"}


def test_every_module_between_cells_and_noise_is_named_by_a_proof():
    named = {file for proof in PROOFS for file in proof_tags.code_files(proof)}
    trusted = {file for file in MODULES if file.startswith(proof_tags.TRUSTED) and not file.endswith("__init__.py")}
    assert trusted - named == set(NO_PROOF_NEEDED)


def test_no_tag_stands_in_code_that_no_proof_names():
    named = {file for proof in PROOFS for file in proof_tags.code_files(proof)}
    for file in set(MODULES) - named:
        assert not proof_tags.TAG.findall(MODULES[file]), f"{file} has a tag but no proof names it"


# -- negative controls: a function that returns a constant, anywhere in what a proof leans on, fails the gate ---------


def returning_a_constant(source, function):
    """The module with one function that does nothing but return a constant."""
    lines = source.splitlines(keepends=True)
    first = function.body[0]
    return "".join([*lines[: first.lineno - 1], " " * first.col_offset + "return 0.0\n", *lines[first.lineno - 1 :]])


def mutants_of(file):
    for name, function in proof_tags.functions(MODULES[file]):
        if function.body[0].lineno > function.lineno:  # `def f(self): ...` of a protocol does nothing to change
            yield name, returning_a_constant(MODULES[file], function)


@pytest.mark.no_cover
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("file", sorted({file for proof in PROOFS for file in proof_tags.code_files(proof)}))
def test_a_constant_returned_by_any_function_that_a_proof_leans_on_fails_the_gate(file, step):
    """The first function of every file and every fourth after it; all of them in make slow."""
    naming = [proof for proof in PROOFS if file in proof_tags.code_files(proof)]
    for name, mutant in islice(mutants_of(file), 0, None, step):
        assert proof_tags.stale({**MODULES, file: mutant}) == naming, name


def test_functions_that_no_proof_leans_on_do_not_fail_it():
    outside = sorted(file for file in MODULES if file.startswith(("analyst/", "pages/", "cli/")))
    mutants = [(file, mutant) for file in outside[::9] for _, mutant in mutants_of(file)]
    assert len(mutants) > 20
    for file, mutant in mutants:
        assert not proof_tags.stale({**MODULES, file: mutant}), file


def test_layout_comments_and_docstrings_do_not_change_a_fingerprint_and_constants_do():
    plain = "SHARE = 0.01\n\n\ndef f(x):\n    '''Say it.'''\n    return x + 1\n"
    same = "'''A module.'''\nSHARE = (  # of delta\n    0.01\n)\ndef f(\n    x,\n):\n    return x + 1\n"
    assert proof_tags.fingerprint(same) == proof_tags.fingerprint(plain)
    for old, new in (("0.01", "0.02"), ("x + 1", "x - 1"), ("x + 1", "x + 1.0")):
        assert proof_tags.fingerprint(plain.replace(old, new)) != proof_tags.fingerprint(plain)


@pytest.mark.parametrize("function", [
    "privacy/lattice.py:lattice_gap", "mechanisms/calibration/pieces.py:_variates",
    "privacy/lattice.py:lattice_curve", "mechanisms/sampling/sampler.py:_gaussian", "curator/kept_rows.py:KeptRows",
    "tables/encoder.py:", "design/domain.py:", "mechanisms/coefficients/robust_loss.py:RobustLoss.score",
    "curator/sums/residuals.py:scaled_residuals", "mechanisms/coefficients/irls.py:score_iterates",
    "mechanisms/coefficients/irls.py:moment_iterates", "mechanisms/moments/gaussian.py:GaussianMoments.passes",
    "mechanisms/coefficients/gradient.py:NoisyGradientDescent.passes",
])  # fmt: skip
def test_what_the_promise_rests_on_most_is_among_the_functions_that_fail_it(function):
    file, _, start = function.partition(":")
    assert any(file in proof_tags.code_files(proof) for proof in PROOFS)
    assert any(name.startswith(start) for name, _ in proof_tags.functions(MODULES[file])), function
