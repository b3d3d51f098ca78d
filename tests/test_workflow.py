"""The straight line from a table to a release: what it refuses, what it records, what never leaks."""

from __future__ import annotations

import base64
import json
import struct
import warnings
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.design.design import Design
from discreet.errors import (
    AfterSpendError,
    BudgetError,
    ColumnNotice,
    GuardStop,
    LedgerError,
    PrivacyNotice,
    SpecError,
)
from discreet.ledger.filter import Charge
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.sampler import ExactSampler
from discreet.planning import noise_distribution_for
from discreet.privacy.spend import SpendReceipt

DESIGN = discreet.Design("y", {"x": (0, 1), "y": (0, 10)})
TABLE = {"x": [0.5, 0.25, 0.125], "y": [1.0, 2.0, 3.0]}

BAD_BUDGETS = [
    {"epsilon": 0}, {"epsilon": -1.0}, {"epsilon": float("nan")}, {"epsilon": float("inf")}, {"epsilon": "1"},
    {"epsilon": True}, {"delta": -1e-6}, {"delta": float("nan")}, {"delta": 1.0}, {"delta": 2.0},
    {"delta": 0.0, "mechanism": "gaussian"},
    {"delta": 0.01}, {"epsilon": 21.0}, {"mechanism": "laplce"}, {"mechanism": []}, {"settings": "bins=4"},
    {"grid_bits": 40},
]  # fmt: skip


def test_an_array_without_names_says_which_position_is_which_column_before_anything_is_spent():
    rows = np.array([[0.5, 1.0], [0.25, 2.0]])
    with pytest.warns(ColumnNotice, match="column 0 as 'x', column 1 as 'y'. Tables with column names") as told:
        discreet.release(rows, DESIGN, epsilon=1.0, delta=1e-6)
    assert [warning.filename for warning in told] == [__file__]
    spent = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnNotice)
        with pytest.raises(ColumnNotice):
            discreet.release(rows, DESIGN, epsilon=1.0, delta=1e-6, spend=spent.append)
    assert not spent


