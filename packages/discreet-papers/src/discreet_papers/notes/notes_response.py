"""Randomised response in the class notes: estimates, losses and the figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from discreet_papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet_papers.notes.notes_panels import Panel, drawn, mean_of, row

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

    from discreet.exact.arrays import FloatArray

# -- response ----------------------------------------------------------------------------------------------------------
# Randomised response, and publishing a random fraction of the rows, as in the notes. NOT PRIVATE: noise is seeded.
#
# With noise from the operating system both guarantees hold. Randomised response is log((1 + q)/(1 - q))-DP if one
# answer changes. Publishing each row with probability p is (0, p)-DP if one row is added or removed.


def said_yes(yes: int, no: int, q: float, rng: np.random.Generator, draws: int = 1) -> FloatArray:
    """Draw the number of yes answers in each survey, if `yes` people should say yes and `no` people should not.

    Each person tells the truth with probability q, and otherwise answers by a fair coin toss. NOT PRIVATE.

    >>> said_yes(30, 70, 1.0, np.random.default_rng(1)).tolist()
    [30.0]
    """
    agrees = (1 + q) / 2
    return (rng.binomial(yes, agrees, draws) + rng.binomial(no, 1 - agrees, draws)).astype(float)


def unbiased_share(observed: FloatArray, q: float) -> FloatArray:
    """Estimate the true proportion of yes from the observed proportion.

    >>> unbiased_share(np.array([0.25, 0.4]), 0.5).round(3).tolist()
    [0.0, 0.3]
    """
    return (observed - (1 - q) / 2) / q


def claimed_loss(q: float) -> float:
    """Return the epsilon that the notes claim, log((1 + q)/(1 - q))."""
    return math.log((1 + q) / (1 - q))


def true_loss(q: float) -> float:
    """Return the largest log ratio of the probabilities of an answer, over both answers and both true states."""
    says_yes = np.array([q + (1 - q) / 2, (1 - q) / 2])
    return float(max(abs(np.diff(np.log(says_yes)))[0], abs(np.diff(np.log(1 - says_yes)))[0]))


def posterior(prior: FloatArray, q: float) -> FloatArray:
    """Return the probability that the truth is yes after an observed yes, by Bayes' theorem."""
    return (1 + q) * prior / ((1 + q) * prior + (1 - q) * (1 - prior))


def published_share(rows: int, share: float, rng: np.random.Generator, draws: int = 1) -> FloatArray:
    """Draw the number of rows published in full, if each is published with probability `share`. NOT PRIVATE."""
    return rng.binomial(rows, share, draws).astype(float)


def share_delta(share: float) -> float:
    """Return the delta (at epsilon = 0) of publishing each row with probability `share`, if one row is added.

    The row is published or not, independently of the others, so the total variation distance is `share`.
    """
    return share


def fixed_share_delta(rows: int, share: float) -> float:
    """Return the delta of publishing exactly round(share * rows) rows, if one row is added. The number may reveal it.

    >>> fixed_share_delta(100, 0.01), fixed_share_delta(149, 0.01)
    (0.009900990099009901, 1.0)
    """
    here, there = round(share * rows), round(share * (rows + 1))
    return here / (rows + 1) if here == there else 1.0


# -- response figure ---------------------------------------------------------------------------------------------------
# Figure: randomised response, and an example of a (0, delta) guarantee.

TRUTH: Final = 0.1  # true proportion of yes
SURVEYED: Final = (100, 300, 1000, 3000, 10_000, 30_000)
TRUTHFUL: Final = (0.25, 0.5, 0.75)
PRIORS: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
SHARES: Final = (1e-5, 1e-4, 1e-3, 1e-2)

ERROR, BELIEF, EXPOSED, STRENGTH = "Estimated share", "Belief after a yes", "Rows published in full", "Privacy"


