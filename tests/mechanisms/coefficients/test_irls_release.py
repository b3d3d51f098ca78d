"""Robust regression with noise through the public functions: releases, persons, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.curator.sums.gram import ExactGram
from discreet.curator.table import accumulate
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.mechanisms.irls import PrivateIRLS
from discreet.mechanisms.registry import mechanism_named
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.iterative_runs import COLUMNS, prepared, simulated
from support.tables import Untouchable

RELATIONS = ("add-remove", "replace")
FORMS = ("score", "moment")
IRLS = PrivateIRLS()


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("form", FORMS)
def test_a_release_through_the_front_door(neighbours, form):
    design = Design("y", COLUMNS, unit={"neighbours": neighbours})
    table = simulated(4000, np.random.default_rng(6))
    made = discreet.release(
        table, design, epsilon=2.0, delta=1e-6, mechanism="irls", settings={"form": form, "iterations": 4}
    )
    assert made.kind == "coefficients"
    assert made.guarantee.epsilon == 2.0
    assert len(made.coefficients.trace) == 4
    assert discreet.Release.from_json(made.to_json()) == made
    assert made.noise.calibration == "gaussian"


def test_persons_are_read_with_their_cap():
    rng = np.random.default_rng(7)
    design = Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"id": "person", "max_rows": 2})
    table = {"person": [f"p{k // 3}" for k in range(90)], "x": rng.random(90), "y": rng.random(90)}
    made = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="irls", settings={"iterations": 2})
    alone = IRLS.noise_model(
        Design("y", {"x": (0, 1), "y": (0, 1)}), RowDomain.of(design), PrivacyBudget(1.0, 1e-6), made.settings
    )
    for block, sigma in made.noise.sigma.items():
        assert sigma / alone.sigma[block] == pytest.approx(2, rel=1e-9)
    sums = ExactGram(3, 16)
    assert accumulate(open_source(table), design, RowDomain.of(design), ComputeOptions(), sums).values[0] == 60 * 4**16


@pytest.mark.parametrize(
    ("budget", "settings", "message"),
    [
        ({"epsilon": 1.0}, {"noise": "gaussian"}, "delta"),
        ({"epsilon": 1.0, "delta": 1e-6}, {"noise": "cauchy"}, "noise"),
        ({"epsilon": 1.0, "delta": 1e-6}, {"form": "scores"}, "form"),
        ({"epsilon": 1.0, "delta": 1e-6}, {"power": 0.5}, "power"),
        ({"epsilon": 1.0, "delta": 1e-6}, {"threshold": 0}, "threshold"),
        ({"epsilon": 1.0, "delta": 1e-6}, {"iterations": -1}, "iterations"),
        ({"epsilon": 1.0, "delta": 1e-6}, {"composition": "renyi"}, "composition"),
        ({"epsilon": 0.001, "delta": 1e-6, "grid_bits": 26}, {"iterations": 1000}, r"from 8 to \d+, or raise"),
    ],
)  # fmt: skip
def test_bad_budgets_and_settings_are_refused_before_data_is_read(budget, settings, message):
    design = Design("y", COLUMNS)
    with pytest.raises(SpecError, match=message):
        discreet.release(Untouchable(), design, mechanism="irls", settings=settings, **budget)


def test_a_budget_in_another_currency_is_refused():
    design = Design("y", COLUMNS)
    settings = prepared(IRLS, design).settings
    with pytest.raises(SpecError, match="epsilon and delta"):
        IRLS.noise_model(design, RowDomain.of(design), PrivacyBudget.zcdp(0.1), settings)


def test_the_registry_knows_it():
    assert mechanism_named("irls").kind == "coefficients"
    promised = Guarantee.promised(Design("y", COLUMNS).unit, PrivacyBudget(1.0, 1e-6))
    assert (promised.epsilon, promised.delta) == (1.0, 1e-6)


@pytest.mark.parametrize(("form", "passes"), [("score", 100), ("moment", 10)])
def test_without_a_number_of_iterations_the_form_has_its_usual_one(form, passes):
    table, design = {"x": [0.5, -0.5], "y": [0.5, 0.0]}, Design("y", {"x": (-1, 1), "y": (-1, 1)})
    budget = {"epsilon": 1.0, "delta": 1e-6, "mechanism": "irls"}
    made = discreet.release(table, design, **budget, settings={"form": form})
    assert len(made.coefficients.trace) == passes
    asked = discreet.release(table, design, **budget, settings={"form": form, "iterations": passes})
    assert asked.noise == made.noise
