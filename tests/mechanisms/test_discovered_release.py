"""Releases that find bounds: what they publish, what stops them, and that exact counts decide nothing."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import discreet
from discreet.accounting.noise_distribution import DISCOVERY, entry_blocks
from discreet.curator.sums.cell_counts import DyadicCells
from discreet.curator.table import Table
from discreet.design.domain import RowDomain
from discreet.errors import BoundsNotFound, GuardStop, ReleaseFileError, SpecError
from discreet.mechanisms.sampler import ExactSampler
from discreet.options import ReleaseOptions, RobustErrors
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.spend import SpendReceipt
from discreet.releases import Release
from discreet.releases.fields import digest_of, found_bounds
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from discreet.testing import exact_release, seeded_release
from discreet.workflow import release_with
from support.release_edits import edited

DESIGN = discreet.Design("y", {"y": "private", "x": {"bounds": "private", "within": (0, 32)}, "b": bool})
# noise alone finds bounds of all six with a probability below 1e-12, and few rows of theirs share a cell
MANY = discreet.Design("y", {**{f"x{place}": "private" for place in range(5)}, "y": "private"})
ROWS = 3000


def table(rows=ROWS, seed=1, scale=20.0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, scale, rows)
    return {"x": x, "b": rng.uniform(size=rows) < 0.4, "y": 0.5 * x + rng.normal(0, 1, rows)}


def spread(rows=300):
    """Numbers of all sizes."""
    rng = np.random.default_rng(8)
    return {name: (2.0 ** rng.uniform(-18, 18, rows)).tolist() for name in MANY.columns}


MADE = discreet.release(table(), DESIGN, epsilon=4.0, delta=1e-6)


def test_a_release_has_the_bounds_that_its_counts_show():
    assert MADE.found_bounds == found_bounds(MADE.discovery, DESIGN, "discrete-gaussian")
    assert MADE.found_bounds == {name: MADE.design.columns[name].bounds for name in ("y", "x")}
    low, high = MADE.found_bounds["x"]
    # cells that a tenth of the rows are in stand 30 standard deviations above the threshold
    assert high == 32.0
    assert low <= 4.0
    assert MADE.design.searched == ()
    assert list(MADE.design.ranges) == ["y", "x"]
    assert discreet.release(table(), MADE.design, epsilon=1.0, delta=1e-6).found_bounds is None
    assert discreet.fit(MADE).params["x"] == pytest.approx(0.5, abs=0.2)


def test_the_file_holds_everything_and_is_verified():
    back = Release.from_json(MADE.to_json())
    assert back == MADE
    assert back.full_noise.sigma[DISCOVERY] == MADE.discovery.sigma
    found = discreet.verify(MADE)
    assert 0.99 * 4 < found.epsilon_given <= 4


COUNTS = [str(one) for one in MADE.discovery.cells["x"]]
REFUSED = {
    "counts that show other bounds": (
        {"discovery__cells__x": [str(10**20), *COUNTS[1:]]},
        "do not follow from the counts",
    ),
    "other bounds": ({"design__columns__x__bounds": [0.0, 30.0]}, "do not follow from the counts in 'discovery'"),
    "another range": ({"design__columns__x__within": [0, 8]}, "do not follow from the counts|must have"),
    "a cell too many": ({"discovery__cells__x": [*COUNTS, "0"]}, "must have 41 counts for 'x'"),
    "a column missing": ({"discovery__cells": {"x": COUNTS}}, "exactly the columns"),
    "no counts": ({"discovery__cells": {}}, "exactly the columns"),
    "less noise than was promised": (
        {"discovery__sigma": str(MADE.discovery.sigma // 3)},
        "do not follow from the counts|is stronger",
    ),
    "no noise": ({"discovery__sigma": "0"}, "do not follow from the counts|expected noise"),
    "bounds that are yet private": (
        {"design__columns__x": {"bounds": "private"}},
        "so the release must have the field 'discovery'",
    ),
    "a bound that nobody found": ({"design__columns__x": {"bounds": list(MADE.found_bounds["x"])}}, "exactly the"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_whose_parts_contradict_each_other_is_refused(name):
    changes, words = REFUSED[name]
    with pytest.raises(ReleaseFileError, match=words):
        Release.from_json(edited(MADE, **changes))


def test_a_file_without_the_counts_is_refused():
    body = json.loads(MADE.to_json())
    del body["discovery"]
    body["digest"] = digest_of(body)
    with pytest.raises(ReleaseFileError, match="so the release must have the field 'discovery'"):
        Release.from_json(json.dumps(body))


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("mechanism", "delta", "options"),
    [
        ("gaussian", 1e-6, {"robust": True, "clip_counts": True}), ("laplace", 0.0, {"clip_counts": True}),
        ("k-norm", 0.0, {}), ("ssp", 1e-6, {}), ("adassp", 1e-6, {}), ("functional", 0.0, {}), ("dpme", 0.0, {}),
        ("frank-wolfe", 0.0, {}), ("irls", 1e-6, {}), ("gradient", 1e-6, {}), ("output", 1e-6, {}),
        ("refined", 1e-6, {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("unit", [{}, {"neighbours": "replace"}])
def test_every_mechanism_runs_on_the_bounds_that_were_found(mechanism, delta, options, unit):
    design = discreet.Design("y", dict(DESIGN.columns), unit=unit)
    made = discreet.release(table(), design, epsilon=8.0, delta=delta, mechanism=mechanism, **options)
    assert Release.from_json(made.to_json()) == made
    assert made.found_bounds["x"][1] == 32.0
    assert discreet.fit(made).params["x"] is not None
    if made.clip_counts is not None:
        outside = np.sum((table()["x"] < made.found_bounds["x"][0]) | (table()["x"] > 32.0))
        # a normal variate is never 8 standard deviations off, a Laplace one 30 of its scales
        assert abs(made.clip_counts["x"].value - outside) < 22 * made.clip_counts["x"].sd


def test_persons_of_several_rows_and_rules_for_missing_cells():
    rows = table()
    rows["x"] = [None if place % 50 == 0 else one for place, one in enumerate(rows["x"].tolist())]
    rows["who"] = [f"p{place // 2}" for place in range(ROWS)]
    columns = {**DESIGN.columns, "x": {"bounds": "private", "within": (0, 32), "missing": {"fill": 31}}}
    design = discreet.Design("y", columns, unit={"id": "who", "max_rows": 2})
    made = discreet.release(rows, design, epsilon=6.0, delta=1e-6)
    assert Release.from_json(made.to_json()) == made
    assert made.found_bounds["x"][1] == 32.0
    assert made.design.redeclared().columns["x"].fill == 31.0


@pytest.mark.parametrize("words", ["residual bound", "wishart"])
def test_what_depends_on_bounds_that_are_not_known_is_refused_before_the_spend(words):
    options = {"robust": RobustErrors(residual_bound=1.0)} if words == "residual bound" else {"mechanism": words}
    spent = []

    def spend(request):
        spent.append(request)
        return SpendReceipt("here")

    with pytest.raises(SpecError, match="private"):
        discreet.release(table(), DESIGN, epsilon=1.0, delta=1e-6, spend=spend, **options)
    assert not spent


def test_testing_functions_say_that_bounds_are_needed_or_find_them_too():
    with pytest.raises(SpecError, match=r"only discreet\.release supports"):
        exact_release(table(), DESIGN)
    one, two = (seeded_release(table(), DESIGN, seed=4, epsilon=4.0, delta=1e-6) for _ in range(2))
    assert one == two
    assert one.found_bounds
    assert Release.from_json(one.to_json()) == one
    assert exact_release(table(), MADE.design).design == MADE.design.redeclared()


# -- not found is a result -------------------------------------------------------------------------------------------


def test_without_a_ledger_the_message_says_what_was_spent():
    with pytest.raises(
        BoundsNotFound, match="which no ledger recorded, and repeating it spends the same again"
    ) as stopped:
        discreet.release(spread(), MANY, epsilon=0.5, delta=1e-6)
    assert {*stopped.value.columns} <= {*MANY.columns}
    spent = float(re.search(r"search spent epsilon = ([0-9]+[.]?[0-9]*)", str(stopped.value))[1])
    assert 0 < spent < 0.3 * 0.5
    assert stopped.value.exit_code == 5
    with pytest.raises(BoundsNotFound, match=r"search spent epsilon = 0\.025, delta = 0,"):
        discreet.release(spread(), MANY, epsilon=0.5)


@pytest.fixture
def ledger(tmp_path):
    made = discreet.Ledger.create(tmp_path / "ledger.db")
    made.declare("rows", epsilon=4.0, delta=1e-5)
    return made


def test_a_ledger_gets_the_rest_back_and_gives_the_same_verdict(ledger):
    def ask(**more):
        spend = ledger.account("rows", accept_changed_data=True, **more)
        with pytest.raises(BoundsNotFound, match="were not found at this budget") as stopped:
            discreet.release(spread(), MANY, epsilon=1.0, delta=1e-6, spend=spend)
        return str(stopped.value)

    before = ledger.status("rows").spent_epsilon
    first = ask()
    once = ledger.status("rows").spent_epsilon
    assert "Data set 'rows' has spent" in first
    assert 0 < once - before < 0.5
    assert ask() == first
    assert ledger.status("rows").spent_epsilon == once
    ask(new_release=True)
    assert ledger.status("rows").spent_epsilon > once


def test_what_a_ledger_has_is_given_again(ledger):
    def ask():
        spend = ledger.account("rows", accept_changed_data=True)
        return discreet.release(table(20_000), DESIGN, epsilon=2.0, delta=1e-6, spend=spend)

    assert ask() == ask()


@pytest.mark.parametrize(("dropped", "error"), [(0, BoundsNotFound), (20_000, GuardStop)])
def test_a_guard_is_asked_first(ledger, dropped, error):
    rows = {name: [*cells, *[1.0] * dropped] for name, cells in spread().items()}
    rows["x0"] = [*rows["x0"][:300], *[None] * dropped]
    design = discreet.Design("y", {**MANY.columns, "x0": {"bounds": "private", "missing": "drop"}})
    spend = ledger.account("rows", accept_changed_data=True)
    with pytest.raises(error):
        discreet.release(rows, design, epsilon=1.0, delta=1e-6, guard=True, spend=spend)


def test_a_guard_and_a_discovery_are_published_together(ledger):
    spend = ledger.account("rows", accept_changed_data=True)
    made = discreet.release(table(20_000), DESIGN, epsilon=2.0, delta=1e-6, guard=True, spend=spend)
    assert made.guard_counts["fitting"].value == pytest.approx(20_000, rel=0.2)
    assert made.found_bounds
    assert Release.from_json(made.to_json()) == made


# -- exact counts decide nothing -------------------------------------------------------------------------------------


class Moved:
    """The production sampler, with variates that are moved by what another table's exact numbers differ by."""

    private = True

    def __init__(self, drawn=(), moves=()):
        self.drawn, self._again, self._moves = [], list(drawn), list(moves)

    def draw(self, sigmas):
        values = self._again.pop(0) if self._again else ExactSampler().draw(sigmas)
        self.drawn.append(values)
        moves = self._moves.pop(0) if self._moves else [0] * len(values)
        return [value + move if sigma else 0 for value, move, sigma in zip(values, moves, sigmas, strict=True)]


