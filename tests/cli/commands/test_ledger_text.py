"""How a ledger is printed: one line for each event, numbers as people write them."""

from __future__ import annotations

from discreet.cli.commands.ledger_text import left_text, line_text, requests, status_text
from support.spends import DATASET, asking, ledger_of


def test_a_status_names_budget_spent_and_left(tmp_path):
    ledger = ledger_of(tmp_path)
    ledger.account(DATASET)(asking(0.5))
    status = ledger.status(DATASET)
    assert requests(status) == "1 request"
    assert left_text(status) == "epsilon 0.5, delta 0"
    assert status_text(status).splitlines()[0] == "Data set    people: one row, add-remove"


def test_an_event_is_one_line(tmp_path):
    ledger = ledger_of(tmp_path)
    ledger.account(DATASET, "march")(asking(0.5))
    text = line_text(ledger.history()[1])
    assert "\n" not in text
    assert "reserve people  march  laplace  moments of y  epsilon = 0.5  delta = 0" in text
