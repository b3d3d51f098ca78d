"""Small changes of the program that would break its promise, and the test that each of them fails.

A mutant names a function by a word of `PLACES`, so that a module can move by changing one line, and rewrites a piece of
its source in a copy of the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CALIBRATION = "tests/mechanisms/calibration"
SENSITIVITY = "tests/accounting/sensitivity"
RULES = f"{CALIBRATION}/test_pieces_rules.py"
PURE_SCORES = "tests/mechanisms/coefficients/test_pure_scores.py"
WEIGHTED_WISHART = "tests/mechanisms/coefficients/test_wishart_moments.py"
LATTICE = "tests/privacy/test_lattice.py"
STAGED = "tests/mechanisms/moments/test_staged.py"
STAGED_ROWS = "tests/curator/sums/test_staged_rows.py"
EVERY_SUM = "tests/curator/sums/test_every_sum.py"

# where the functions are: module, then the name inside it
PLACES = {
    "lattice gap": "discreet.privacy.lattice:lattice_gap",
    "what the lattice leaves": "discreet.privacy.lattice:delta_left",
    "lattice or not": "discreet.privacy.lattice:gaussian_mu",
    "pieces drawn": "discreet.mechanisms.calibration:_variates",
    "gradient passes": "discreet.mechanisms.gradient:NoisyGradientDescent.passes",
    "gradient rows": "discreet.mechanisms.gradient:row_bound",
    "irls scores": "discreet.mechanisms.irls:score_iterates",
    "irls moments": "discreet.mechanisms.irls:moment_iterates",
    "irls gram": "discreet.mechanisms.irls:noisy_gram",
    "irls cross": "discreet.mechanisms.irls:noisy_cross",
    "score noise": "discreet.mechanisms.irls:noisy_score",
    "family of noise": "discreet.mechanisms.irls:variates",
    "pure scores": "discreet.mechanisms.irls:pure_score_distribution",
    "pure score sensitivity": "discreet.accounting.iterations:score_l1_sensitivity",
    "weighted wishart": "discreet.mechanisms.irls:noisy_moments",
    "weighted shift": "discreet.accounting.iterations:weighted_row_shift",
    "gaussian noise": "discreet.mechanisms.gaussian:plus_noise",
    "laplace noise": "discreet.mechanisms.laplace:noisy_totals",
    "ssp noise": "discreet.mechanisms.ssp:with_noise",
    "adassp passes": "discreet.mechanisms.adassp:AdaptiveSufficientStatistics.passes",
    "k-norm passes": "discreet.mechanisms.k_norm:KNormMoments.passes",
    "wishart passes": "discreet.mechanisms.wishart:WishartMoments.passes",
    "dpme noise": "discreet.mechanisms.dpme:PerturbedHistogram.randomise",
    "frank-wolfe passes": "discreet.mechanisms.frank_wolfe:PrivateFrankWolfe.passes",
    "output passes": "discreet.mechanisms.output:OutputPerturbation.passes",
    "objective passes": "discreet.mechanisms.objective:ObjectivePerturbation.passes",
    "residual noise": "discreet.mechanisms.gaussian:residuals_with_noise",
    "clip counts": "discreet.mechanisms.gaussian:on_product_grid",
    "gaussian sampler": "discreet.mechanisms.sampler:_gaussian",
    "laplace sampler": "discreet.mechanisms.sampler:laplace_variates",
    "rounded scale": "discreet.mechanisms.sampler:rounded_up",
    "coin": "discreet.mechanisms.sampler:bernoulli",
    "missing cells": "discreet.tables.cells:settle_missing",
    "scaled cells": "discreet.tables.cells:write_scaled",
    "box": "discreet.design.domain:RowDomain.box_norm2",
    "ball": "discreet.design.domain:RowDomain.ball_norm2",
    "domain of a design": "discreet.design.domain:RowDomain.of",
    "scaled column": "discreet.tables.cells:_write_column",
    "finite column": "discreet.tables.cells:_surely_finite",
    "coded rows": "discreet.curator.summing:coding_of",
    "shrunk rows": "discreet.exact.arrays:shrink_to_ball",
    "rows from disk": "discreet.curator.buffered_rows:KeptRows._from_disk",
    "rows set aside": "discreet.curator.buffered_rows:KeptRows.add",
    "whole persons": "discreet.curator.buffered_rows:whole_persons",
    "rows of a person": "discreet.curator.individuals:IndividualCap.keep",
    "rows of persons on disk": "discreet.curator.individuals:IndividualCap._sorted_on_disk",
    "rows of persons in memory": "discreet.curator.individuals:ordered_rows",
    "ties in memory": "discreet.curator.individuals:_settle_ties",
    "digest of a row": "discreet.curator.individuals:row_digests",
    "chunk of products": "discreet.curator.sums.gram:chunk_rows",
    "sum of products": "discreet.curator.sums.gram:ExactGram.matrix",
    "product of a chunk": "discreet.curator.sums.gram:ExactGram._multiply",
    "flush of products": "discreet.curator.sums.gram:ExactGram._flush",
    "flush of products by level": "discreet.curator.sums.gram:LevelGram._flush",
    "flush of weighted products": "discreet.curator.sums.gram:GramWithWeights._flush",
    "flush of huber sums": "discreet.curator.sums.huber:HuberSums._flush",
    "sum of clipped scores": "discreet.curator.sums.scaled_rows:ClippedScores.add",
    "sums by level": "discreet.curator.sums.gram:LevelGram.totals",
    "score vectors": "discreet.curator.sums.staged_rows:StagedScores._vectors",
    "products of scores": "discreet.mechanisms.staged:_score_products_with_noise",
    "sensitivity of products of scores": "discreet.accounting.staged_queries:product_query",
    "residuals": "discreet.curator.sums.residuals:scaled_residuals",
    "coefficients used": "discreet.curator.sums.residuals:usable",
    "residual rows": "discreet.curator.sums.residuals:ResidualGram.rows",
    "weighted rows": "discreet.curator.sums.residuals:_ResidualRows.weighted",
    "sum of scores": "discreet.curator.sums.residuals:ScoreSum.add",
    "refined solution": "discreet.exact.linear:Equations._refined",
    "limbs": "discreet.exact.linear:_Doubles.__init__",
    "places": "discreet.curator.individuals:Places.of",
    "cell counts": "discreet.curator.sums.cell_counts:CellCounts.add",
    "huber sums": "discreet.curator.sums.huber:HuberSums._parts",
    "robust score": "discreet.mechanisms.irls:RobustLoss.score",
    "solver of ridge": "discreet.mechanisms.output:_Problem.certified",
    "solver of huber": "discreet.mechanisms.objective:_Precision.certified",
    "entries of moments": "discreet.accounting.queries:MomentsQuery.blocks",
    "sum for the ratio": "discreet.accounting.moment_queries:ratio_query",
    "loss of a query": "discreet.accounting.queries:VectorQuery.squared_loss",
    "promise kept": "discreet.accounting.privacy_loss:keeps",
    "loss of a row": "discreet.accounting.moments:add_remove_loss",
    "loss of a person": "discreet.accounting.moments:weighted_loss",
    "replaced row": "discreet.accounting.moments:_norm2_beside",
    "l1 sensitivity": "discreet.accounting.moments:l1_sensitivity",
    "joint scale": "discreet.mechanisms.calibration:block_sigmas",
    "steps": "discreet.mechanisms.calibration:in_steps",
    "mu": "discreet.privacy.gaussian_dp:_mu_from",
    "rho": "discreet.privacy.gaussian_dp:rho_from",
    "rounding down": "discreet.exact.rounding:down",
    "eigenvalue": "discreet.exact.linear:smallest_eigenvalue",
}
LOCKSTEP = "tests/mechanisms/test_lockstep.py"
SAME_BITS = f"{LOCKSTEP}::test_two_tables_with_equal_noisy_sums_publish_the_same_bits"
# exact products of the fitted columns, and exact scores, in scaled units
EXACT_GRAM = (
    "symmetric((value / moments.unit for value in moments.values), size + 1)"
    "[fitted_indices(context.design)[0]:-1, fitted_indices(context.design)[0]:-1]"
)
EXACT_SCORES = "np.array([scores.values[index] / scores.unit for index in fitted_indices(context.design)])"


@dataclass(frozen=True)
class Mutant:
    """A change of one function, and what is run to see it: a test file, or a test of it, and words of its cases.

    Attributes
    ----------
    index
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
    "squared targets with half the noise that their weight asks for": Mutant(
        "joint scale",
        "math.sqrt(getattr(weights, name))",
        "math.sqrt(getattr(weights, name) * (4 if name == 'target_square' else 1))",
        f"{CALIBRATION}/test_blocks.py",
        "squared_targets",
    ),
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
        "pieces drawn", "query.times * (", "(", RULES
    ),
    "moments: one variate of each block is counted": Mutant(
        "entries of moments", '"cross": x', '"cross": 1', "tests/mechanisms/calibration/test_blocks.py", "lattice_gap"
    ),
    "staged: score vectors beyond their bound": Mutant(
        "score vectors", "shrink_to_ball(vectors, one**2)", "vectors", STAGED_ROWS, "at_most_one_bound"
    ),
    "staged: no noise on one product of scores": Mutant(
        "products of scores",
        "total + variate for",
        "total + (variate if variate != noise[-1] else 0) for",
        STAGED,
        "unrelated_tables",
    ),
    "staged: products of scores of a replaced row as of an added one": Mutant(
        "sensitivity of products of scores", "MomentSensitivities.of(design).gram", "1.0", STAGED, "what_the_proof_says"
    ),
    "gradient: no noise in the first step": Mutant(
        "gradient passes",
        "rate * noisy_score(scores, context)",
        f"rate * (noisy_score(scores, context) if iterates else {EXACT_SCORES})",
        SAME_BITS,
        "gradient",
    ),
    "gradient: an exact number of rows": Mutant(
        "gradient rows", "unit)[0] + variate", "unit)[0]", SAME_BITS, "gradient"
    ),
    "irls by scores: no noise in the last step": Mutant(
        "irls scores",
        "loss.bound * noisy_score(scores, context)",
        "loss.bound * (noisy_score(scores, context) "
        f"if len(iterates) + 1 < iteration_count(context.settings) else "
        f"{EXACT_SCORES})",
        SAME_BITS,
        "irls",
    ),
    "irls by scores: the exact Gram as preconditioner": Mutant(
        "irls scores",
        "gram = noisy_gram(moments, context)",
        f"noisy_gram(moments, context); gram = {EXACT_GRAM}",
        SAME_BITS,
        "irls",
    ),
    "irls by scores: a threshold nudged by data": Mutant(
        "irls scores",
        "theta.tolist(), loss.score,",
        "theta.tolist(), replace(loss, threshold=loss.threshold * (1 + 1e-15 * (moments.values[0] % 1009))).score,",
        SAME_BITS,
        "irls",
    ),
    "irls by moments: the exact Gram from the second pass on": Mutant(
        "irls moments",
        "gram = noisy_gram(moments, context)",
        f"gram = noisy_gram(moments, context); gram = {EXACT_GRAM} if iterates else gram",
        SAME_BITS,
        "moment",
    ),
    "irls: no noise on one product": Mutant(
        "irls gram", "total + variate for", "total + (variate if variate != noise[-1] else 0) for", SAME_BITS, "irls"
    ),
    "irls by moments: no noise on products with the target": Mutant(
        "irls cross", "(a + b) / context", "a / context", SAME_BITS, "moment"
    ),
    "irls without delta: normal noise": Mutant(
        "family of noise", "context.sampler.laplace(scales) if pure", "context.sampler.draw(scales) if pure",
        PURE_SCORES, "noise_is_laplace",
    ),
    "irls without delta: one pass is charged": Mutant(
        "pure scores", "iterations * scores.laplace_sensitivity", "scores.laplace_sensitivity", PURE_SCORES, "spends"
    ),
    "irls without delta: a replaced row counts once": Mutant(
        "pure score sensitivity", 'neighbours == "add-remove" else 2', 'neighbours == "add-remove" else 1', PURE_SCORES,
        "replaced_row",
    ),
    "irls by wishart: no noise on one product": Mutant(
        "weighted wishart", "total + variate for", "total + (variate if variate != noise[-2] else 0) for", SAME_BITS,
        "wishart",
    ),
    "irls by wishart: the target is left out": Mutant(
        "weighted shift", "+ Fraction(unit2, target**2)", "", WEIGHTED_WISHART, "longer or delta"
    ),
    "scores without noise on the last column": Mutant(
        "score noise", "(a + b) / context", "(a + (b if b != noise[-1] else 0)) / context", SAME_BITS, "gradient"
    ),
    "gaussian: no noise on the last sum": Mutant(
        "gaussian noise", "else total + variate", "else total + (variate if variate != noise[-1] else 0)", SAME_BITS,
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
        "exact = smallest_eigenvalue(regressor_gram(products, constant=context.design.needs_sums))",
        "gram = regressor_gram(products, constant=context.design.needs_sums); "
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
        'chosen = best if iteration + 1 == context.distribution.parameters["iterations"] else chosen; '
        "column, sign = first",
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
    "exponential noise in place of the exact Laplace sampler": Mutant(
        "laplace sampler",
        "",
        "[round(__import__('random').expovariate(1 / scale)) * __import__('random').choice((-1, 1)) "
        "for _ in range(how_many)]",
        "tests/mechanisms/sampling/test_sampler.py",
    ),
    "a scale rounded to the nearest double": Mutant(
        "rounded scale", "", "int(float(sigma))", "tests/mechanisms/sampling/test_sampler.py"
    ),
    "a coin from a double": Mutant(
        "coin", "", "__import__('random').random() < chance", "tests/mechanisms/sampling/test_coins.py"
    ),
    "encoder: a missing cell stays": Mutant(
        "missing cells", "np.isfinite(values)", "np.isfinite(values) | np.isnan(values)", "tests/tables/test_encoder.py"
    ),
    "encoder: values beyond their bounds": Mutant(
        "scaled cells", "np.clip(block, -unit, unit, out=block)", "pass", "tests/tables/test_encoder.py"
    ),
    "encoder: a scale that other rows decide": Mutant(
        "scaled column",
        "unit / column.half",
        "unit / max(column.half, float(np.abs(values - column.mid).max(initial=0.0)))",
        "tests/tables/test_encoder.py",
    ),
    "encoder: two indicators of a category at once": Mutant(
        "scaled column", "values == code", "values >= code", "tests/tables/test_encoder.py"
    ),
    "encoder: a missing cell is not looked for": Mutant(
        "finite column", "np.add.reduce(values)", "np.nansum(values)", "tests/tables/test_encoder.py"
    ),
    "domain: one-hot blocks have no length": Mutant(
        "box", "self.numeric + self.boolean + self.blocks", "self.numeric + self.boolean", "tests/design/test_domain.py"
    ),
    "domain: the ball rounded up": Mutant("ball", "math.floor(", "1 + math.floor(", "tests/design/test_domain.py"),
    "domain: no target is negative": Mutant(
        "domain of a design",
        "isinstance(design.columns[design.target], Boolean)",
        "True",
        "tests/design/test_domain.py",
    ),
    "rows: not rounded to the grid": Mutant(
        "scaled cells", "np.rint(block, out=block)", "pass", "tests/design/test_domain.py"
    ),
    "rows: rounding may leave the ball": Mutant(
        "shrunk rows",
        "np.where(still_outside, np.trunc(scaled), rounded)",
        "rounded",
        "tests/exact/test_ball.py",
    ),
    "kept rows: every row is a person": Mutant(
        "rows from disk", "cells[0] == 1", "cells[0] >= 0", "tests/curator/test_kept_rows.py"
    ),
    "kept rows: the last row is lost": Mutant(
        "rows from disk", "chunk[1:] = cells[1:]", "chunk[1:] = cells[1:]; chunk[1:, -1] = 0",
        "tests/curator/test_kept_rows.py",
    ),
    "kept rows: no value is negative": Mutant(
        "rows set aside", "np.add(values[:, source]", "np.add(abs(values[:, source])", "tests/curator/test_kept_rows.py"
    ),
    "kept rows: the end of a chunk is the end of a person": Mutant(
        "whole persons", "if starts.size else (len(first), len(first))", "if starts.size > 1 else (0, 0)",
        "tests/curator/test_kept_rows.py",
    ),
    "persons: one row too many counts": Mutant(
        "rows of a person", "place < self._max_rows", "place <= self._max_rows", "tests/curator/test_persons.py"
    ),
    "persons: rows that are dropped take a seat": Mutant(
        "rows of persons on disk", '"kept DESC", ', "", "tests/curator/test_persons.py", "wherever"
    ),
    "persons: rows that are dropped take a seat in memory": Mutant(
        "rows of persons in memory", "key |= ~kept", "key |= kept", "tests/curator/test_persons.py", "seat"
    ),
    "persons: the place of a row in the table breaks ties": Mutant(
        "ties in memory", "rows[np.lexsort(by)]", "rows", "tests/curator/test_person_order.py", "long"
    ),
    "persons: which rows count depends on the batch": Mutant(
        "digest of a row", "np.full(values.shape[1], key, dtype=np.uint64)",
        "np.arange(values.shape[1], dtype=np.uint64) + np.uint64(key)", "tests/curator/test_persons.py",
    ),
    "sums: a chunk beyond exact doubles": Mutant(
        "chunk of products", "min(wanted, exact, fits)", "min(wanted, fits)", "tests/curator/sums/test_gram.py"
    ),
    "sums: one limb taken for the other": Mutant(
        "sum of products", "(cross + cross.T)", "(cross + cross)", "tests/curator/sums/test_gram.py"
    ),
    "sums: a block that is not mirrored": Mutant(
        "product of a chunk", "self._product[:half, half:].T", "0.0", "tests/curator/sums/test_gram.py"
    ),
    "sums: a level counted as another one": Mutant(
        "sums by level", "counts[codes]", "counts[: len(codes)]", "tests/curator/sums/test_level_gram.py"
    ),
    "sums: products beyond 64 bits": Mutant("flush of products", "self._flush_after", "2**40", EVERY_SUM),
    "sums: products by level beyond 64 bits": Mutant(
        "flush of products by level", "self._flush_after", "2**40", EVERY_SUM
    ),
    "sums: weighted products beyond 64 bits": Mutant(
        "flush of weighted products", "_BEFORE_FLUSH", "2 ** 12", EVERY_SUM
    ),
    "sums: scores of Huber's loss beyond 64 bits": Mutant(
        "flush of huber sums", "_BLOCKS_UNTIL_FLUSH", "2 ** 12", EVERY_SUM
    ),
    "sums: clipped scores of 64 bits": Mutant(
        "sum of clipped scores",
        "[total + int(part) for total, part in zip(self._sums, summed, strict=True)]",
        "np.add(self._sums, np.array(summed, dtype=np.int64))",
        EVERY_SUM,
    ),
    "rows: levels where a ball shrinks rows": Mutant(
        "coded rows", "domain.shrinks or design.searched", "design.searched", "tests/curator/test_coded_rows.py"
    ),
    "residuals by a matrix product": Mutant(
        "residuals", "", "chunk[-1] / unit - np.asarray(coefficients) @ (chunk[:-1] / unit)",
        "tests/curator/sums/test_residuals.py",
    ),
    "residuals: coefficients of any size": Mutant(
        "coefficients used", "np.clip(finite, -_LARGEST_COEFFICIENT, _LARGEST_COEFFICIENT)", "finite",
        "tests/curator/sums/test_residuals.py",
    ),
    "residuals: not clipped": Mutant(
        "residual rows", "-1.0, 1.0", "-2.0, 2.0", "tests/curator/sums/test_residuals.py"
    ),
    "scores: a weight that is no number": Mutant(
        "weighted rows", "weight[unknown] = 0.0", "weight[unknown] = 2.0", "tests/curator/sums/test_scores.py"
    ),
    "scores: a sum of single precision": Mutant(
        "sum of scores", ".sum(axis=1)", ".sum(axis=1, dtype=np.float32)", "tests/curator/sums/test_scores.py"
    ),
    "equations: any residual will do": Mutant(
        "refined solution",
        "max(map(abs, residual)) <= allowed",
        "residual is not None",
        "tests/exact/test_equations.py",
    ),
    "equations: limbs beyond exact doubles": Mutant(
        "limbs", "_EXACT_BITS - len(matrix).bit_length()", "_EXACT_BITS + 5", "tests/exact/test_equations.py"
    ),
    "persons: places begin anew with every batch": Mutant(
        "places", "self._last is None or [column[0] for column in person] != self._last", "True",
        "tests/curator/test_persons.py",
    ),
    "scores: a weight above one": Mutant(
        "weighted rows", "self._least, 1.0)", "2 * self._least, 2.0)", "tests/curator/sums/test_scores.py"
    ),
    "cells: a row that counts twice": Mutant(
        "cell counts", "+= times", "+= times + (times > 1)", "tests/curator/sums/test_cells.py"
    ),
    "huber: scores beyond the threshold": Mutant(
        "huber sums",
        "np.clip(head, -self._threshold, self._threshold, ",
        "np.clip(head, -2 * self._threshold, 2 * self._threshold, ",
        "tests/curator/sums/test_huber.py",
    ),
    "robust loss: scores beyond their bound": Mutant(
        "robust score", "np.clip(ratio, -1.0, 1.0)", "ratio", "tests/mechanisms/coefficients/test_robust_loss.py"
    ),
    "robust loss: a threshold that other residuals move": Mutant(
        "robust score",
        "residual / self.threshold",
        "residual / (self.threshold * (1 + 1e-12 * float(np.abs(residual).max(initial=0.0))))",
        "tests/mechanisms/coefficients/test_robust_loss.py",
    ),
    "output: a point that is not certified": Mutant(
        "solver of ridge", "", "True", "tests/mechanisms/coefficients/test_ball_ridge.py"
    ),
    "objective: a point that is not certified": Mutant(
        "solver of huber", "", "True", "tests/mechanisms/coefficients/test_huber_minimum.py"
    ),
    "forwards: the ratio is free": Mutant(
        "sum for the ratio", "ratio_sensitivity()", "1e-9",
        "tests/accounting/maps/test_gaussian.py", "clipped_rows_are_counted",
    ),
    "forwards: one step counts": Mutant(
        "loss of a query", "self.times * (", "(", "tests/accounting/maps/test_iterative.py",
        "twice_the_passes",
    ),
    "forwards: every Gaussian promise is kept": Mutant(
        "promise kept", "smaller(loss, epsilon) <= most", "True", "tests/accounting/test_promise.py",
        "last_bits",
    ),
    "sensitivity: the square of the target is free": Mutant(
        "loss of a row", " + w.target_square)", ")", f"{SENSITIVITY}/test_l2_sensitivity.py"
    ),
    "sensitivity: persons with several rows pay for the root": Mutant(
        "loss of a person", "rows_per_unit**2", "rows_per_unit", f"{SENSITIVITY}/test_l2_sensitivity.py", "person"
    ),
    "sensitivity: an indicator saves twice its square": Mutant(
        "loss of a row", "r2 * r2 - copied", "r2 * r2 - 2 * copied", f"{SENSITIVITY}/test_l2_sensitivity.py", "added"
    ),
    "sensitivity: a row is not exchanged for an absent one": Mutant(
        "loss of a person",
        "max(replace_loss(domain, weights, close), add_remove_loss(domain, weights, copied))",
        "replace_loss(domain, weights, close)",
        f"{SENSITIVITY}/test_l2_sensitivity.py",
        "dropping",
    ),
    "sensitivity: exchanged rows are shorter": Mutant(
        "replaced row",
        "3.0 * (domain.numeric + domain.signed_blocks)",
        "2.0 * (domain.numeric + domain.signed_blocks)",
        f"{SENSITIVITY}/test_l2_sensitivity.py",
    ),
    "sensitivity: persons with several rows cost as much as one": Mutant(
        "l1 sensitivity", "one_row * design.unit.max_rows", "one_row", f"{SENSITIVITY}/test_l1_sensitivity.py"
    ),
    "noise rounded down to steps": Mutant(
        "steps", "rounded_up(math.ceil(sigma))", "max(1, math.floor(sigma / 2))",
        "tests/mechanisms/moments/test_gaussian.py",
    ),
    "mu rounded to the nearest": Mutant(
        "mu", "down(root * (1 - _SLACK))", "float(root) * (1 + 1e-12)", "tests/privacy/test_gaussian.py"
    ),
    "rho rounded to the nearest": Mutant(
        "rho", "down(rho * (1 - _SLACK))", "float(rho) * (1 + 1e-12)", "tests/privacy/test_zcdp.py"
    ),
    "rounding to the nearest in place of down": Mutant(
        "rounding down", "near if near <= value else math.nextafter(near, -math.inf)", "near",
        "tests/exact/test_rounding.py",
    ),
    "the eigenvalue stops one step too early": Mutant(
        "eigenvalue", "high - low > 1", "high - low > 2", "tests/exact/test_eigenvalue.py"
    ),
}  # fmt: skip