def test_ids_are_the_last_column_of_an_array_without_names():
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 10)}, unit={"id": "person", "max_rows": 2})
    rows = np.array([[0.5, 1.0, 7.0], [0.25, 2.0, 7.0], [0.125, 3.0, 8.0]])
    with pytest.warns(ColumnNotice, match="column 0 as 'x', column 1 as 'y', column 2 as 'person'"):
        discreet.release(rows, design, epsilon=1.0, delta=1e-6)
    with pytest.raises(SpecError, match=r"expected .* 3 columns, in this order: 'x', 'y', 'person'; got 2 columns"):
        discreet.release(rows[:, :2], design, epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize("shape", [(3, 3), (3, 1), (3,), (3, 2, 2)], ids=str)
def test_an_array_of_another_form_is_refused_with_both_numbers(shape):
    found = f"got {shape[1]} columns" if len(shape) == 2 else f"got an array with {len(shape)} dimension"
    with pytest.raises(SpecError, match=f"expected an array with two dimensions and 2 columns.*; {found}"):
        discreet.release(np.zeros(shape), DESIGN, epsilon=1.0, delta=1e-6)


def test_tables_with_names_give_no_notice():
    structured = np.array([(0.5, 1.0)], dtype=[("x", "f8"), ("y", "f8")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (TABLE, structured, pa.table(TABLE)):
            discreet.release(table, DESIGN, epsilon=1.0, delta=1e-6)


class Untouchable:
    """A table that fails the test when anybody looks at it."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError("data was opened")


@pytest.mark.parametrize("options", BAD_BUDGETS, ids=str)
def test_bad_requests_are_refused_before_data_is_opened_and_before_anything_is_spent(options):
    spent = []
    with pytest.raises(SpecError) as caught:
        discreet.release(Untouchable(), DESIGN, **{"epsilon": 1.0, "delta": 1e-6, "spend": spent.append, **options})
    assert caught.value.exit_code == 2
    assert spent == []


def test_something_that_is_no_design_is_refused():
    with pytest.raises(SpecError, match="expected a Design, got dict"):
        discreet.release(TABLE, {"target": "y"}, epsilon=1.0, delta=1e-6)


@pytest.mark.parametrize("anchor", ["ledger\n7", "ledger \x1b[31m", "\u202e7"])
def test_an_anchor_that_cannot_be_seen_is_refused_before_the_draw(anchor):
    with pytest.raises(
        LedgerError, match="an anchor with invisible characters, which is not allowed; no noise was drawn"
    ):
        discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, spend=lambda request: SpendReceipt(anchor))


def test_the_spend_is_recorded_before_the_draw_and_its_anchor_is_published():
    requests = []

    def hook(request):
        requests.append(request)
        return SpendReceipt(anchor="ledger 7:abc")

    release = discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, spend=hook)
    assert release.anchor == "ledger 7:abc"
    assert (requests[0].mechanism, requests[0].budget.epsilon, requests[0].unit) == ("staged", 1.0, DESIGN.unit)
    assert discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6).anchor == "untracked"


def test_a_refused_spend_draws_no_noise(monkeypatch):
    def refuse(request):
        raise BudgetError("nothing left")

    monkeypatch.setattr("discreet.mechanisms.sampler.ExactSampler.draw", lambda *_: pytest.fail("noise was drawn"))
    with pytest.raises(BudgetError) as caught:
        discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, spend=refuse)
    assert caught.value.exit_code == 3


def test_the_noise_distribution_is_known_before_the_data():

    planned = noise_distribution_for(DESIGN, 1.0, 1e-6)
    release = discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6)
    assert release.noise == planned
    assert (planned.entry_sd(3) == release.noise_sd).all()


def test_weak_budgets_are_allowed_only_when_asked_for_and_never_quietly():
    with pytest.warns(PrivacyNotice):
        discreet.release(TABLE, DESIGN, epsilon=10.0, delta=1e-6)
    with pytest.warns(PrivacyNotice):
        release = discreet.release(TABLE, DESIGN, epsilon=1e6, delta=1e-6, allow_weak_privacy=True)
    assert release.noise.calibration == "discrete-zcdp"


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
def test_a_huge_epsilon_meets_the_exact_moments():
    rng = np.random.default_rng(1)
    table = {"x": rng.random(1000), "y": rng.random(1000) * 10}
    from discreet.testing.not_private import exact_release

    release = discreet.release(table, DESIGN, epsilon=1e6, delta=1e-6, allow_weak_privacy=True, mechanism="gaussian")
    exact = exact_release(table, DESIGN)
    error = np.abs(release.moments - exact.moments) / release.noise_sd
    # six entries within seven standard deviations: false alarm below 2e-11
    assert error.max() < 7
    assert release.noise_sd.max() < 0.01


def test_two_releases_of_one_table_differ():
    one, two = (discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6) for _ in range(2))
    assert one.totals != two.totals


@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_noise_hides_the_exact_sums_with_the_stated_standard_deviation(neighbours):
    """400 releases: each entry's mean is the exact sum within 7 standard errors, its sd the stated one within 7."""
    from discreet.testing.not_private import exact_release

    design = discreet.Design("y", {"x": (0, 1), "y": (0, 10)}, unit={"neighbours": neighbours})
    made = [discreet.release(TABLE, design, epsilon=1.0, delta=1e-6, mechanism="gaussian") for _ in range(400)]
    draws, exact, sd = np.array([one.moments for one in made]), exact_release(TABLE, design).moments, made[0].noise_sd
    noisy = sd > 0
    assert (~noisy).sum() == (neighbours == "replace")
    scores = (draws - exact)[:, noisy] / sd[noisy]
    assert np.abs(scores.mean(axis=0)).max() < 7 / np.sqrt(400)
    assert np.abs(scores.std(axis=0) - 1).max() < 7 / np.sqrt(2 * 400)
    assert np.abs(1.3 * scores.std(axis=0) - 1).max() > 7 / np.sqrt(2 * 400)
    assert (draws[:, ~noisy] == exact[~noisy]).all()


def test_planted_values_appear_nowhere_in_what_is_published():
    marker = 0.918273645
    table = {"x": [marker, 0.5], "y": [marker, 2.0]}
    release = discreet.release(table, DESIGN, epsilon=1.0, delta=1e-6)
    text = release.to_json() + repr(release) + str(vars(release))
    packed = struct.pack("<d", marker)
    for needle in (repr(marker), str(marker), packed.hex(), base64.b64encode(packed).decode()):
        assert needle not in text


def test_dropped_and_filled_tables_give_the_same_outcome_as_their_neighbours():
    design = discreet.Design(
        "y", {"x": {"bounds": [0, 1], "missing": "drop"}, "y": {"bounds": [0, 10], "missing": {"fill": 5}}}
    )
    for cell in (None, float("nan"), float("inf"), 1e300, -1e300):
        release = discreet.release({"x": [0.5, cell], "y": [1.0, cell]}, design, epsilon=1.0, delta=1e-6)
        assert release.private


@pytest.mark.parametrize("change", ["unlink", "folder", "cells"])
@pytest.mark.parametrize("mechanism", ["irls", "gaussian"])
def test_what_happens_to_the_table_after_it_was_read_changes_nothing(tmp_path, mechanism, change):
    """A file that goes away or changes between two passes: all passes see the rows of the first."""
    path = tmp_path / "t.csv"
    path.write_text("x,y\n0.5,0.5\n0.25,1\n")
    spent = []

    def hook(request):
        spent.append(request)
        path.unlink()
        if change == "folder":
            path.mkdir()
        elif change == "cells":
            path.write_text("x,y\n0.5,SECRETCELL\n0.25,1\n")
        return SpendReceipt("ledger entry 1")

    made = discreet.release(
        path, DESIGN, epsilon=1.0, delta=1e-6, mechanism=mechanism, robust=mechanism == "gaussian", spend=hook
    )
    assert len(spent) == 1
    assert (made.mechanism, made.anchor) == (mechanism, "ledger entry 1")


def test_a_failure_of_foreign_code_after_the_spend_is_told_without_its_words(monkeypatch):
    def broken(*_):
        raise RuntimeError("cell value 0.1234")

    monkeypatch.setattr("discreet.mechanisms.gaussian.GaussianMoments.randomise", broken)
    with pytest.raises(AfterSpendError, match=r"unexpected failure \(RuntimeError\)") as caught:
        discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, mechanism="gaussian")
    assert "0.1234" not in str(caught.value)


@pytest.mark.parametrize("receipt", [None, SpendReceipt(""), SpendReceipt(7)])
def test_a_hook_that_gives_no_receipt_gets_no_noise_drawn(monkeypatch, receipt):
    drawn = []
    monkeypatch.setattr("discreet.mechanisms.sampler.ExactSampler.draw", lambda *_: drawn.append(1))
    with pytest.raises(LedgerError, match="no noise was drawn"):
        discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, spend=lambda _: receipt)
    assert not drawn


@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
@pytest.mark.parametrize("mechanism", ["irls", "gradient", "frank-wolfe", "objective", "dpme", "output", "gaussian"])
def test_a_table_that_can_be_read_once_serves_every_mechanism(mechanism):
    reader = pa.table(TABLE).to_reader()
    assert discreet.release(reader, DESIGN, epsilon=1.0, delta=1e-6, mechanism=mechanism).mechanism == mechanism


def test_a_spend_hook_that_cannot_be_called_is_refused_before_the_table_is_opened():
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    with pytest.raises(SpecError, match=r"spend: expected ledger.account\(name\) or another callable, got NoneType"):
        discreet.release("no such file.csv", design, epsilon=1.0, delta=1e-6, spend=None)


@pytest.mark.parametrize("options", [{"delta": 1e-6}, {}, {"delta": 1e-6, "mechanism": "wishart"}], ids=str)
def test_a_request_says_what_it_costs_in_every_currency(options):
    asked = []

    def hook(request):
        asked.append(request)
        return SpendReceipt("here")

    design = discreet.Design("y", {"y": (0, 1), "x": (0, 1)})
    made = discreet.release({"x": [0.1], "y": [0.2]}, design, epsilon=1.0, spend=hook, **options)
    loss = asked[0].loss
    assert (loss.epsilon, loss.delta) == (1.0, options.get("delta", 0.0))
    if made.guarantee.mu is not None:
        assert 0.99 * made.guarantee.mu < loss.mu <= made.guarantee.mu
        assert 0 < loss.tau <= made.guarantee.mu_gap
        assert loss.failure == 0
    else:
        # what is pure has no delta to fail by, of Wishart noise no more than its delta is known
        assert 0.5 * loss.delta <= loss.failure <= loss.delta


def test_what_is_published_is_what_was_recorded_and_read_back():
    texts = []

    def hook(request):
        def commit(text):
            # a twin was first: what it recorded is what both publish
            texts.append(discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6).to_json())
            assert text != texts[0]
            return texts[0]

        return SpendReceipt("ledger 7", commit=commit)

    made = discreet.release(TABLE, DESIGN, epsilon=1.0, delta=1e-6, spend=hook)
    assert [made.to_json()] == texts


