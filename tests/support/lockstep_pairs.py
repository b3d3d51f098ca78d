"""Mechanisms and unrelated tables that are run in lockstep, and what must be the same for both."""

from __future__ import annotations

import numpy as np

import discreet
from discreet.audit.exact_losses import ReplaySampler
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.testing.not_private import SeededSampler
from discreet.workflow import release_with
from support.lockstep import Run, Setup, seeded, shifted, watched_release

COLUMNS = {"x": (-1, 1), "w": (-2, 2), "b": bool, "y": (-1, 1)}
CROSSED = {"x": (-1, 2), "g": ["k", "l", "m"], "b": bool, "y": (-1, 1), "xg": {"formula": "x:g"}} | {
    "bg": {"formula": "b:g"}
}
UNITS = {
    "add-remove": {},
    "replace": {"neighbours": "replace"},
    "persons": {"id": "who", "max_rows": 2},
    "persons replaced": {"id": "who", "max_rows": 2, "neighbours": "replace"},
}
# one mechanism with the settings that lead to another way of drawing noise
SETTINGS = {
    "gaussian": ("gaussian", {}),
    "laplace": ("laplace", {}),
    "k-norm": ("k-norm", {}),
    "wishart": ("wishart", {"degrees": 50}),
    "functional": ("functional", {}),
    "ssp": ("ssp", {}),
    "adassp": ("adassp", {"target_square": True}),
    "dpme laplace": ("dpme", {"bins": 3}),
    "dpme gaussian": ("dpme", {"bins": 3, "noise": "gaussian", "loss": "huber"}),
    "irls score": ("irls", {"iterations": 4, "average": False}),
    "irls score of a power": ("irls", {"iterations": 4, "power": 1.5, "composition": "zcdp"}),
    "irls laplace": ("irls", {"iterations": 4}),
    "irls wishart": ("irls", {"iterations": 3, "form": "moment", "noise": "wishart"}),
    "irls moment": ("irls", {"iterations": 3, "form": "moment"}),
    "gradient": ("gradient", {"iterations": 4}),
    "output": ("output", {}),
}
PURE = ("laplace", "k-norm", "functional", "dpme laplace", "irls laplace")


def unrelated(which: int, unit: str) -> dict[str, list[object]]:
    """Two tables that have nothing in common but their columns and what the neighbouring relation makes public."""
    rng = np.random.default_rng(which)
    rows = 90 if unit == "replace" else (80, 117)[which]
    x = rng.uniform(-1.1, 1.4, rows) ** (1 + 2 * which)
    w = rng.normal(0.5 - which, 1.5, rows)
    b = rng.random(rows) < (0.3, 0.8)[which]
    y = (0.8 * x - 0.1 * w if which else 0.3 * b - 0.5 * x) + rng.normal(0, 0.4, rows)
    who = np.concatenate([np.arange(40), rng.integers(0, 40, rows - 40)])
    g = rng.choice(["k", "l", "m"], rows, p=[(0.2, 0.3, 0.5), (0.6, 0.3, 0.1)][which])
    columns = {"x": x, "w": w, "b": b, "y": y, "who": who, "g": g}
    return {name: values.tolist() for name, values in columns.items()}


def setup_of(name: str, unit: str, *, intercept: bool, crossed: bool = False, **more: object) -> Setup:
    mechanism, settings = SETTINGS[name]
    design = discreet.Design("y", CROSSED if crossed else COLUMNS, unit=UNITS[unit], intercept=intercept)
    return Setup(mechanism, design, settings, delta=0.0 if name in PURE else 1e-6, **more)


def two_runs(setup: Setup, unit: str, seed: int = 3) -> tuple[Run, Run]:
    first = seeded(seed)
    watched_release(setup, unrelated(0, unit), first)
    second = shifted(setup, first)
    watched_release(setup, unrelated(1, unit), second)
    return first, second


def assert_in_step(first: Run, second: Run) -> None:
    assert first.release.to_json() == second.release.to_json()
    assert len(first.passes) == len(second.passes)
    # the exact sums differ, or the test would show nothing
    assert first.passes[0].totals != second.passes[0].totals
    for one, other in zip(first.passes, second.passes, strict=True):
        assert one.question == other.question, "the second table was asked another question"
        assert len(one.draws) == len(other.draws)


class Chosen:
    """Takes given places, whatever the scores are: every variate is beyond all of them."""

    private = False

    def __init__(self, indices):
        self._places = iter(indices)

    def laplace(self, scales):
        return [2**80] * len(scales)

    def bits(self, how_many):
        return next(self._places)


def assert_choices_decide(unit: str, seed: int, *, intercept: bool) -> None:
    """Frank-Wolfe publishes a function of the places that are chosen, for any table."""
    design = discreet.Design("y", COLUMNS, unit=UNITS[unit], intercept=intercept)
    radius, iterations = 1.5, 5
    setup = Setup("frank-wolfe", design, {"iterations": iterations, "radius_l1": radius})
    columns = len(setup.indices)
    indices = np.random.default_rng(seed).integers(0, 2 * columns, iterations).tolist()
    expected = np.zeros(len(design.released) - 1)
    for step, index in enumerate(indices):
        expected = (1 - 2 / (step + 2)) * expected
        expected[setup.indices[index % columns]] += 2 / (step + 2) * (radius if index < columns else -radius)
    for which in (0, 1):
        made = watched_release_of_choices(setup, unrelated(which, unit), Chosen(indices))
        assert made.coefficients.values == tuple(expected.tolist())


def watched_release_of_choices(setup: Setup, data: object, chosen: Chosen) -> discreet.Release:
    return release_with(
        chosen,
        data,
        setup.design,
        PrivacyBudget(setup.epsilon, 0.0),
        ReleaseOptions(mechanism=setup.mechanism, settings=setup.settings, grid_bits=setup.grid_bits),
    )


def staged_setup(unit: str, *, intercept: bool, robust: bool = False) -> Setup:
    return Setup("staged", discreet.Design("y", CROSSED, unit=UNITS[unit], intercept=intercept), robust=robust)


def refined_setup(unit: str, *, intercept: bool) -> Setup:
    return Setup("refined", discreet.Design("y", COLUMNS, unit=UNITS[unit], intercept=intercept))


def replayed_release(setup: Setup, data: object, sampler: ReplaySampler) -> tuple[str, list[object]]:
    """The release of a table with the noise of a replay, and every question that was put to the table."""
    run = Run(lambda *_: [])
    run.draw = sampler.draw
    release = watched_release(setup, data, run)
    return release.to_json(), [one.question for one in run.passes]


def assert_replayed(setup: Setup, unit: str, seed: int) -> ReplaySampler:
    """A function of its noisy numbers is published: each comparison of a search depends on those before."""
    first = ReplaySampler(SeededSampler(seed))
    second = ReplaySampler(SeededSampler(seed), first)
    kept, asked = replayed_release(setup, unrelated(0, unit), first)
    again, asked_again = replayed_release(setup, unrelated(1, unit), second)
    assert kept == again
    assert asked == asked_again, "the second table was asked another question"
    assert first.scales == second.scales
    # the exact numbers differ, or the test would show nothing
    assert sum(a != b for a, b in zip(first.exact, second.exact, strict=True)) > len(first.exact) / 2
    return first
