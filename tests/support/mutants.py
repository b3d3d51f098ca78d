"""Small changes of the program that would break its promise, and the test that each of them fails.

A mutant names a function by a word of `PLACES`, so that a module can move by changing one line, and rewrites a piece of
its source in a copy of the package.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RULES = "tests/mechanisms/calibration/test_pieces_rules.py"
LATTICE = "tests/privacy/test_lattice.py"

# where the functions are: module, then the name inside it
PLACES = {
    "lattice gap": "discreet.privacy.lattice:lattice_gap",
    "what the lattice leaves": "discreet.privacy.lattice:delta_left",
    "lattice or not": "discreet.privacy.lattice:gaussian_mu",
    "moments drawn": "discreet.mechanisms.calibration.blocks:variates",
    "pieces drawn": "discreet.mechanisms.calibration.pieces:_variates",
    "gradient passes": "discreet.mechanisms.coefficients.gradient:NoisyGradientDescent.passes",
    "gradient rows": "discreet.mechanisms.coefficients.gradient:row_bound",
    "irls scores": "discreet.mechanisms.coefficients.irls:score_iterates",
    "irls moments": "discreet.mechanisms.coefficients.irls:moment_iterates",
    "irls gram": "discreet.mechanisms.coefficients.irls:noisy_gram",
    "irls cross": "discreet.mechanisms.coefficients.irls:noisy_cross",
    "score noise": "discreet.mechanisms.coefficients.iterates:noisy_score",
    "gaussian noise": "discreet.mechanisms.moments.gaussian:GaussianMoments.randomise",
    "laplace noise": "discreet.mechanisms.moments.laplace:noisy_totals",
    "ssp noise": "discreet.mechanisms.moments.ssp:with_noise",
    "adassp passes": "discreet.mechanisms.moments.adassp:AdaptiveSufficientStatistics.passes",
    "k-norm passes": "discreet.mechanisms.moments.k_norm:KNormMoments.passes",
    "wishart passes": "discreet.mechanisms.moments.wishart:WishartMoments.passes",
    "dpme noise": "discreet.mechanisms.coefficients.dpme:PerturbedHistogram.randomise",
    "frank-wolfe passes": "discreet.mechanisms.coefficients.frank_wolfe:PrivateFrankWolfe.passes",
    "output passes": "discreet.mechanisms.coefficients.output:OutputPerturbation.passes",
    "objective passes": "discreet.mechanisms.coefficients.objective:ObjectivePerturbation.passes",
    "residual noise": "discreet.mechanisms.moments.residuals:residuals_with_noise",
    "clip counts": "discreet.mechanisms.moments.clip_counts:on_product_grid",
    "gaussian sampler": "discreet.mechanisms.sampling.sampler:_gaussian",
}
LOCKSTEP = "tests/mechanisms/test_lockstep.py"
SAME_BITS = f"{LOCKSTEP}::test_two_tables_with_equal_noisy_sums_publish_the_same_bits"
# exact products of the fitted columns, and exact scores, in scaled units
EXACT_GRAM = (
    "symmetric((value / context.domain.unit**2 for value in moments.totals), size + 1)"
    "[fitted_indices(context.design)[0]:-1, fitted_indices(context.design)[0]:-1]"
)
EXACT_SCORES = "np.array([moments.totals[index] / context.domain.unit for index in fitted_indices(context.design)])"


@dataclass(frozen=True)
class Mutant:
    """A change of one function, and what is run to see it: a test file, or a test of it, and words of its cases.

    Attributes
    ----------
    place
        A word of `PLACES`.
    old, new
        A piece of its source that occurs once, and what stands there instead; without `old` it returns `new` at once.
    """

    index: str
    old: str
    new: str
    test: str
    words: str = ""


MUTANTS: dict[str, Mutant] = {
    "the lattice costs nothing": Mutant("lattice gap", "", "0.0", LATTICE),
    "the lattice costs nothing, seen by its rules": Mutant("lattice gap", "", "0.0", RULES),
    "the gap is not taken from delta": Mutant("what the lattice leaves", "(delta - gap)", "delta", LATTICE),
    "a coarse lattice is taken for a fine one": Mutant(
        "what the lattice leaves", "if gap <= LATTICE_SHARE * delta", "if gap <= delta", LATTICE
    ),
    "no rule of composition after the gap": Mutant(
        "lattice or not", "mu_from(*account(epsilon, left))", "mu_from(epsilon, left)", LATTICE
    ),
    "pieces: one release is counted": Mutant(
        "pieces drawn", "piece.entries * piece.times", "piece.entries", RULES
    ),
    "moments: one variate of each block is counted": Mutant(
        "moments drawn", "entries.get(block, 1)", "1", "tests/mechanisms/moments/test_gaussian.py", "lattice_gap"
    ),
    "gradient: no noise in the first step": Mutant(
        "gradient passes",
        "rate * noisy_score(moments.totals, context)",
        f"rate * (noisy_score(moments.totals, context) if iterates else {EXACT_SCORES})",
        SAME_BITS,
        "gradient",
    ),
    "gradient: an exact number of rows": Mutant(
        "gradient rows", "noisy = total * unit + variate", "noisy = total * unit", SAME_BITS, "gradient"
    ),
    "irls by scores: no noise in the last step": Mutant(
        "irls scores",
        "loss.bound * noisy_score(moments.totals, context)",
        "loss.bound * (noisy_score(moments.totals, context) "
        f"if len(iterates) + 1 < iteration_count(context.settings) else "
        f"{EXACT_SCORES})",
        SAME_BITS,
        "irls",
    ),
    "irls by scores: the exact Gram as preconditioner": Mutant(
        "irls scores",
        "gram = noisy_gram(moments.totals, context)",
        f"noisy_gram(moments.totals, context); gram = {EXACT_GRAM}",
        SAME_BITS,
        "irls",
    ),
    "irls by scores: a threshold nudged by data": Mutant(
        "irls scores",
        "theta.tolist(), loss.score,",
        "theta.tolist(), replace(loss, threshold=loss.threshold * (1 + 1e-15 * (moments.totals[0] % 1009))).score,",
        SAME_BITS,
        "irls",
    ),
    "irls by moments: the exact Gram from the second pass on": Mutant(
        "irls moments",
        "gram = noisy_gram(moments.totals, context)",
        f"gram = noisy_gram(moments.totals, context); gram = {EXACT_GRAM} if iterates else gram",
        SAME_BITS,
        "moment",
    ),
    "irls: no noise on one product": Mutant(
        "irls gram", "total + variate for", "total + (variate if variate != noise[-1] else 0) for", SAME_BITS, "irls"
    ),
    "irls by moments: no noise on products with the target": Mutant(
        "irls cross", "(a + b) / context", "a / context", SAME_BITS, "moment"
    ),
    "scores without noise on the last column": Mutant(
        "score noise", "(a + b) / context", "(a + (b if b != noise[-1] else 0)) / context", SAME_BITS, "gradient"
    ),
    "gaussian: no noise on the last sum": Mutant(
        "gaussian noise", "total + variate for", "total + (variate if variate != noise[-1] else 0) for", SAME_BITS,
        "gaussian",
    ),
    "laplace: no noise on sums above 0": Mutant(
        "laplace noise", "total + variate if", "total + (variate if total <= 0 else 0) if", SAME_BITS, "laplace"
    ),
    "ssp: no noise on the number of rows": Mutant(
        "ssp noise", "total + next(noise) if", 'total + next(noise) * (block != "count") if', SAME_BITS, "ssp"
    ),
    "adassp: a floating-point eigenvalue": Mutant(
        "adassp passes",
        "exact = smallest_eigenvalue(regressor_gram(moments.totals, constant=context.design.needs_sums))",
        "gram = regressor_gram(moments.totals, constant=context.design.needs_sums); "
        "linalg = __import__('numpy').linalg; "
        "exact = int(linalg.eigvalsh(__import__('numpy').array(gram, dtype=float))[0])",
        f"{LOCKSTEP}::test_the_eigenvalue_is_exact_where_doubles_are_not",
    ),
    "k-norm: noise halved": Mutant("k-norm passes", "total + part for", "total + part // 2 for", SAME_BITS, "norm"),
    "wishart: a public count that is not": Mutant(
        "wishart passes", "if context.design.count_public:", "if True:", SAME_BITS, "wishart"
    ),
    "dpme: empty cells stay empty": Mutant(
        "dpme noise", "total + variate for", "total + (variate if total else 0) for", SAME_BITS, "dpme"
    ),
    "frank-wolfe: the last vertex chosen without noise": Mutant(
        "frank-wolfe passes",
        "column, sign = first",
        "best = max(range(2 * len(scores)), key=[*scores, *(-score for score in scores)].__getitem__); "
        'chosen = best if iteration + 1 == context.law.parameters["iterations"] else chosen; column, sign = first',
        f"{LOCKSTEP}::test_frank_wolfe_publishes_a_function_of_its_choices",
    ),
    "output: no noise on the first coefficient": Mutant(
        "output passes", "value + variate for", "value + (variate if value != lattice[0] else 0) for", SAME_BITS,
        "output",
    ),
    "objective: no noise on the lattice point": Mutant(
        "objective passes",
        "[value + variate for value, variate in zip(lattice, noise, strict=True)]",
        "lattice",
        f"{LOCKSTEP}::test_objective_publishes_one_point_for_linear_terms_that_have_it_as_their_minimum",
    ),
    "objective: half of the linear term": Mutant(
        "objective passes",
        "cross - linear, linear)",
        "cross - linear // 2, linear // 2)",
        f"{LOCKSTEP}::test_objective_publishes_one_point_for_linear_terms_that_have_it_as_their_minimum",
    ),
    "robust: no noise on the last product of residuals": Mutant(
        "residual noise", "total + variate for", "total + (variate if variate != noise[-1] else 0) for",
        f"{LOCKSTEP}::test_so_do_releases_with_a_part_for_robust_errors",
    ),
    "clip counts: no noise on the last one": Mutant(
        "clip counts", "+ variate for", "+ (variate if variate != noise[-1] else 0) for",
        f"{LOCKSTEP}::test_so_do_releases_with_counts_of_clipped_rows",
    ),
    "floating-point noise in place of the exact sampler": Mutant(
        "gaussian sampler",
        "",
        "[round(__import__('random').gauss(0, sigma)) for _ in range(how_many)]",
        "tests/mechanisms/sampling/test_gaussian_sampler.py",
    ),
}  # fmt: skip


def rewritten(source: str, name: str, old: str, new: str) -> str:
    """The source of a module with one function changed."""
    body: ast.AST = ast.parse(source)
    for part in name.split("."):
        (body,) = (one for one in getattr(body, "body", ()) if getattr(one, "name", None) == part)
    assert isinstance(body, ast.FunctionDef), name
    lines = source.splitlines(keepends=True)
    first, last = body.body[0].lineno - 1, body.end_lineno or 0
    text = "".join(lines[first:last])
    if not old:
        changed = " " * body.body[0].col_offset + f"return {new}\n" + text
    else:
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {name}"
        changed = text.replace(old, new)
    return "".join([*lines[:first], changed, *lines[last:]])


def mutated_copy(folder: Path, mutant: Mutant | None) -> None:
    """A copy of the package with one function changed, or none."""
    shutil.copytree(ROOT / "src" / "discreet", folder / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
    if mutant is None:
        return
    module, name = PLACES[mutant.index].split(":")
    path = folder / Path(*module.split(".")).with_suffix(".py")
    path.write_text(rewritten(path.read_text(encoding="utf-8"), name, mutant.old, mutant.new), encoding="utf-8")


def tried(folder: Path, test: str, words: str = "") -> subprocess.CompletedProcess[str]:
    """A test run against the package in a folder."""
    loaded = (
        "import sys, pathlib, discreet, pytest; "
        f"assert pathlib.Path(discreet.__file__).is_relative_to({str(folder)!r}); sys.exit(pytest.main(sys.argv[1:]))"
    )
    options = ["-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist"]
    return subprocess.run(
        [sys.executable, "-c", loaded, *options, *(["-k", words] if words else []), test],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
