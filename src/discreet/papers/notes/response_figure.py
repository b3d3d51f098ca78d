"""Figure: randomised response, and what (0, delta) allows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet.papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet.papers.notes import response
from discreet.papers.notes.panels import Panel, drawn, mean_of, row

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

TRUTH: Final = 0.1  # true share of yes
SURVEYED: Final = (100, 300, 1000, 3000, 10_000, 30_000)
TRUTHFUL: Final = (0.25, 0.5, 0.75)
PRIORS: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
SHARES: Final = (1e-5, 1e-4, 1e-3, 1e-2)

ERROR, BELIEF, EXPOSED, STRENGTH = "Estimated share", "Belief after a yes", "Rows published in full", "Privacy"


def survey(*, seed: int, q: float, n: int, repeats: int) -> list[Row]:
    """Squared errors of the unbiased estimate over surveys of n persons."""
    rng = np.random.default_rng(seed)
    yes = round(TRUTH * n)
    estimate = response.unbiased_share(response.said_yes(yes, n - yes, q, rng, repeats) / n, q)
    bias = estimate - TRUTH
    rows = [row(ERROR, f"q = {q:g}", n, float(one) ** 2, k) for k, one in enumerate(bias)]
    return [*rows, row("bias", f"q = {q:g}", n, float(bias.mean() / (bias.std() / math.sqrt(repeats))))]


def beliefs(*, seed: int) -> list[Row]:
    """Posterior against prior with its bound and our primitive's, epsilon against q, and the (0, delta) example."""
    from discreet.primitives import randomised_response

    rng = np.random.default_rng(seed)
    rows = []
    # what was said does not enter: only q does
    ours = randomised_response([True], q=0.5)
    for prior in PRIORS:
        rows += [row(BELIEF, f"q = {q:g}", prior, float(response.posterior(np.array([prior]), q)[0])) for q in TRUTHFUL]
        rows += [
            row(BELIEF, "bound", prior, 3 * prior),
            row(BELIEF, "ours", prior, ours.posterior(prior)),
        ]
    for q in np.linspace(0.1, 0.9, 9).round(1).tolist():
        rows.append(row(STRENGTH, "claimed", q, response.claimed_loss(q)))
        rows.append(row(STRENGTH, "true", q, response.true_loss(q)))
        rows.append(row(STRENGTH, "ours", q, randomised_response([True], q=q).guarantee.epsilon))
    for share in SHARES:
        published = response.published_share(10_000, share, rng, 2000)
        rows.append(row(EXPOSED, "share", share, float(published.mean())))
        rows.append(row(EXPOSED, "somebody", share, float((published > 0).mean())))
        rows.append(row(EXPOSED, "delta", share, response.share_delta(share)))
        sizes = range(10_000, 10_000 + round(2 / share))
        worst = max(response.fixed_share_delta(size, share) for size in sizes)
        rows.append(row(EXPOSED, "fixed number", share, worst))
    return rows


def _response_cells(run: Run) -> list[Cell]:
    repeats = 200 if run.quick else 2000
    surveys = [
        Cell(f"q = {q}, n = {n}", survey, {"q": q, "n": n, "repeats": repeats}) for q in TRUTHFUL for n in SURVEYED
    ]
    return [*surveys, Cell("beliefs", beliefs)]


def _draw_response(numbers: DataFrame, run: Run) -> Picture:
    layout = [
        Panel(ERROR, "persons asked", "root mean squared error", "xy", squares=True),
        Panel(STRENGTH, "probability q of the true answer", "epsilon"),
        Panel(BELIEF, "belief before", "belief after a yes", "xy"),
        Panel(EXPOSED, "share published", "persons of 10,000, or probability", "xy"),
    ]
    labels = {f"q = {q:g}": f"q = {q:g}: true epsilon {response.true_loss(q):.3f}, as claimed" for q in TRUTHFUL} | {
        "bound": "the notes' bound 3r at q = 0.5",
        "ours": "ours: primitives.randomised_response (law)",
        "claimed": "log((1 + q)/(1 - q)), as claimed",
        "true": "largest log ratio of the answers' probabilities",
        "share": "persons published, mean",
        "somebody": "probability that somebody is published",
        "delta": "delta (true = claimed, epsilon = 0)",
        "fixed number": "delta if exactly round(share n) rows are published, worst n",
    }
    return drawn(numbers, layout, labels, across=2)


def _unbiased(numbers: DataFrame) -> Outcome:
    biases = numbers[numbers["panel"] == "bias"]["value"].abs()
    return Outcome(bool(biases.max() <= 4), f"largest bias {biases.max():.2f} standard errors in {len(biases)} cells")


def _claimed_loss(numbers: DataFrame) -> Outcome:
    wide = numbers[numbers["panel"] == STRENGTH].pivot_table(index="x", columns="line", values="value")
    worst = float((wide["true"] - wide["claimed"]).abs().max())
    return Outcome(worst <= 1e-12, f"largest difference {worst:.1e} over {len(wide)} values of q")


def _deniable(numbers: DataFrame) -> Outcome:
    wide = numbers[numbers["panel"] == BELIEF].pivot_table(index="x", columns="line", values="value")
    above = float((wide["q = 0.5"] - wide["bound"]).max())
    near = float(wide["q = 0.5"].iloc[0] / wide["bound"].iloc[0])
    holds = above <= 1e-12 and near >= 0.99
    return Outcome(holds, f"at most {above:.1e} above 3r; {near:.4f} of it at r = {wide.index[0]:g}")


def _somebody(numbers: DataFrame) -> Outcome:
    mean_rows = mean_of(numbers, EXPOSED, "share", 1e-2)
    anybody = mean_of(numbers, EXPOSED, "somebody", 1e-4)
    if mean_rows is None or anybody is None:
        return Outcome(None, "no numbers")
    return Outcome(
        mean_rows >= 90 and anybody >= 0.5,
        f"{mean_rows:.0f} of 10,000 published at delta = 0.01; somebody with probability {anybody:.2f} at delta = 1/n",
    )


RESPONSE: Final = Figure(
    name="notes-response",
    document="notes",
    title="Randomised response, and what (0, delta) allows",
    says="Randomised response has an unbiased estimate, keeps epsilon = log((1 + q)/(1 - q)), and leaves a person who "
    "says yes deniable: the belief is at most three times the prior at q = 1/2. Publishing a random share delta of the "
    "rows in full keeps (0, delta), and violates the privacy of those persons completely.",
    cells=_response_cells,
    criteria=(
        Criterion("unbiased", "the mean error is within 4 standard errors of 0 in every cell", _unbiased, "differs",
                  "the estimate is biased"),
        Criterion("loss", "the largest log ratio of the answers' probabilities is log((1 + q)/(1 - q)), to 1e-12",
                  _claimed_loss, "refuted", "the loss is another one"),
        Criterion("belief", "the belief after a yes is at most 3r, and at least 0.99 of it at r = 0.001", _deniable,
                  "refuted", "the bound does not hold"),
        Criterion("exposed", "at delta = 0.01 at least 90 of 10,000 rows are published, and at delta = 1/n somebody is "
                  "with probability 1/2 or more", _somebody, "differs", "fewer rows are published than the share says"),
    ),
    draw=_draw_response,
    choices=("True share of yes 0.1; q = 0.25, 0.5, 0.75; 100 to 30,000 persons; 2,000 surveys (quick: 200).",
             "Each row is published by a coin of its own: a fixed number of rows would show who was added."),
)  # fmt: skip
