"""What a curator reads: plain values, and no fingerprint."""

from __future__ import annotations

import json

import pytest

from discreet.errors import SpecError
from discreet.ledger.filter import Charge, Terms
from discreet.ledger.ledger import typical_loss
from discreet.privacy.spend import Loss
from support.spends import DATASET, asking, ledger_of


def test_status_and_history_are_plain_values(tmp_path):
    ledger = ledger_of(tmp_path, delta=1e-6)
    ledger.account(DATASET)(asking(0.1))
    ledger.grant(DATASET, epsilon=2.0, reason="more")
    status = json.loads(json.dumps(ledger.status(DATASET).to_dict()))
    assert (status["dataset"], status["rule"], status["epsilon"], status["requests"]) == (DATASET, "gdp", 2.0, 1)
    lines = json.loads(json.dumps([line.to_dict() for line in ledger.history()]))
    assert [line["kind"] for line in lines] == ["dataset", "reserve", "grant"]
    assert lines[1]["mechanism"] == "laplace"
    assert not {"fingerprint", "digest", "question", "charge"} & {name for line in lines for name in line}


def test_a_planned_gaussian_release_costs_at_most_what_its_promise_allows():
    assert Terms("gdp", 1.0, 1e-6).route(Charge(), 0, Charge.of(typical_loss(0.4, 2e-7))) == "sums"
    assert typical_loss(0.5, 0.0) == Loss.pure(0.5)
    with pytest.raises(SpecError, match="epsilon"):
        typical_loss(-1.0, 0.0)