def with_noise(sampler, rows):
    return release_with(sampler, rows, DESIGN, PrivacyBudget(4.0, 1e-6), ReleaseOptions(mechanism="gaussian"))


def exact_counts(rows):
    with Table(open_source(rows), DESIGN, RowDomain.of(DESIGN), ComputeOptions()) as opened:
        return opened.sums(DyadicCells(DESIGN)).values


def test_two_unrelated_tables_with_equal_noisy_numbers_publish_the_same_bits():
    one, other = table(), table(1500, seed=2, scale=0.01)
    first = Moved()
    made = with_noise(first, one)
    unit = made.noise.unit
    counts = [(a - b) * unit for a, b in zip(exact_counts(one), exact_counts(other), strict=True)]
    here, there = (exact_release(rows, made.design).totals for rows in (one, other))
    sums = [a - b for a, b in zip(here, there, strict=True)]
    again = with_noise(Moved(first.drawn, [counts, sums]), other)
    assert again.to_json() == made.to_json()
    # negative control: with its own noise the other table has other bounds
    assert len(sums) == len(entry_blocks(len(made.columns)))
    assert with_noise(Moved(), other).found_bounds != made.found_bounds


# -- what people are told --------------------------------------------------------------------------------------------


def test_fits_descriptions_and_pages_say_which_bounds_were_found():
    low, high = MADE.found_bounds["x"]
    text = " ".join(discreet.fit(MADE).summary().split())
    assert f"Privately estimated bounds, from noisy counts in this release: y [{MADE.found_bounds['y'][0]:g}," in text
    assert f"x [{low:g}, {high:g}]. Values outside were clipped. Clipping biases coefficients" in text
    assert "declared bounds" not in text
    alone = " ".join(discreet.fit(MADE, target="b", features=["x"]).summary().split())
    assert f"in this release: x [{low:g}, {high:g}]. Values" in alone
    summed = discreet.release(table(), DESIGN, epsilon=4.0, delta=1e-6, mechanism="gaussian")
    described = summed.describe()
    assert "clipped to their bounds" in repr(described)
    assert "Bounds found privately: y, x." in repr(described)
    assert described.to_dict()["found_bounds"] == ["y", "x"]
    assert f"{low:g} to {high:g}, found privately" in discreet.report(MADE).html
    plain = discreet.release(table(), MADE.design, epsilon=4.0, delta=1e-6, mechanism="gaussian")
    assert "found privately" not in discreet.fit(plain).summary()
    assert "found_bounds" not in plain.describe().to_dict()