def survey(*, seed: int, q: float, n: int, repeats: int) -> list[Row]:
    """Return squared errors of the unbiased estimate over surveys of n people."""
    rng = np.random.default_rng(seed)
    yes = round(TRUTH * n)
    estimate = unbiased_share(said_yes(yes, n - yes, q, rng, repeats) / n, q)
    bias = estimate - TRUTH
    rows = [row(ERROR, f"q = {q:g}", n, float(error) ** 2, k) for k, error in enumerate(bias)]
    return [*rows, row("bias", f"q = {q:g}", n, float(bias.mean() / (bias.std() / math.sqrt(repeats))))]


def beliefs(*, seed: int) -> list[Row]:
    """Return the numbers of all panels other than the survey errors."""
    from discreet.primitives import randomised_response

    rng = np.random.default_rng(seed)
    rows = []
    # the posterior depends only on q, not on the answers
    ours = randomised_response([True], q=0.5)
    for prior in PRIORS:
        rows += [row(BELIEF, f"q = {q:g}", prior, float(posterior(np.array([prior]), q)[0])) for q in TRUTHFUL]
        rows += [
            row(BELIEF, "bound", prior, 3 * prior),
            row(BELIEF, "ours", prior, ours.posterior(prior)),
        ]
    for q in np.linspace(0.1, 0.9, 9).round(1).tolist():
        rows.append(row(STRENGTH, "claimed", q, claimed_loss(q)))
        rows.append(row(STRENGTH, "true", q, true_loss(q)))
        rows.append(row(STRENGTH, "ours", q, randomised_response([True], q=q).guarantee.epsilon))
    for share in SHARES:
        published = published_share(10_000, share, rng, 2000)
        rows.append(row(EXPOSED, "share", share, float(published.mean())))
        rows.append(row(EXPOSED, "somebody", share, float((published > 0).mean())))
        rows.append(row(EXPOSED, "delta", share, share_delta(share)))
        sizes = range(10_000, 10_000 + round(2 / share))
        worst = max(fixed_share_delta(size, share) for size in sizes)
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
        Panel(ERROR, "people surveyed", "root mean squared error", "xy", squares=True),
        Panel(STRENGTH, "probability q of the true answer", "epsilon"),
        Panel(BELIEF, "belief before", "belief after a yes", "xy"),
        Panel(EXPOSED, "share published", "people of 10,000, or probability", "xy"),
    ]
    labels = {f"q = {q:g}": f"q = {q:g}: true epsilon {true_loss(q):.3f}, as claimed" for q in TRUTHFUL} | {
        "bound": "the notes' bound 3r at q = 0.5",
        "ours": "ours: primitives.randomised_response (distribution)",
        "claimed": "log((1 + q)/(1 - q)), as claimed",
        "true": "largest log ratio of the answers' probabilities",
        "share": "people published, mean",
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
    says="Randomised response has an unbiased estimate, satisfies epsilon = log((1 + q)/(1 - q)), and lets a person "
    "who says yes deny it: at q = 1/2 the belief is at most three times the prior. Publishing a random fraction delta "
    "of the rows in full satisfies (0, delta), and violates the privacy of these people completely.",
    cells=_response_cells,
    criteria=(
        Criterion("unbiased", "the mean error is within 4 standard errors of 0 in every cell", _unbiased, "differs",
                  "the estimate is biased"),
        Criterion("loss", "the largest log ratio of the answers' probabilities is log((1 + q)/(1 - q)), to 1e-12",
                  _claimed_loss, "refuted", "the loss is different"),
        Criterion("belief", "the belief after a yes is at most 3r, and at least 0.99 of it at r = 0.001", _deniable,
                  "refuted", "the bound does not hold"),
        Criterion("exposed", "at delta = 0.01 at least 90 of 10,000 rows are published, and at delta = 1/n somebody is "
                  "with probability 1/2 or more", _somebody, "differs", "fewer rows are published than claimed"),
    ),
    draw=_draw_response,
    choices=("The true proportion of yes is 0.1; q is 0.25, 0.5 or 0.75; 100 to 30,000 people; 2,000 surveys (quick: "
             "200).",
             "A separate coin toss decides about each row, because a fixed number of rows could reveal an added row."),
)  # fmt: skip
