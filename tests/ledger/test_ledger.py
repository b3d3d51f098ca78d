"""The public ledger: declared, granted, looked at, verified, exported."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import discreet
from discreet.errors import BudgetError, LedgerError, PrivacyNotice, SpecError
from discreet.ledger.account import as_json
from discreet.ledger.filter import Charge
from discreet.ledger.ledger import Ledger, check_declaration
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.spend import Loss
from support.spends import DATASET, asking, ledger_of

DESIGN = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
TABLE = {"x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.0, 6.0, 8.0]}


def test_a_tracked_release_is_recorded_verified_and_exported(tmp_path):
    ledger = ledger_of(tmp_path)
    made = discreet.release(TABLE, DESIGN, epsilon=0.5, spend=ledger.account(DATASET))
    assert made.anchor.startswith("discreet-ledger:")
    assert ledger.verify(made).seq == 3
    ledger.verify(made.anchor)
    request = ledger.history()[-1].request
    assert request is not None
    assert ledger.export(request) == made.to_json()
    again = discreet.release(TABLE, DESIGN, epsilon=0.5, spend=Ledger(tmp_path / "books.db").account(DATASET))
    assert again.to_json() == made.to_json()
    assert [line.kind for line in ledger.history(DATASET)] == ["dataset", "reserve", "commit"]


def test_a_changed_table_in_memory_is_noticed_and_another_design_is_not_called_a_change(tmp_path):
    ledger = ledger_of(tmp_path)
    discreet.release(TABLE, DESIGN, epsilon=0.1, spend=ledger.account(DATASET))
    changed = {**TABLE, "x": [1.0, 2.0, 3.0, 4.5]}
    with pytest.raises(SpecError, match="accept_changed_data"):
        discreet.release(changed, DESIGN, epsilon=0.1, spend=ledger.account(DATASET))
    discreet.release(changed, DESIGN, epsilon=0.1, spend=ledger.account(DATASET, accept_changed_data=True))
    other = discreet.Design("x", {"y": (0, 10), "x": (0, 5)})
    discreet.release(TABLE, other, epsilon=0.1, spend=ledger.account(DATASET))
    assert ledger.status(DATASET).requests == 3


def test_persons_files_and_streams_have_fingerprints(tmp_path):
    import pyarrow as pa

    ledger = Ledger.create(tmp_path / "books.db")
    unit = PrivacyUnit(id="who", max_rows=2)
    ledger.declare("persons", epsilon=1.0, unit=unit)
    ledger.declare("rows", epsilon=1.0)
    design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)}, unit=unit)
    for who in (["a", "a", "b", "c"], ["a", "b", "b", "c"]):
        account = ledger.account("persons", accept_changed_data=True)
        discreet.release({**TABLE, "who": who}, design, epsilon=0.1, spend=account)
    assert ledger.status("persons").requests == 2
    for _ in range(2):
        stream = pa.table(TABLE).to_reader()
        discreet.release(stream, DESIGN, epsilon=0.1, spend=ledger.account("rows"))
    assert ledger.status("rows").requests == 1
    (tmp_path / "t.csv").write_text("x,y\n1,2\n3,4\n")
    for _ in range(2):
        discreet.release(tmp_path / "t.csv", DESIGN, epsilon=0.1, spend=ledger.account("rows"))
    assert ledger.status("rows").requests == 2


def test_a_table_with_an_error_costs_nothing(tmp_path):
    ledger = ledger_of(tmp_path)
    with pytest.raises(discreet.DiscreetError):
        discreet.release({**TABLE, "x": [1.0, 2.0, 3.0, None]}, DESIGN, epsilon=0.5, spend=ledger.account(DATASET))
    assert ledger.status(DATASET).requests == 0


def test_a_failure_after_the_spend_names_the_request_and_finishing_it_is_free(tmp_path, monkeypatch):
    ledger = ledger_of(tmp_path, epsilon=0.5)
    with monkeypatch.context() as patch:
        patch.setattr("discreet.workflow.run_passes", lambda *given: 1 / 0)
        with pytest.raises(discreet.DiscreetError, match="to finish it at no additional cost") as caught:
            discreet.release(TABLE, DESIGN, epsilon=0.5, spend=ledger.account(DATASET))
        assert caught.value.exit_code == 5
        assert ledger.status(DATASET).waiting[0] in str(caught.value)
    discreet.release(TABLE, DESIGN, epsilon=0.5, spend=ledger.account(DATASET))
    assert ledger.status(DATASET).spent_epsilon == 0.5


def test_the_rule_follows_from_delta_unless_it_is_given(tmp_path):
    ledger = Ledger.create(tmp_path / "books.db")
    ledger.declare("a", epsilon=1.0)
    ledger.declare("b", epsilon=1.0, delta=1e-6)
    ledger.declare("c", epsilon=1.0, delta=1e-6, rule="zcdp", unit=PrivacyUnit(neighbours="replace"))
    assert [one.rule for one in ledger.statuses()] == ["basic", "gdp", "zcdp"]
    assert ledger.status("c").unit.neighbours == "replace"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": 0.0}, "epsilon"), ({"epsilon": float("nan")}, "epsilon"), ({"epsilon": -1.0}, "epsilon"),
        ({"delta": float("nan")}, "delta"), ({"delta": -1e-6}, "delta"), ({"rule": "rdp"}, "unknown rule"),
        ({"unit": "row"}, "expected a PrivacyUnit"), ({"epsilon": 50.0}, "weak"), ({"dataset": ""}, "data set"),
        ({"dataset": "a\nb"}, "data set"), ({"dataset": "a" * 101}, "data set"), ({"dataset": 5}, "data set"),
        ({"curve_share": 2.0}, "curve share"), ({"rule": "gdp", "delta": 0.0}, "requires delta"),
    ],
)  # fmt: skip
def test_a_declaration_that_is_none_is_refused(tmp_path, given, message):
    ledger = Ledger.create(tmp_path / "books.db")
    with pytest.raises(SpecError, match=message):
        ledger.declare(**{"dataset": "a", "epsilon": 1.0, "delta": 1e-6, **given})
    assert ledger.history() == []


def test_a_weak_budget_is_noticed(tmp_path):
    ledger = Ledger.create(tmp_path / "books.db")
    with pytest.warns(PrivacyNotice):
        ledger.declare("a", epsilon=10.0)
    with pytest.warns(PrivacyNotice):
        ledger.grant("a", epsilon=25.0, reason="a test", allow_weak_privacy=True)


def test_a_data_set_is_declared_once_and_known_by_name(tmp_path):
    ledger = ledger_of(tmp_path)
    with pytest.raises(SpecError, match="is already declared"):
        ledger.declare(DATASET, epsilon=5.0)
    for ask in (ledger.status, ledger.account, ledger.history):
        with pytest.raises(SpecError, match=r"unknown data set 'peple'.*Did you mean 'people'"):
            ask("peple")
    with pytest.raises(SpecError, match="unknown data set"):
        ledger.grant("peple", epsilon=5.0, reason="a test")
    empty = Ledger.create(tmp_path / "empty.db")
    with pytest.raises(SpecError, match="has no data sets yet"):
        empty.status("people")


def test_a_grant_raises_the_budget_and_stands_in_the_history(tmp_path):
    ledger = ledger_of(tmp_path)
    first = ledger.account(DATASET)(asking(1.0))
    with pytest.raises(BudgetError):
        ledger.account(DATASET)(asking(0.5))
    made = ledger.grant(DATASET, epsilon=1.5, reason="second wave")
    assert (made.epsilon, made.left["epsilon"]) == (1.5, 0.5)
    second = ledger.account(DATASET)(asking(0.5))
    assert first.anchor.endswith(":epsilon=1.0:delta=0.0")
    assert second.anchor.endswith(":epsilon=1.5:delta=0.0")
    assert "second wave" in str(ledger.history()[2].to_dict())
    ledger.verify()


@pytest.mark.parametrize("given", [{"epsilon": 1.0}, {"epsilon": 0.5}, {"epsilon": 2.0, "delta": 0.0}])
def test_a_grant_that_does_not_raise_is_refused(tmp_path, given):
    ledger = ledger_of(tmp_path, delta=1e-6)
    with pytest.raises(SpecError, match=r"a grant must raise|requires delta"):
        ledger.grant(DATASET, reason="a test", **given)
    with pytest.raises(SpecError, match="reason"):
        ledger.grant(DATASET, epsilon=2.0, reason=" ")


def test_a_grant_checks_the_lattice_gaps_with_the_new_epsilon(tmp_path):
    ledger = ledger_of(tmp_path, delta=1e-6)
    loss = Loss.gaussian(0.1, 1e-8, mu=0.01, tau=9e-10 / 3.72)
    ledger.account(DATASET)(asking(0.1, 1e-8, loss=loss))
    ledger.account(DATASET)(asking(0.01))
    with pytest.raises(BudgetError, match="raise delta too"):
        ledger.grant(DATASET, epsilon=8.0, reason="a test")
    assert ledger.status(DATASET).epsilon == 1.0
    with pytest.warns(PrivacyNotice):
        assert ledger.grant(DATASET, epsilon=8.0, delta=1e-3, reason="a test", allow_weak_privacy=True).epsilon == 8.0


def test_a_budget_that_one_request_used_up_takes_more_after_a_grant(tmp_path):
    ledger = ledger_of(tmp_path, delta=1e-6)
    ledger.account(DATASET)(asking(0.2, 1e-8))
    assert ledger.status(DATASET).largest_gaussian == 0
    with pytest.warns(PrivacyNotice):
        ledger.grant(DATASET, epsilon=2.0, delta=1e-4, reason="a test", allow_weak_privacy=True)
    ledger.account(DATASET)(asking(0.1))


def test_a_planned_request_says_what_it_would_leave(tmp_path):
    ledger = ledger_of(tmp_path)
    ledger.account(DATASET)(asking(0.5))
    after = ledger.planned(DATASET, Loss.pure(0.25))
    assert after is not None
    assert (after.left["epsilon"], after.requests) == (0.25, 2)
    assert ledger.planned(DATASET, Loss.pure(0.6)) is None
    assert ledger.status(DATASET).requests == 1
    with pytest.raises(SpecError, match="expected a Loss"):
        ledger.planned(DATASET, 0.5)


def test_an_older_copy_is_whole_by_itself_and_shown_by_a_newer_anchor(tmp_path):
    ledger = ledger_of(tmp_path)
    old = tmp_path / "old.db"
    shutil.copy(tmp_path / "books.db", old)
    made = discreet.release(TABLE, DESIGN, epsilon=0.5, spend=ledger.account(DATASET))
    restored = Ledger(old)
    restored.verify()
    with pytest.raises(LedgerError, match="the ledger is an older copy, or was changed"):
        restored.verify(made)
    # a copy that went on by itself has other events under the same numbers
    discreet.release(TABLE, DESIGN, epsilon=0.25, spend=restored.account(DATASET))
    with pytest.raises(LedgerError, match="the ledger is an older copy, or was changed"):
        restored.verify(made.anchor)


def test_a_release_of_another_ledger_an_untracked_and_an_edited_one_do_not_belong(tmp_path):
    ledger = ledger_of(tmp_path)
    made = discreet.release(TABLE, DESIGN, epsilon=0.5, spend=ledger.account(DATASET))
    (tmp_path / "other").mkdir()
    with pytest.raises(LedgerError, match="belongs to another ledger"):
        ledger_of(tmp_path / "other").verify(made)
    with pytest.raises(LedgerError, match="the release is untracked"):
        ledger.verify(discreet.release(TABLE, DESIGN, epsilon=0.5))
    edited = replace(made, totals=tuple((total or 0) + 1 for total in made.totals))
    with pytest.raises(LedgerError, match="recorded another release for event"):
        ledger.verify(edited)
    with pytest.raises(SpecError, match="expected a release or its anchor"):
        ledger.verify(5)


def test_an_anchor_of_a_declaration_is_of_a_copy_and_of_no_release(tmp_path):
    ledger = ledger_of(tmp_path)
    head = ledger.verify()
    assert ledger.verify(str(head)) == head
    made = discreet.release(TABLE, DESIGN, epsilon=0.5)
    with pytest.raises(LedgerError, match=r"recorded another release for event \d+, or none"):
        ledger.verify(replace(made, anchor=str(head)))
    receipt = ledger.account(DATASET)(asking())
    with pytest.raises(LedgerError, match="recorded another release for event"):
        ledger.verify(replace(made, anchor=receipt.anchor))


def test_a_budget_that_was_exceeded_behind_its_back_is_found(tmp_path):
    ledger = ledger_of(tmp_path)
    receipt = ledger.account(DATASET)(asking(0.9))
    assert receipt.commit is not None
    body = {
        "digest": "", "question": "", "charge": Charge.of(Loss.pure(0.9)).to_dict(), "route": "sums",
        "fingerprint": None,
    }  # fmt: skip
    with ledger._storage.writing() as log:
        log.append("reserve", DATASET, "smuggled", as_json(body))
    with pytest.raises(LedgerError, match="has spent more than its budget"):
        ledger.verify()


def test_what_is_not_there_cannot_be_exported(tmp_path):
    ledger = ledger_of(tmp_path)
    with pytest.raises(SpecError, match="has no request 'x'"):
        ledger.export("x")
    waiting = ledger.account(DATASET)(asking()).request_id
    with pytest.raises(SpecError, match="has no release yet"):
        ledger.export(waiting)
    with pytest.raises(SpecError, match="is not allowed"):
        ledger.export("../x")


def test_a_path_that_is_none_is_refused():
    for given in (None, 5, b"books.db"):
        with pytest.raises(SpecError, match="expected a path"):
            Ledger(given)
        with pytest.raises(SpecError, match="expected a path"):
            Ledger.create(given)


def test_a_clock_that_jumps_orders_nothing(tmp_path, monkeypatch):
    from datetime import UTC, datetime

    from discreet.ledger import event_log as storage

    ledger = ledger_of(tmp_path)
    for year in (1970, 2099, 1970, 2038):

        class Clock(datetime):
            @classmethod
            def now(cls, tz=None, *, _year=year):
                return datetime(_year, 1, 1, tzinfo=UTC)

        monkeypatch.setattr(storage, "datetime", Clock)
        ledger.account(DATASET, f"of-{year}-{len(ledger.history())}")(asking(0.1, year=year))
    assert [line.seq for line in ledger.history()] == [1, 2, 3, 4, 5]
    assert [line.time[:4] for line in ledger.history()[1:]] == ["1970", "2099", "1970", "2038"]
    ledger.verify()


def test_the_path_of_a_ledger_may_hold_any_sign(tmp_path):
    odd = tmp_path / "odd? #%41 name's.db"
    ledger = Ledger.create(odd)
    ledger.declare("a", epsilon=1.0)
    assert [file.name for file in tmp_path.iterdir()] == [odd.name]
    assert Path(odd).stat().st_size > 0


def test_the_budget_behind_an_anchor_is_that_of_its_time(tmp_path):
    ledger = Ledger.create(tmp_path / "l.db")
    ledger.declare("trial", epsilon=1.0)
    first = discreet.release(TABLE, DESIGN, epsilon=0.5, spend=ledger.account("trial"))
    ledger.grant("trial", epsilon=2.0, reason="more")
    second = discreet.release(TABLE, DESIGN, epsilon=0.25, spend=ledger.account("trial"))
    for made in (first, second):
        ledger.verify(made.anchor)
        ledger.verify(made)
    assert first.anchor.endswith(":epsilon=1.0:delta=0.0")
    ledger.verify(first.anchor.removesuffix(":epsilon=1.0:delta=0.0"))
    for edited in (":epsilon=2.0:delta=0.0", ":epsilon=1.0", ":anything"):
        with pytest.raises(LedgerError, match="it does not name the budget that data set 'trial' had at event 2"):
            ledger.verify(first.anchor.replace(":epsilon=1.0:delta=0.0", edited))


def test_a_declaration_is_judged_before_there_is_a_ledger():
    given = {"epsilon": 1.0, "delta": 0.0, "rule": None, "curve_share": 0.999, "allow_weak_privacy": False}
    check_declaration("trial", **given)
    for wrong in ({"epsilon": -1.0}, {"epsilon": 30.0}, {"rule": "best"}, {"curve_share": 2.0, "delta": 1e-6}):
        with pytest.raises(SpecError):
            check_declaration("trial", **{**given, **wrong})
    with pytest.raises(SpecError, match="data set ' ' is not allowed"):
        check_declaration(" ", **given)