def test_a_check_copes_and_a_plan_needs_a_mean_and_an_sd():
    found = discreet.check(table(), DESIGN)
    assert found.column("x").searched
    assert "Private bounds: y, x." in " ".join(repr(found).split())
    assert found.column("x").to_dict()["searched"]
    assert "searched" not in found.column("b").to_dict()
    for plan in (
        lambda: discreet.plan(DESIGN, rows=100, epsilon=1.0),
        lambda: discreet.planning.smallest_rows(DESIGN, "x", 1.0, epsilon=1.0),
    ):
        with pytest.raises(
            SpecError, match="column 'y' has private bounds, so a plan needs its expected mean and sd; state both"
        ):
            plan()
    # the noise does not depend on the bounds
    assert discreet.planning.noise_distribution_for(DESIGN, 4.0, 1e-6).sigma == MADE.noise.sigma
    summed = discreet.release(table(), DESIGN, epsilon=4.0, delta=1e-6, mechanism="gaussian")
    assert discreet.planning.second_release(summed, epsilon=1.0, delta=1e-6).both.epsilon == 5.0


@pytest.mark.parametrize("bounds", ["private", {"x0": "private", "x1": {"bounds": "private", "within": (0, 64)}}])
@pytest.mark.parametrize("mechanism", ["auto", "refined"])
def test_the_estimator_finds_bounds_too(bounds, mechanism):
    rng = np.random.default_rng(3)
    rows = rng.uniform(1, 20, (5000, 2))
    target = rows @ [1.0, 0.5] + rng.normal(0, 1, 5000)
    model = discreet.PrivateLinearRegression(
        epsilon=4.0, delta=1e-6, bounds=bounds, target_bounds="private", mechanism=mechanism
    ).fit(rows, target)
    assert set(model.release_.found_bounds) == {"x0", "x1", "y"}
    assert model.score(rows, target) > 0.8
    few = discreet.PrivateLinearRegression(epsilon=0.5, delta=1e-6, bounds="private", target_bounds="private")
    with pytest.raises(BoundsNotFound):
        few.fit(2.0 ** rng.uniform(-18, 18, (300, 6)), 2.0 ** rng.uniform(-18, 18, 300))
