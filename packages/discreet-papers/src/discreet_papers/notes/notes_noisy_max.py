"""Noisy max in the class notes: mechanisms, true losses and the figure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from discreet_papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet_papers.notes.notes_panels import Panel, drawn, mean_of, row

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

    from discreet.exact.arrays import FloatArray

# -- noisy max ---------------------------------------------------------------------------------------------------------
# The index of the largest count, by Laplace noise on all counts and by report noisy max, as in the notes. NOT PRIVATE:
# noise is seeded.
#
# The notes claim epsilon for noise of scale 1/epsilon. This holds if all counts can only move in the same direction, as
# when a person is added or removed. If a person is replaced, one count falls while another rises, which spends up to 2
# epsilon.


def naive_scale(how_many: int, epsilon: float) -> float:
    """Return the noise scale of the Laplace mechanism on all K counts."""
    return how_many / epsilon


def noisy_max_scale(epsilon: float) -> float:
    """Return the noise scale of the notes, which does not depend on K."""
    return 1 / epsilon


def largest_index(counts: FloatArray, scale: float, rng: np.random.Generator) -> int:
    """Return the index of the largest count after adding Laplace noise. NOT PRIVATE."""
    return int(np.argmax(counts + rng.laplace(0.0, scale, len(counts))))


def winning_chance(lead: float, scale: float) -> float:
    """Return the probability, in closed form, that the first of two noisy counts is larger if it leads by `lead`.

    The difference of two Laplace variates exceeds t >= 0 with probability (1/2 + t/(4 b)) exp(-t/b).

    >>> winning_chance(0.0, 1.0), round(winning_chance(-3.0, 1.0), 4)
    (0.5, 0.0622)
    """
    tail = float((0.5 + abs(lead) / (4 * scale)) * np.exp(-abs(lead) / scale))
    return 1 - tail if lead >= 0 else tail


def true_loss(lead: float, epsilon: float, relation: Literal["add-remove", "replace"], factor: float = 1.0) -> float:
    """Return the loss of noisy max with scale factor/epsilon, if one of two counts wins although the other leads.

    Under add-remove the winner's count rises by 1. Under replace the other count also falls by 1.

    >>> round(true_loss(200, 1.0, "add-remove"), 2), round(true_loss(200, 1.0, "replace"), 2)
    (1.0, 1.99)
    """
    moved = 1 if relation == "add-remove" else 2
    scale = factor / epsilon
    return float(np.log(winning_chance(moved - lead, scale) / winning_chance(-lead, scale)))


# -- noisy max figure --------------------------------------------------------------------------------------------------
# Figure: which of many counts is largest.

MAX_KS: Final = (2, 10, 100, 1000, 10_000, 100_000)
LEAD: Final = 20.0
LEADS: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
EPSILON: Final = 1.0

RIGHT, LOSS = "Reports the largest count", "Loss, two counts"


def reported(*, seed: int, how_many: int, repeats: int) -> list[Row]:
    """Return how often the largest of K counts is reported at epsilon = 1, if it leads by 20."""
    from discreet.primitives import report_noisy_max

    rng = np.random.default_rng(seed)
    scores = np.full(how_many, 1000.0)
    scores[-1] += LEAD
    added = report_noisy_max([0, 0], 1, EPSILON, monotone=True).scale
    replaced = report_noisy_max([0, 0], 1, EPSILON, neighbours="replace").scale
    scales = {
        "naive": naive_scale(how_many, EPSILON),
        "as written": noisy_max_scale(EPSILON),
        "ours, add-remove": added,
        "ours": replaced,
    }
    rows = []
    for line, scale in scales.items():
        right = sum(largest_index(scores, scale, rng) == how_many - 1 for _ in range(repeats))
        rows.append(row(RIGHT, line, how_many, right / repeats))
    return rows


def losses(*, seed: int) -> list[Row]:
    """Return exact losses of noisy max of two counts, by the lead of the second count."""
    rows = []
    for lead in LEADS:
        rows.append(row(LOSS, "add-remove", lead, true_loss(lead, EPSILON, "add-remove")))
        rows.append(row(LOSS, "replace", lead, true_loss(lead, EPSILON, "replace")))
        rows.append(row(LOSS, "ours, add-remove", lead, true_loss(lead, EPSILON, "add-remove")))
        rows.append(row(LOSS, "ours", lead, true_loss(lead, EPSILON, "replace", factor=2.0)))
    return rows


def _noisy_max_cells(run: Run) -> list[Cell]:
    repeats = 200 if run.quick else 1000
    return [*(Cell(f"K = {k}", reported, {"how_many": k, "repeats": repeats}) for k in MAX_KS), Cell("losses", losses)]


def _draw_noisy_max(numbers: DataFrame, run: Run) -> Picture:
    layout = [
        Panel(RIGHT, "number of counts K", "share of runs", "x"),
        Panel(LOSS, "lead of the other count", "privacy loss", "x"),
    ]
    labels = {
        "naive": "Laplace on all counts, scale K/ε: true ε = 1",
        "as written": "noisy max as written, scale 1/ε: claimed 1, true 1 (add-remove), 2 (replace)",
        "add-remove": "loss as written, a person added or removed",
        "replace": "loss as written, a person exchanged",
        "ours, add-remove": "ours: report_noisy_max (distribution), monotone, scale 1/ε: true 1 (add-remove)",
        "ours": "ours: report_noisy_max (distribution), scale 2/ε: true 1 (replace)",
    }
    return drawn(numbers, layout, labels, columns=1)


def _right_at(line: str, holds: Callable[[float], bool], numbers: DataFrame) -> Outcome:
    share = mean_of(numbers, RIGHT, line, 100_000)
    return Outcome(None if share is None else holds(share), "no numbers" if share is None else f"right in {share:.1%}")


def _loss_of(relation: str, numbers: DataFrame) -> Outcome:
    values = numbers[(numbers["panel"] == LOSS) & (numbers["line"] == relation)]["value"]
    return Outcome(bool(values.max() <= EPSILON), f"largest loss {values.max():.3f} at a claimed {EPSILON:g}")


NOISY_MAX: Final = Figure(
    name="notes-noisy-max",
    document="notes",
    title="Which of K counts is largest",
    says="For large K, Laplace noise on all K counts is fatal. To report only which count is largest, noise of scale "
    "1/epsilon is enough for every K, and the answer is likely right.",
    cells=_noisy_max_cells,
    criteria=(
        Criterion("naive", "with naive noise the answer is right in at most 10% of runs at K = 100,000",
                  partial(_right_at, "naive", lambda share: share <= 0.1), "differs", "naive noise does better"),
        Criterion("likely", "noisy max is right in at least 80% of runs at K = 100,000",
                  partial(_right_at, "as written", lambda share: share >= 0.8), "differs", "noisy max does worse"),
        Criterion("added", "the loss of scale 1/epsilon is at most epsilon where a person is added or removed",
                  partial(_loss_of, "add-remove"), "refuted", "the loss is larger"),
        Criterion("exchanged", "the loss of scale 1/epsilon is at most epsilon where a person is exchanged",
                  partial(_loss_of, "replace"), "differs",
                  "the notes consider a row added or removed, for which the scale is enough; if a person is replaced, "
                  "one count falls while another rises, which spends up to 2 epsilon, so scale 2/epsilon is needed"),
    ),
    draw=_draw_noisy_max,
    choices=("Counts are 1,000, and one is 1,020; epsilon is 1; K is 2 to 100,000; 1,000 runs (quick: 200).",
             "If a person is added or removed, our line has the same scale as the notes and coincides with theirs: the "
             "noise is right, and the notes only fail to name the neighbours."),
)  # fmt: skip