# -- a guard --------------------------------------------------------------------------------------------------------

GUARDED = Design("y", {"y": (0, 10), "x": {"bounds": (0, 5), "missing": "drop"}})
FITS = {"x": [1.0, 2.0, 3.0] * 1000, "y": [2.0, 4.0, 6.0] * 1000}
HARDLY = {"x": ["1,5"] * 2900 + ["2"] * 100, "y": [2.0] * 3000}
KINDS = {"gaussian": ("gdp", 1e-6), "laplace": ("gdp", 0.0), "gradient": ("zcdp", 1e-6), "frank-wolfe": ("gdp", 1e-6)}


def books_with(tmp_path, rule="gdp", epsilon=4.0, delta=1e-5, **options):
    ledger = Ledger.create(tmp_path / "books.db")
    ledger.declare("people", epsilon=epsilon, delta=delta, rule=rule, **options)
    return ledger


def guarded(table, ledger, delta=1e-6, mechanism="auto", epsilon=1.0, **options):
    return discreet.release(
        table, GUARDED, epsilon=epsilon, delta=delta, mechanism=mechanism, guard=True,
        spend=ledger.account("people", **options),
    )  # fmt: skip


@pytest.mark.no_cover
@pytest.mark.parametrize("mechanism", KINDS)
def test_a_release_behind_a_guard_carries_its_counts_and_its_whole_cost(mechanism, tmp_path):
    rule, delta = KINDS[mechanism]
    ledger = books_with(tmp_path, rule)
    made = guarded(FITS, ledger, delta, mechanism)
    counts = made.guard_counts
    assert abs(counts["fitting"].value - 3000) < 12 * counts["fitting"].sd < 30_000
    assert abs(counts["other"].value) < 12 * counts["other"].sd
    (reserved,) = (event for event in ledger.history() if event.kind == "reserve")
    charge = json.loads(stored_bodies(ledger)[reserved.seq])["charge"]
    loss = discreet.verify(made).loss
    assert int(charge["mu2"]) == Charge.of(loss).mu2
    assert int(charge["rho"]) == Charge.of(loss).rho
    made.save(tmp_path / "r.json")
    assert discreet.Release.load(tmp_path / "r.json") == made
    # the same request is the same release, counts and all
    assert guarded(FITS, ledger, delta, mechanism).to_json() == made.to_json()


