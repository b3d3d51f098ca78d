"""Data sets, budgets, history; refusals beside their fields."""

from __future__ import annotations

from typing import get_args

import pytest

import discreet
from discreet.ledger.event_log import Kind
from discreet_studio.views.ledger_view import EVENTS
from support.studio_client import Browser, errors


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    return Browser(tmp_path_factory.mktemp("ledger")).declared().with_ledger()


def test_what_is_spent_left_and_would_be(browser):
    text = browser.get("/ledger").text
    assert "people" in text
    assert "spent epsilon 0 of" in text
    assert "after your plan" in text
    assert "History" in text


def test_every_kind_of_event_has_words():
    assert set(EVENTS) == set(get_args(Kind))


def test_a_budget_is_raised_with_a_reason(browser):
    data = {"ledger": "ledger.db", "grant": "people"}
    refused = [
        ({"grant_epsilon": "1", "reason": "less"}, "grant_epsilon"),
        ({"grant_epsilon": "x"}, "grant_epsilon"),
        ({"grant_epsilon": "4", "reason": ""}, "reason"),
    ]
    for wrong, field in refused:
        answer = browser.post("/ledger/grant", data | wrong)
        assert answer.status_code == 422
        assert f'id="{field}-error"' in answer.text
    text = browser.post("/ledger/grant", data | {"grant_epsilon": "4", "reason": "a second wave"}).text
    assert "of 4" in text
    assert "a second wave" in text


@pytest.mark.parametrize(("wrong", "field"), [
    ({"dataset": ""}, "dataset"), ({"dataset": "people"}, "dataset"), ({"budget_epsilon": "x"}, "budget_epsilon"),
    ({"budget_epsilon": "-1"}, "budget_epsilon"), ({"budget_epsilon": "99"}, "budget_epsilon"),
    ({"budget_delta": "2"}, "budget_delta"), ({"ledger_file": "../books.db"}, "ledger_file"),
    ({"ledger_file": "people.csv"}, "ledger_file"),
])  # fmt: skip
@pytest.mark.parametrize("origin", ["release", "ledger"])
def test_declarations_that_are_wrong(browser, wrong, field, origin):
    good = {
        "from": origin,
        "dataset": "more",
        "budget_epsilon": "1",
        "budget_delta": "1e-6",
        "ledger_file": "ledger.db",
    }
    answer = browser.post("/ledger/create", good | wrong)
    assert answer.status_code == 422
    assert [one.dataset for one in discreet.Ledger(browser.folder / "ledger.db").statuses()] == ["people"]
    if origin == "ledger":
        assert f'id="{field}-error"' in answer.text
        assert errors(answer.text)


def test_a_database_of_another_kind(tmp_path):
    (tmp_path / "other.db").write_bytes(b"SQLite format 3\0nonsense")
    answer = Browser(tmp_path).get("/ledger")
    assert answer.status_code == 200
    assert 'role="alert"' in answer.text
