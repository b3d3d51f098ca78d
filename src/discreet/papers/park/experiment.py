"""The note's experiment: test log-likelihood per point of every line, on simulated tables of growing size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.exact.arrays import FloatArray
from discreet.papers.figure import Row
from discreet.papers.methods import READER, reader_model, reader_predictions
from discreet.papers.park.algorithm import Noise, reweighted
from discreet.papers.park.levels import advanced_level, basic_level, cdp_level, equal_level, gaussian_multiplier
from discreet.papers.park.simulation import COLUMNS, Simulated, simulated
from discreet.papers.park.wishart_claim import ruled_out, ruled_out_probability
from discreet.testing import seeded_release

EPSILON: Final = 0.9
FAILURE: Final = 1e-6
ITERATIONS: Final = (10, 30)
CAPS: Final = (10.0, 1.0, 100.0)

GAUSSIAN, LAPLACE, BASIC, ADVANCED = "CDP-Gaussian", "CDP-Laplace", "basic", "advanced"
EXACT, LEAST_SQUARES = "non-private IRLS", "least squares"
OURS, PURE = "irls of discreet", "irls of discreet without delta"
# panels of the same lines: epsilon as each theorem of the note means it, or one (epsilon, delta) for all
WRITTEN, EQUAL = "as written", "equal (epsilon, delta)"

LEVELS: Final = (0.03, 0.1, 0.3, 1.0, 3.0)


def panel_name(kind: str, iterations: int, cap: float) -> str:
    """The panel of a kind, a number of iterations and a cap of the weights."""
    return f"{kind}, J = {iterations}, weights up to {cap:g}"


def noises(kind: str, iterations: int, cap: float) -> dict[str, Noise]:
    """The noise of every private line of a panel.

    As written, a Gaussian first moment has the noise of (level, delta)-DP. At equal (epsilon, delta) it has the noise
    of level^2/2-zCDP, which is all that concentrated composition asks of it.

    >>> round(noises(WRITTEN, 10, 10.0)["CDP-Laplace"].level, 2), round(noises(EQUAL, 10, 10.0)["basic"].level, 3)
    (0.3, 0.045)
    """
    pieces = 2 * iterations
    if kind == WRITTEN:
        concentrated, multiplier = cdp_level(EPSILON, pieces), gaussian_multiplier(FAILURE)
    else:
        concentrated, multiplier = equal_level(EPSILON, FAILURE, pieces), 1.0
    return {
        GAUSSIAN: Noise(cap, concentrated, "gaussian", multiplier),
        LAPLACE: Noise(cap, concentrated),
        BASIC: Noise(cap, basic_level(EPSILON, pieces)),
        ADVANCED: Noise(cap, advanced_level(EPSILON, FAILURE, pieces)),
    }


def likelihoods(seed: int, *, rows: int, sets: int, method: str | None = None) -> list[Row]:
    """Every line of every panel on so many simulated tables of this size."""
    found: list[Row] = []
    for repeat in range(sets):
        rng = np.random.default_rng([seed, repeat])
        table = simulated(rows, rng)
        values = [
            (panel, line, table.log_likelihood(table.test_x @ theta))
            for panel, line, theta in (*_theirs(table, rng), *_ours(table, int(rng.integers(2**31))))
        ]
        if method is not None:
            value = table.log_likelihood(_readers(table, method))
            values += [(panel, READER, value) for panel in dict.fromkeys(panel for panel, _, _ in values)]
        name = f"{seed}-{repeat}"
        found += [
            {"panel": panel, "line": line, "n": rows, "repeat": name, "value": value} for panel, line, value in values
        ]
    return found


def _readers(table: Simulated, method: str) -> FloatArray:
    """Predictions of a reader's own method at (epsilon, delta), in the box around the unit ball."""
    model = reader_model(method, table.x, table.y, epsilon=EPSILON, delta=FAILURE)
    return reader_predictions(model, table.test_x)


def _theirs(table: Simulated, rng: np.random.Generator) -> Iterable[tuple[str, str, FloatArray]]:
    """The note's lines; basic and advanced composition are the same at equal (epsilon, delta), and are run once."""
    straight = np.asarray(np.linalg.solve(table.x.T @ table.x, table.x.T @ table.y), dtype=float)
    for iterations in ITERATIONS:
        runs: dict[tuple[str, str], Noise] = {}
        for cap in CAPS:
            for kind in (WRITTEN, EQUAL):
                panel = panel_name(kind, iterations, cap)
                runs |= {(panel, line): noise for line, noise in noises(kind, iterations, cap).items()}
                runs[panel, EXACT] = Noise(cap)
        different = list(dict.fromkeys(runs.values()))
        last = reweighted(table.x, table.y, different, iterations, rng)[-1]
        for (panel, line), noise in runs.items():
            yield panel, line, last[different.index(noise)]
        for panel in dict.fromkeys(panel for panel, _ in runs):
            yield panel, LEAST_SQUARES, straight


def _ours(table: Simulated, seed: int) -> Iterable[tuple[str, str, FloatArray]]:
    """Our robust regression at (epsilon, delta) and at (epsilon, 0), with J iterations and the same threshold."""
    names = [f"x{column}" for column in range(COLUMNS)]
    design = Design("y", {**dict.fromkeys(names, (-1, 1)), "y": (-1, 1)}, radius=1.0, intercept=False)
    data = {**dict(zip(names, table.x.T, strict=True)), "y": table.y}
    for iterations in ITERATIONS:
        for cap in CAPS:
            for line, delta in ((OURS, FAILURE), (PURE, 0.0)):
                release = seeded_release(
                    data,
                    design,
                    seed=seed,
                    epsilon=EPSILON,
                    delta=delta,
                    mechanism="irls",
                    settings={"iterations": iterations, "threshold": 1 / cap},
                )
                theta = np.array(fit(release).coefficients)
                for kind in (WRITTEN, EQUAL):
                    yield panel_name(kind, iterations, cap), line, theta


def levels(seed: int, *, most: int) -> list[Row]:
    """The level of a piece by each rule of composition, against the number of iterations; nothing is drawn."""
    del seed
    found: list[Row] = []
    for iterations in range(1, most + 1):
        pieces = 2 * iterations
        rules = {
            BASIC: basic_level(EPSILON, pieces),
            ADVANCED: advanced_level(EPSILON, FAILURE, pieces),
            WRITTEN: cdp_level(EPSILON, pieces),
            EQUAL: equal_level(EPSILON, FAILURE, pieces),
        }
        found += [
            {"panel": "level", "line": rule, "iterations": iterations, "repeat": "0", "value": value}
            for rule, value in rules.items()
        ]
    return found


def wishart(seed: int, *, draws: int) -> list[Row]:
    """The share of noisy second moments that rule out a neighbouring table, and the probability of that."""
    rng = np.random.default_rng(seed)
    found: list[Row] = []
    for level in LEVELS:
        share = ruled_out(level, draws, rng) / draws
        for line, value in (("measured", share), ("1 - exp(-level)", ruled_out_probability(level))):
            found.append({"panel": "wishart", "line": line, "level": level, "repeat": "0", "value": value})
    return found