@pytest.mark.parametrize("mechanism", KINDS)
def test_a_guard_that_stops_gives_back_the_rest_and_has_one_verdict(mechanism, tmp_path, monkeypatch):
    rule, delta = KINDS[mechanism]
    ledger = books_with(tmp_path, rule)
    with pytest.raises(GuardStop, match=r"the guard stopped this release: about .* and about .* do not") as first:
        guarded(HARDLY, ledger, delta, mechanism)
    assert first.value.exit_code == 5
    assert "has spent epsilon" in str(first.value)
    kinds = [event.kind for event in ledger.history()]
    assert kinds == ["dataset", "reserve", "stage", "stop"]
    bodies = stored_bodies(ledger)
    whole, kept = (Charge.from_dict(json.loads(bodies[seq])["charge"]) for seq in (2, 4))
    assert whole.covers(kept)
    assert 0 < kept.mu2 < whole.mu2 / 20
    assert 0 < kept.rho < whole.rho / 20

    def draw(*given):
        raise AssertionError("noise was drawn again")

    monkeypatch.setattr(ExactSampler, "draw", draw)
    monkeypatch.setattr(ExactSampler, "laplace", draw)
    with pytest.raises(GuardStop) as again:
        guarded(HARDLY, ledger, delta, mechanism)
    assert str(again.value) == str(first.value)
    assert len(ledger.history()) == 4


def test_a_guard_that_stops_the_only_request_gives_nothing_back(tmp_path):
    # a curve with half of delta is too low for a request of the whole budget
    ledger = books_with(tmp_path, epsilon=1.0, delta=1e-6, curve_share=0.5)
    with pytest.raises(GuardStop):
        guarded(HARDLY, ledger)
    assert [event.facts.get("route") for event in ledger.history()][1] == "first"
    whole, kept = (json.loads(stored_bodies(ledger)[seq])["charge"] for seq in (2, 4))
    assert kept == whole
    with pytest.raises(BudgetError):
        guarded(FITS, ledger, epsilon=0.01, accept_changed_data=True)


