"""The pass over residuals: every model's sum is the one of its own release, read once, and refused in time."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.analyst.residual_plan import residual_plan
from discreet.audit.runs import SyntheticRows
from discreet.curator.sums.residuals import ResidualGram, ResidualPass
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.errors import SpecError
from discreet.ledger.ledger import Ledger
from discreet.options import RobustErrors
from discreet.workflow import with_residuals
from support.tables import Untouchable

DESIGN = Design("y", {"x": (-1, 1), "z": (-1, 1), "g": ["a", "b", "c"], "y": (-4, 4)})
MODELS = ["y ~ x", "y ~ x + g", "z ~ y"]


def table_of(rows, seed=1):
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-1, 1, (2, rows))
    g = rng.choice(["a", "b", "c"], rows)
    return {"x": x, "z": z, "g": g, "y": 0.3 + x - z / 2 + (g == "b") + rng.normal(size=rows) * (0.1 + x**2)}


@pytest.fixture(scope="module")
def made():
    return discreet.testing.seeded_release(
        table_of(400), DESIGN, seed=3, epsilon=2.0, delta=1e-6, robust=RobustErrors(models=MODELS)
    )


class NoNoise:
    private = False

    def draw(self, sigmas):
        return [0] * len(sigmas)


def test_one_pass_gives_every_models_own_sum(made):
    """Without noise each part is the Gram of a design that has this model alone, at the same coefficients and bound."""
    domain, asked = RowDomain.of(DESIGN), []
    rows = SyntheticRows(table_of(400), DESIGN, domain)

    def read(wanted):
        asked.append(wanted)
        return rows.sums(wanted)

    part = with_residuals(made, domain, None, read, NoNoise()).residuals
    assert len(asked) == 1
    assert isinstance(asked[0], ResidualPass)
    alone = Design("y", {"x": (-1, 1), "g": ["a", "b", "c"], "y": (-4, 4)})
    gram = ResidualGram(RowDomain.of(alone), 4, part.further[1].coefficients, part.further[1].bound)
    table = {name: values for name, values in table_of(400).items() if name != "z"}
    assert part.further[1].totals == SyntheticRows(table, alone, RowDomain.of(alone)).sums(gram).values
    assert [len(one.totals) for one in (part, *part.further)] == [15, 3, 10, 3]


def test_every_model_has_its_own_coefficients_and_bound(made):
    for formula, part, columns in zip(MODELS, made.residuals.further, made.noise.models, strict=True):
        fit = discreet.fit(made, formula)
        assert part.coefficients == tuple(fit.scaled_coefficients.tolist())
        assert part.bound == residual_plan(made, None, columns).bound
    assert made.robust_models == ("y ~ x", "y ~ x + g", "z ~ y")


def test_a_declared_bound_is_for_models_of_the_target_of_the_design(made):
    plans = [residual_plan(made, 0.25, columns) for columns in (None, *made.noise.models)]
    assert [plan.bound == 0.25 for plan in plans] == [True, True, True, False]


REFUSED = {
    "unknown column": ({"models": ["y ~ q"]}, "unknown column 'q'"),
    "twice": ({"models": ["y ~ x", "y ~ x"]}, "describe the same model"),
    "full": ({"models": ["y ~ g + z + x"]}, "is the full model"),
    "text": ({"models": "y ~ x"}, "expected a list"),
    "laplace": ({"mechanism": "laplace"}, "need the mechanism 'gaussian' or 'staged', got 'laplace'"),
    "no delta": ({"delta": 0.0}, "need delta above 0"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_requests_open_no_table_and_spend_nothing(options, message, tmp_path):
    ledger = Ledger.create(tmp_path / "l.db")
    ledger.declare("d", epsilon=5.0, delta=1e-5)
    asked = {"epsilon": 1.0, "delta": 1e-6, "models": ["y ~ x"]} | options
    models = asked.pop("models")
    with pytest.raises(SpecError, match=message) as caught:
        discreet.release(Untouchable(), DESIGN, spend=ledger.account("d"), robust=RobustErrors(models=models), **asked)
    assert caught.value.exit_code == 2
    assert ledger.status("d").requests == 0


def test_a_release_with_weights_and_one_of_persons_have_them_too():
    table = table_of(60) | {"w": np.linspace(0, 2, 60), "who": np.arange(60) // 2}
    weighted = Design("y", {**DESIGN.columns, "w": (0, 2)}, weights="w", weights_are="sampling")
    persons = Design("y", dict(DESIGN.columns), unit={"id": "who", "max_rows": 2})
    for design in (weighted, persons):
        release = discreet.release(
            table, design, epsilon=1.0, delta=1e-6, robust=RobustErrors(models=["y ~ 1", "y ~ x"])
        )
        assert discreet.Release.from_json(release.to_json()) == release
        assert discreet.verify(release).loss.delta <= 1e-6
        assert [len(part.totals) for part in release.residuals.further] == [1, 3]


def test_another_order_of_the_models_is_the_same_request(tmp_path):
    ledger = Ledger.create(tmp_path / "books.db")
    ledger.declare("d", epsilon=5.0, delta=1e-5)
    asked = {"epsilon": 1.0, "delta": 1e-6}
    given = (MODELS, MODELS[::-1], set(MODELS))
    made = [
        discreet.release(table_of(60), DESIGN, robust=RobustErrors(models=models), spend=ledger.account("d"), **asked)
        for models in given
    ]
    assert len({release.to_json() for release in made}) == 1
    assert ledger.status("d").requests == 1
    other = discreet.release(
        table_of(60), DESIGN, robust=RobustErrors(models=MODELS[:2]), spend=ledger.account("d"), **asked
    )
    assert other.robust_models == ("y ~ x", "y ~ x + g")
    assert ledger.status("d").requests == 2
