"""Judges of a program that may be broken: each gives what it found, and nothing for a program that is right.

A judge runs `discreet.release`, the estimator or the primitives. What is patched is none of its business. Judges of the
kinds `audit` and `verify` are commands that anybody can run; `lockstep`, `requests` and `exact` belong to the tests.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet import primitives
from discreet.audit import audited_mechanisms as mechanisms
from discreet.audit.auditing import Task, audited
from discreet.audit.auditing import audit as audit_method
from discreet.audit.judging import Claim
from discreet.audit.noise_tests import agreement_check
from discreet.audit.runs import release_numbers
from discreet.errors import AfterSpendError, ReleaseFileError
from discreet.privacy.gaussian_dp import delta_from
from support.lockstep_pairs import assert_choices_decide, assert_in_step, setup_of, two_runs
from support.noise_requests import Case, differences, made

# false alarms of a judge that draws noise, each time it is run
ALPHA = 1e-9
DESIGN = discreet.Design("y", {"y": (-1, 1), "x": (-1, 1)})


@dataclass(frozen=True)
class Judge:
    """What is run.

    Attributes
    ----------
    kind
        `audit`, `lockstep`, `requests`, `verify` or `exact`.
    name
        On what.
    findings
        One sentence for each thing that is wrong.
    """

    kind: str
    name: str
    findings: Callable[[], Sequence[str]]


def audit(entry: str, draws: int = 200, *, whole: int = 50) -> Judge:
    """`discreet audit` of one entry at epsilon = 1, with so many draws of each table, fewer through the whole path."""

    def findings() -> Sequence[str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mechanisms, "WHOLE_DRAWS", whole)
            return audited(Task(entry, 1.0, draws, ALPHA)).violations

    return Judge("audit", entry, findings)


def lockstep(name: str) -> Judge:
    """Two unrelated tables with equal noisy sums publish the same bits, through `release` with noise from a seed."""
    return Judge("lockstep", name, partial(_out_of_step, name))


def _out_of_step(name: str) -> list[str]:
    try:
        assert_in_step(*two_runs(setup_of(name, "add-remove", intercept=True), "add-remove"))
    except (AssertionError, AfterSpendError) as error:
        if "unexpected failure" in str(error) and "AssertionError" not in str(error):
            # a mistake of the mistake's own shows nothing
            raise
        return ["what is published is no function of the noisy sums"]
    return []


def requests(name: str, mechanism: str, settings: Mapping[str, object] | None = None, **options: object) -> Judge:
    """The variates that `release` requests are those that the file states, scale by scale."""

    def findings() -> list[str]:
        case = Case(mechanism, settings=settings or {}, options=options)
        return [f"variates other than the file states: {one}" for one in differences(lambda: made(case))]

    return Judge("requests", name, findings)


def choices() -> Judge:
    """Two tables for which the same vertices are chosen publish the same coefficients."""

    def findings() -> list[str]:
        try:
            for seed in range(3):
                assert_choices_decide("add-remove", seed, intercept=True)
        except AssertionError:
            return ["what is published is no function of the choices"]
        return []

    return Judge("lockstep", "frank-wolfe", findings)


def standardised_pair() -> Judge:
    """`discreet.audit.audit` of the estimator, on rows near 0 with or without one far away."""
    near = [[0.01], [-0.01]] * 1000

    def method(rows: list[list[float]]) -> list[float]:
        model = discreet.PrivateLinearRegression(
            epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-1, 1), mechanism="gaussian"
        )
        return release_numbers(model.fit(rows, [0.0] * len(rows)).release_)

    def findings() -> list[str]:
        pair = ([*near, [1.0]], near)
        result = audit_method(method, [pair], Claim(1.0, 1e-6), draws=220, confidence=1 - ALPHA)
        return [one for case in result.cases for one in case.violations]

    return Judge("audit", "gaussian estimator", findings)


def verified(mechanism: str, delta: float = 1e-6, *, robust: bool = False, **settings: object) -> Judge:
    """`discreet.verify`: the loss forwards from the noise that a release states."""

    def findings() -> list[str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = discreet.release(
                {"x": [1.0], "y": [1.0]}, DESIGN, epsilon=1.0, delta=delta, mechanism=mechanism, settings=settings,
                robust=robust,
            )  # fmt: skip
        try:
            discreet.verify(made)
        except ReleaseFileError as refusal:
            return [str(refusal)]
        return []

    return Judge("verify", mechanism, findings)


def coarse_lattice() -> Judge:
    """The delta of discrete Gaussian noise on a coarse grid, by summing over the integers.

    A change by a little more than one step may be one by two. At this epsilon noise of two steps has 1.5 times the
    delta of continuous noise, so that whoever forgets the difference promises too much.
    """
    epsilon, sensitivity, apart = 6.8838, 1.0001, 2
    delta = delta_from(epsilon, (sensitivity + 1) / 2) * (1 + 1e-3)

    def findings() -> list[str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sigma = primitives.gaussian([0.0], sensitivity, epsilon, delta, step=1.0).sigma
        places = np.arange(-math.ceil(60 * sigma), math.ceil(60 * sigma) + 1)
        weights = np.exp(-(places**2) / (2 * sigma**2))
        chances = weights / weights.sum()
        found = math.fsum(np.maximum(chances[:-apart] - math.exp(epsilon) * chances[apart:], 0.0))
        return [f"delta is {found:.3g}, claimed {delta:.3g}"] if found > delta * (1 + 1e-9) else []

    return Judge("exact", "primitives.gaussian on a coarse grid", findings)


def wishart_reference(draws: int = 300) -> Judge:
    """One pass of `irls` with Wishart noise against noise of SciPy put into the equations of its page."""

    def findings() -> list[str]:
        table = {"x": [1.0, -1.0] * 400, "y": [0.05, -0.05] * 400}
        settings = {"iterations": 1, "form": "moment", "noise": "wishart", "average": False}
        made = [
            discreet.release(table, DESIGN, epsilon=1.0, delta=1e-6, mechanism="irls", settings=settings)
            for _ in range(draws)
        ]
        found = np.array([one.coefficients.values for one in made])
        check = agreement_check("coefficients", found, _reference(made[0].noise, table, 20_000), ALPHA)
        return [] if check.passed else [f"coefficients lie {check.distance:.2f} from their distribution"]

    return Judge("exact", "irls wishart", findings)


def _reference(distribution: discreet.NoiseDistribution, table: dict[str, list[float]], draws: int) -> np.ndarray:
    """Least squares on weighted moments; every residual at coefficients 0 is below the threshold, so weights are 1."""
    rows = np.array([np.ones(len(table["x"])), table["x"], table["y"]])
    degrees = distribution.parameters["degrees"]
    row = math.sqrt(distribution.sigma["gram_diagonal"] / distribution.unit)
    scales = np.diag([row, row, distribution.sigma["cross"] / distribution.unit / row])
    noise = stats.wishart(degrees, scales**2).rvs(draws, random_state=0)
    noisy = rows @ rows.T + noise
    edge = distribution.sd("gram_diagonal") * 2
    found = []
    for matrix in noisy:
        gram = matrix[:2, :2] - degrees * row**2 * np.eye(2)
        values, vectors = np.linalg.eigh(gram)
        values = values + max(0.0, edge - values[0])
        found.append(vectors @ ((vectors.T @ matrix[:2, 2]) / values))
    return np.array(found)
