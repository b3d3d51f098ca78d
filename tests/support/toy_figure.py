"""A figure that is run in milliseconds, for tests of what runs figures."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from discreet_papers.drawing import lines
from discreet_papers.figure import Cell, Criterion, Figure, Outcome, Row, Run
from discreet_papers.methods import READER, reader_method

ROWS = np.random.default_rng(5).uniform(-1, 1, (60, 2))


def noisy(seed: int, epsilon: float, repeats: int, method: str | None = None) -> list[Row]:
    drawn = np.random.default_rng(seed).laplace(0, 1 / epsilon, repeats)
    found: list[Row] = [
        {"panel": "toy", "line": "Laplace", "epsilon": epsilon, "repeat": one, "value": abs(float(value))}
        for one, value in enumerate(drawn)
    ]
    if method is not None:
        made = reader_method(method)(epsilon=epsilon, delta=0.0, bounds=[(-1, 1)], target_bounds=(-1, 1))
        made.fit(ROWS[:, :1], ROWS[:, 1])
        error = float(np.mean((ROWS[:, 1] - made.predict(ROWS[:, :1])) ** 2))
        found.append({"panel": "toy", "line": READER, "epsilon": epsilon, "repeat": 0, "value": error})
    return found


def broken(seed: int) -> list[Row]:
    raise RuntimeError("no such luck")


def endless(seed: int) -> list[Row]:
    time.sleep(600)
    return []


def cells(run: Run) -> list[Cell]:
    repeats = 40 if run.quick else 400
    return [
        Cell(f"epsilon = {epsilon}", noisy, {"epsilon": epsilon, "repeats": repeats, "method": run.method})
        for epsilon in (0.5, 1.0, 2.0)
    ]


def falls(numbers) -> Outcome:
    means = numbers[numbers["line"] == "Laplace"].groupby("epsilon")["value"].mean().tolist()
    return Outcome(means == sorted(means, reverse=True), ", ".join(f"{one:.2f}" for one in means))


def draw(numbers, run: Run):
    return lines(numbers, order=("Laplace", READER), x_label="epsilon", y_label="absolute error")


TOY = Figure(
    name="park-1",
    document="park",
    title="a toy",
    says="The error falls.",
    cells=cells,
    criteria=(Criterion("falls", "the mean error falls with epsilon", falls, "differs", "too few draws"),),
    draw=draw,
    choices=("Three budgets.",),
    not_run=lambda run: () if run.data else ("no tables were given.",),
    predictions=True,
)
BROKEN = replace(TOY, cells=lambda run: [*cells(run), Cell("broken", broken)])
ENDLESS = replace(TOY, cells=lambda run: [*cells(run), Cell("endless", endless), Cell("endless too", endless)])


class Mean:
    """Predicts the mean of the target: a method that a reader could bring."""

    def fit(self, X, y):
        self.mean = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean)


def mean_method(*, epsilon, delta, bounds, target_bounds):
    assert len(bounds) == 1
    assert target_bounds == (-1, 1)
    return Mean()
