"""K counts in the class notes: noise, errors and the figure."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from discreet_papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet_papers.notes.notes_panels import Panel, drawn, mean_of, row

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

    from discreet.exact.arrays import FloatArray

# -- counts ------------------------------------------------------------------------------------------------------------
# Laplace noise on K counts, as in the notes and with the true sensitivity. NOT PRIVATE: noise is seeded.
#
# The notes claim epsilon for scale K/epsilon. This is right if a person can be in all K counts. In the example, half of
# the counts are of cases and half of controls. A person added or removed changes K/2 of them, so half of the noise
# satisfies the same epsilon. Replacing a case by a control changes all K.

GWAS_COUNTS = 2_000_000
GWAS_EPSILON = math.log(2)


def noisy_counts(counts: FloatArray, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """Add Laplace noise of scale K/epsilon to K counts. NOT PRIVATE."""
    return counts + rng.laplace(0.0, len(counts) / epsilon, len(counts))


def noise_sd(how_many: int, epsilon: float) -> float:
    """Return the standard deviation of the noise on one of K counts, sqrt(2) K/epsilon."""
    return math.sqrt(2) * how_many / epsilon


def case_control_sensitivity(how_many: int, relation: Literal["add-remove", "replace"]) -> int:
    """Return how many of K counts, half of cases and half of controls, can differ between neighbours.

    >>> case_control_sensitivity(10, "add-remove"), case_control_sensitivity(10, "replace")
    (5, 10)
    """
    half = how_many // 2
    absent = np.zeros(how_many)
    case, control = absent.copy(), absent.copy()
    case[:half], control[half:] = 1, 1
    extremes = (absent, case, control)
    pairs = (
        [(person, absent) for person in extremes]
        if relation == "add-remove"
        else [(before, after) for before in extremes[1:] for after in extremes[1:]]
    )
    return int(max(np.abs(before - after).sum() for before, after in pairs))


def true_loss(how_many: int, claimed: float, relation: Literal["add-remove", "replace"]) -> float:
    """Return the epsilon that noise of scale K/claimed spends in the example of the notes."""
    return case_control_sensitivity(how_many, relation) * claimed / how_many


# -- gwas figure -------------------------------------------------------------------------------------------------------
# Figure: Laplace noise on many counts of a genome-wide study.

KS: Final = (10, 100, 1000, 10_000, 100_000, 2_000_000)

ONE, ALL = "Standard deviation of one count", "Largest error of all counts"


def noisy(*, seed: int, how_many: int, repeats: int) -> list[Row]:
    """Return errors of K noisy counts at epsilon = log 2."""
    from discreet.primitives import gaussian

    rng = np.random.default_rng(seed)
    zeros = np.zeros(how_many)
    # a person is in half of the counts; sigma depends only on public quantities
    sigma = gaussian([0.0], math.sqrt(how_many / 2), GWAS_EPSILON, 1e-6).sigma
    rows = [row(ONE, "formula", how_many, noise_sd(how_many, GWAS_EPSILON) ** 2)]
    for repeat in range(repeats):
        errors = {
            "as written": noisy_counts(zeros, GWAS_EPSILON, rng),
            "case or control": noisy_counts(zeros, 2 * GWAS_EPSILON, rng),
            "ours": rng.normal(0.0, sigma, how_many),
        }
        for line, error in errors.items():
            rows.append(row(ONE, line, how_many, float(np.mean(error**2)), repeat))
            rows.append(row(ALL, line, how_many, float(np.abs(error).max()) ** 2, repeat))
    return rows


def _gwas_cells(run: Run) -> list[Cell]:
    few = 1 if run.quick else 4
    return [Cell(f"K = {k}", noisy, {"how_many": k, "repeats": max(few, 20_000 * few // k)}) for k in KS]


def _draw_gwas(numbers: DataFrame, run: Run) -> Picture:
    layout = [Panel(title, "number of counts K", "people", "xy", squares=True) for title in (ONE, ALL)]
    labels = {
        "as written": "Laplace, scale K/ε: claimed ε = log 2, true ε/2 (a case or a control added), ε (exchanged)",
        "case or control": "Laplace, scale K/(2ε): true ε under add-remove",
        "formula": "the notes' formula, sqrt(2) K/ε",
        "ours": "ours: primitives.gaussian (distribution), true (ε, 1e-6) under add-remove",
    }
    return drawn(numbers, layout, labels, columns=1)


def _sd_at(k: int, low: float, high: float, numbers: DataFrame) -> Outcome:
    variance = mean_of(numbers, ONE, "as written", k)
    if variance is None:
        return Outcome(None, "no numbers")
    return Outcome(low <= math.sqrt(variance) <= high, f"standard deviation {math.sqrt(variance):,.1f}")


def _twice(numbers: DataFrame) -> Outcome:
    written = mean_of(numbers, ONE, "as written", KS[-1])
    needed = mean_of(numbers, ONE, "case or control", KS[-1])
    if written is None or needed is None:
        return Outcome(None, "no numbers")
    ratio = math.sqrt(written / needed)
    loss = true_loss(KS[-1], GWAS_EPSILON, "add-remove")
    return Outcome(
        ratio < 1.5, f"noise {ratio:.2f} times what the promise needs: it spends {loss:.3f} of a claimed 0.693"
    )


GWAS: Final = Figure(
    name="notes-gwas",
    document="notes",
    title="Laplace noise on K counts at epsilon = log 2",
    says="K counts need Laplace noise of scale K/epsilon. At epsilon = log 2 its standard deviation is about 4 million "
    "for 2 million counts, whatever the sample size, and about 20 for 10 counts.",
    cells=_gwas_cells,
    criteria=(
        Criterion("millions", "the standard deviation at K = 2,000,000 is between 4.0 and 4.16 million",
                  partial(_sd_at, 2_000_000, 4.0e6, 4.16e6), "differs", "the standard deviation is different"),
        Criterion("twenty", "the standard deviation at K = 10 is between 19.5 and 21.5",
                  partial(_sd_at, 10, 19.5, 21.5), "differs", "the standard deviation is different"),
        Criterion("needed", "the noise is less than 1.5 times what the promise needs under add-remove", _twice,
                  "differs",
                  "a person is a case or a control, so only K/2 counts move, and half of the noise is enough"),
    ),
    draw=_draw_gwas,
    choices=("K is 10 to 2,000,000, with at least 20,000 noisy counts for each K (full run: 80,000).",
             "Our line has Gaussian noise with delta = 1e-6, for K/2 counts per person."),
)  # fmt: skip
