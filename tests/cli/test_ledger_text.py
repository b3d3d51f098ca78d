"""How a ledger is printed: one line for each event, numbers as people write them."""

from __future__ import annotations

from discreet.cli.ledger import line_text, planned_text, requests, status_text
from discreet.privacy.spend import Loss
from support.spends import DATASET, asking, ledger_of


def test_a_status_names_budget_spent_and_left(tmp_path):
    ledger = ledger_of(tmp_path)
    ledger.account(DATASET)(asking(0.5))
    status = ledger.status(DATASET)
    assert requests(status) == "1 request"
    lines = status_text(status).splitlines()
    assert lines[0] == "Data set    people: protects one row, add-remove neighbours"
    assert lines[3] == "Left        epsilon 0.5, delta 0"


def test_a_plan_says_what_it_leaves_and_how_many_like_it_there_are(tmp_path):
    ledger = ledger_of(tmp_path)
    for epsilon, words in (
        (0.5, "epsilon = 0.5, delta = 0 would leave epsilon 0.5, delta 0; 2 such releases would be accepted in total"),
        (0.7, "epsilon = 0.7, delta = 0 would leave epsilon 0.3, delta 0; a second release like it would be refused"),
        (1e-6, "1000 or more such releases would be accepted in total"),
        (2.0, "epsilon = 2, delta = 0 would be refused: it is more than is left"),
    ):
        loss = Loss.pure(epsilon)
        text = " ".join(planned_text(loss, ledger.planned(DATASET, loss)).split())
        assert text.startswith("Planned ")
        assert text.endswith(words)
    assert "another unit" in planned_text(Loss.pure(0.5), None, same_unit=False)


def test_an_event_is_one_line(tmp_path):
    ledger = ledger_of(tmp_path)
    ledger.account(DATASET, "march")(asking(0.5))
    text = line_text(ledger.history()[1])
    assert "\n" not in text
    assert "reserve people  march  laplace  moments of y  epsilon = 0.5  delta = 0" in text


def test_a_stage_is_told_with_its_verdict_and_without_its_counts(tmp_path):
    ledger = ledger_of(tmp_path)
    receipt = ledger.account(DATASET, "march")(asking(0.5))
    assert receipt.stage is not None
    receipt.stage("guard", lambda: '{"counts":[918273,2],"verdict":"go"}')
    line = ledger.history()[2]
    assert line_text(line).endswith("stage   people  march  guard  go")
    assert line.facts == {"stage": "guard", "verdict": "go"}
