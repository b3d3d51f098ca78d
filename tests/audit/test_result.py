"""What an audit says: table, sentences, JSON."""

from __future__ import annotations

import json

import pytest

from discreet.audit.audit_result import HEADERS, AuditedCase, AuditResult
from discreet.audit.judging import Claim, Judgement, Witness
from discreet.audit.noise_tests import Check
from discreet.audit.runs import ExactLoss

WITNESS = Witness("linear", 60, 100, 1, 100)


def case(epsilon=0.5, mu=None, exact=(), checks=(), claim=None):
    judgement = Judgement(claim or Claim(1.0), epsilon, mu, WITNESS, None if mu is None else WITNESS)
    return AuditedCase("gaussian", "corner row", judgement, tuple(exact), tuple(checks), 10_000, 1.5)


CURVE = Claim(1.0, 1e-6, 0.2367)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            case(epsilon=1.2),
            "epsilon is at least 1.2 at delta = 0, claimed 1 (linear: 60 of 100 draws against 1 of 100)",
        ),
        (case(mu=0.3, claim=CURVE), "mu is at least 0.3, claimed 0.237 (linear: 60 of 100 draws against 1 of 100)"),
        (case(exact=[ExactLoss("p", "mu", 0.3, 0.2)]), "the exact mu of 'p' is 0.3, claimed 0.2"),
        (case(checks=[Check("low-order bits", 0.3, 0.01)]), "low-order bits: distance 0.3, at most 0.01 expected"),
    ],
)
def test_every_violation_is_said_and_decides_the_verdict(wrong, said):
    assert wrong.violations == (said,)
    assert wrong.verdict == "violation"
    result = AuditResult((case(), wrong), 0.99)
    assert not result.passed
    assert result.sentences()[0] == f"VIOLATION  gaussian, corner row: {said}"
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["cases"][1]["violations"] == [said]


def test_a_pass_says_that_it_is_not_a_proof():
    right = case(mu=0.2, claim=CURVE, exact=[ExactLoss("p", "mu", 0.1, 0.2)], checks=[Check("bits", 0.0, 0.01)])
    result = AuditResult((right, case()), 0.99)
    assert result.passed
    assert result.seconds == 3.0
    assert right.verdict == "pass"
    assert result.sentences()[0] == "False-alarm probability: at most 0.01 for all 2 cases together."
    assert "A pass is not a proof" in result.summary()
    assert result.to_dict()["note"] in result.summary()


def test_the_table_has_a_cell_for_each_header():
    right = case(mu=0.2, claim=CURVE, exact=[ExactLoss("p", "mu", 0.1, 0.2), ExactLoss("q", "mu", 0.15, 0.2)])
    assert right.cells() == (
        "gaussian", "1 (delta 1e-06)", "0.83", "0.237", "0.200", "75.0% of mu", "10,000", "1.5", "pass",
    )  # fmt: skip
    assert case().cells() == ("gaussian", "1", "0.50", "", "", "", "10,000", "1.5", "pass")
    assert len(HEADERS) == len(case().cells())
    lines = AuditResult((right, case()), 0.99).summary().splitlines()
    assert len(lines[0]) == len(lines[1]) + len("violation") - len("violation")


def test_an_event_that_is_not_there_is_none():
    nothing = AuditedCase("k", "p", Judgement(Claim(1.0), 0.0, None, None, None), (), (), 100, 0.1)
    assert nothing.to_dict()["event"] is None
    assert nothing.to_dict()["mu_event"] is None


def test_the_self_test_of_the_sampler_is_said_and_decides_too():
    right, wrong = (
        Check("discrete Gaussian at scale 2", 0.0001, 0.0009),
        Check("discrete Laplace at scale 3", 0.003, 0.001),
    )
    passed, failed = AuditResult((case(),), 0.99, (right,)), AuditResult((case(),), 0.99, (right, wrong))
    assert passed.passed
    assert not failed.passed
    assert passed.sentences()[0] == (
        "Self-test of the sampler: discrete Gaussian at scale 2: pass (false-alarm probability: at most 1e-09)."
    )
    assert failed.sentences()[:2] == (
        "VIOLATION  sampler, discrete Laplace at scale 3: distance 0.003, at most 0.001 expected",
        "Self-test of the sampler: discrete Gaussian at scale 2: pass, discrete Laplace at scale 3: violation "
        "(false-alarm probability: at most 1e-09).",
    )
    said = json.loads(json.dumps(failed.to_dict()))["sampler"]
    assert (said["passed"], said["false_alarms"]) == (False, 1e-9)
    assert [(check["name"], check["passed"]) for check in said["checks"]] == [(right.name, True), (wrong.name, False)]