def test_under_sums_of_epsilon_a_stop_gives_back_most_of_it(tmp_path):
    ledger = books_with(tmp_path, "basic", epsilon=1.0, delta=1e-6)
    with pytest.raises(GuardStop):
        guarded(HARDLY, ledger, epsilon=1.0)
    assert ledger.status("people").left["epsilon"] > 0.8
    assert guarded(FITS, ledger, 0.9e-6, epsilon=0.8, accept_changed_data=True).guard_counts


def test_the_counts_of_a_guard_are_drawn_after_the_spend_is_recorded(tmp_path, monkeypatch):
    ledger, seen = books_with(tmp_path), []
    draw = ExactSampler.draw

    def looking(self, scales):
        seen.append([event.kind for event in ledger.history()])
        return draw(self, scales)

    monkeypatch.setattr(ExactSampler, "draw", looking)
    with pytest.raises(GuardStop):
        guarded(HARDLY, ledger)
    assert seen == [["dataset", "reserve"]]


@pytest.mark.parametrize(
    ("table", "moved", "stopped"), [(FITS, 1, True), (HARDLY, -1, False)], ids=["stops", "goes on"]
)
def test_the_noisy_counts_alone_decide(table, moved, stopped, tmp_path, monkeypatch):
    draw, calls = ExactSampler.draw, []

    def once(self, scales):
        calls.append(len(scales))
        far = moved * 4**30
        return [-far, far] if len(calls) == 1 else draw(self, scales)

    monkeypatch.setattr(ExactSampler, "draw", once)
    ledger = books_with(tmp_path)
    if stopped:
        with pytest.raises(GuardStop):
            guarded(table, ledger)
    else:
        assert guarded(table, ledger).guard_counts["fitting"].value > 10**6
    assert calls[0] == 2
    assert (len(calls) == 1) is stopped


def test_a_guard_needs_a_ledger():
    with pytest.raises(SpecError, match="a guard needs a ledger"):
        discreet.release(FITS, GUARDED, epsilon=1.0, delta=1e-6, guard=True)
    with pytest.raises(SpecError, match="a guard needs a ledger"):
        discreet.release(FITS, GUARDED, epsilon=1.0, delta=1e-6, guard=True, spend=lambda _: SpendReceipt("a"))


READINGS = {
    "encoding": {"encoding": "latin-1"},
    "delimiter": {"delimiter": ";"},
    "decimal": {"decimal": ","},
    "thousands": {"thousands": "'"},
    "quoted_line_breaks": {"quoted_line_breaks": True},
}


def test_the_same_file_read_otherwise_is_another_request(tmp_path):
    """Whatever is asked, each way to read the file has a release of its own, and the same way the same release."""
    from discreet.tables.csv_format import ReadOptions

    assert set(READINGS) == {one.name for one in fields(ReadOptions)}
    # by commas the columns are 'x;y;z', 'x' and 'y', by semicolons 'x', 'y' and 'z,x,y'
    for name in ("table.csv", "table.tsv"):
        (tmp_path / name).write_text("x;y;z,x,y\n" + "1;2;0,1,3\n" * 50)
    ledger = books_with(tmp_path, "basic")

    def ask(name="table.csv", **reading):
        written = ReadOptions(**reading)
        account = ledger.account("people")
        return discreet.release(tmp_path / name, DESIGN, epsilon=0.5, reading=written, spend=account).digest

    plain = ask()
    digests = {option: ask(**given) for option, given in READINGS.items()}
    assert len({plain, *digests.values()}) == 1 + len(READINGS)
    assert ledger.status("people").requests == 1 + len(READINGS)
    for option, given in READINGS.items():
        assert ask(**given) == digests[option]
    # the default of the name, written out, and by another name for the encoding
    assert ask(delimiter=",", encoding="UTF8", decimal=".") == plain
    assert ask("table.tsv", delimiter=";") == digests["delimiter"]
    assert ledger.status("people").requests == 1 + len(READINGS)


def stored_bodies(ledger):
    """The facts of every event as text, by its number."""
    with ledger._storage.reading() as log:
        return {event.seq: event.body for event in log.events()}
