"""A guarded release through the public path: what stops, what it costs, and that released numbers alone decide."""

from __future__ import annotations

import json

import numpy as np
import pytest

import discreet
from discreet.errors import GuardStop, LedgerError, SpecError
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.spend import SpendReceipt
from discreet.testing.not_private import SeededSampler
from discreet.workflow import release_with

DESIGN = discreet.Design("y", {"x": {"bounds": (0, 1), "missing": "drop"}, "y": (0, 1)})
BUDGET = {"epsilon": 0.5, "delta": 1e-7}


@pytest.fixture
def ledger(tmp_path):
    made = discreet.Ledger.create(tmp_path / "books.db")
    made.declare("survey", epsilon=2.0, delta=1e-6)
    return made


def table(rows, fitting):
    """So many rows, a share of which fits."""
    kept = round(rows * fitting)
    return {"x": [0.25] * kept + [None] * (rows - kept), "y": [0.5] * rows}


def guarded(ledger, rows, **options):
    return discreet.release(rows, DESIGN, **{**BUDGET, **options}, guard=True, spend=ledger.account("survey"))


def test_a_table_in_which_hardly_any_row_fits_is_stopped_and_pays_for_the_counts_alone(ledger):
    """A false verdict needs noise of 15 standard deviations."""
    with pytest.raises(
        GuardStop, match=r"the guard stopped this release: about .*see why with discreet.check"
    ) as stopped:
        guarded(ledger, table(5000, 0.05))
    assert stopped.value.exit_code == 5
    assert "has spent epsilon" in str(stopped.value)
    status = ledger.status("survey")
    assert 0 < status.spent_epsilon < 0.1
    account = ledger.account("survey", accept_changed_data=True)
    again = discreet.release(table(5000, 0.9), DESIGN, **BUDGET, spend=account)
    assert again.guard is None


def test_the_same_request_gets_the_same_verdict_and_pays_nothing(ledger):
    said = []
    for _ in range(3):
        with pytest.raises(GuardStop) as stopped:
            guarded(ledger, table(5000, 0.05))
        said.append(str(stopped.value))
    assert len(set(said)) == 1
    assert ledger.status("survey").requests == 1


def test_a_release_that_goes_on_carries_both_counts_and_verifies(ledger, tmp_path):
    """Counts are within 12 standard deviations but for a probability below 1e-30."""
    made = guarded(ledger, table(5000, 0.8))
    counts = made.guard_counts
    assert abs(counts["fitting"].value - 4000) < 12 * counts["fitting"].sd
    assert abs(counts["other"].value - 1000) < 12 * counts["other"].sd
    made.save(tmp_path / "r.json")
    read = discreet.Release.load(tmp_path / "r.json")
    assert read == made
    assert read.guard == made.guard
    assert 0.49 < discreet.verify(made).epsilon_given <= 0.5
    assert guarded(ledger, table(5000, 0.8)) == made
    assert "guard" not in made.noise.sigma


@pytest.mark.parametrize("edit", ["less noise", "none", "not a number"])
def test_a_forged_guard_is_refused(ledger, edit):
    body = json.loads(guarded(ledger, table(5000, 0.8)).to_json())
    body.pop("digest")
    body["guard"]["sigma"] = {
        "less noise": str(int(body["guard"]["sigma"]) // 4), "none": "0", "not a number": "x",
    }[edit]  # fmt: skip
    from discreet.releases.fields import digest_of

    body["digest"] = digest_of(body)
    with pytest.raises(discreet.DiscreetError, match=r"stronger than the noise|steps for 'guard', got|decimal text"):
        discreet.Release.from_json(json.dumps(body))


def test_a_guard_needs_a_ledger_that_can_record_a_stop():
    with pytest.raises(SpecError, match="a guard needs a ledger"):
        discreet.release(table(50, 0.5), DESIGN, **BUDGET, guard=True)

    class AccountState:
        def advise(self, request):
            pass

        def __call__(self, request):
            return SpendReceipt("books")

    with pytest.raises(discreet.DiscreetError, match="must also record stopped releases") as failed:
        # refused whatever the counts are, before they are drawn
        discreet.release(table(5000, 1.0), DESIGN, **BUDGET, guard=True, spend=AccountState())
    assert not isinstance(failed.value, LedgerError)
    assert failed.value.exit_code == 5


def test_a_guard_is_refused_where_the_loss_is_no_sum(ledger):
    for mechanism in ("wishart", "objective"):
        with pytest.raises(SpecError, match="leave guard out"):
            guarded(ledger, table(50, 0.5), mechanism=mechanism)
    assert ledger.status("survey").requests == 0


@pytest.mark.parametrize("options", [{"mechanism": "laplace", "delta": 0.0}, {"robust": True}, {"clip_counts": True}])
def test_other_releases_can_be_guarded_too(ledger, options):
    made = guarded(ledger, table(5000, 0.9), **options)
    assert made.guard is not None
    discreet.verify(made)


def test_persons_are_counted_within_their_cap(ledger):
    """Each of 2,000 persons has one row that fits and three that do not, and two rows count: as many fit as do not."""
    design = discreet.Design(
        "y", {"x": {"bounds": (0, 1), "missing": "drop"}, "y": (0, 1)}, unit={"id": "who", "max_rows": 2}
    )
    ledger.declare("persons", epsilon=2.0, delta=1e-6, unit=design.unit)
    rows = {"who": [str(k // 4) for k in range(8000)], "x": [0.5, None, None, None] * 2000, "y": [0.5] * 8000}
    try:
        made = discreet.release(rows, design, epsilon=1.0, delta=1e-7, guard=True, spend=ledger.account("persons"))
        fitting, other = made.guard_counts["fitting"], made.guard_counts["other"]
        found, sd = (fitting.value, other.value), fitting.sd
    except GuardStop as stopped:  # less than once in a hundred
        numbers = str(stopped).replace(",", "")
        found, sd = (float(numbers.split("about ")[1].split()[0]), float(numbers.split("about ")[2].split()[0])), 100.0
    assert all(abs(count - 2000) < 12 * sd for count in found)


class Shifted:
    """Noise that turns one exact count into another's noisy one: two tables in lockstep."""

    private = False

    def __init__(self, shift):
        self.shift, self.rest, self.first = shift, SeededSampler(1), True

    def draw(self, sigmas):
        if self.first:
            self.first = False
            return list(self.shift)
        return [0] * len(sigmas)

    def laplace(self, scales):
        return self.draw(scales)


def test_two_tables_with_equal_noisy_counts_get_one_verdict(ledger):
    """The exact counts decide nothing: 95% against 5% that fit, shifted to the same noisy counts."""
    unit, said = 4**16, []
    for rows, shift in ((table(1000, 0.95), (-900 * unit, 900 * unit)), (table(1000, 0.05), (0, 0))):
        with pytest.raises(GuardStop) as stopped:
            release_with(
                Shifted(shift),
                rows,
                DESIGN,
                PrivacyBudget(1.0, 1e-7),
                ReleaseOptions(mechanism="gaussian", guard=True),
                spend=ledger.account("survey", new_release=True, accept_changed_data=True),
            )
        said.append(str(stopped.value).split("(noisy")[0])
    assert said[0] == said[1]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [500, 50_000])
def test_study_share_of_tables_stopped(rows):
    """Share of 2,000 tables that are stopped at 30, 50 and 70% fitting rows, epsilon 1, delta 1e-6."""
    from discreet.design.domain import RowDomain
    from discreet.mechanisms.gaussian import GaussianMoments
    from discreet.mechanisms.guard import guard_counts, guarded_distribution, stops
    from discreet.mechanisms.sampler import ExactSampler
    from discreet.privacy.budget import PrivacyBudget

    domain = RowDomain.of(DESIGN)
    budget = PrivacyBudget(1.0, 1e-6)
    distribution = guarded_distribution(
        DESIGN, domain, budget, lambda b: GaussianMoments().noise_model(DESIGN, domain, b, {})
    )
    shares = {}
    for fitting in (0.3, 0.5, 0.7):
        kept = round(rows * fitting)
        verdicts = [
            stops(guard_counts((kept, rows - kept), distribution, ExactSampler()), distribution) for _ in range(2000)
        ]
        shares[fitting] = float(np.mean(verdicts))
    print(f"\n{rows} rows: stopped {shares}")
    assert shares[0.3] > (0.7 if rows == 500 else 0.9999)
    # 20 expected of 2,000; more than 50 has a probability below 1e-8
    assert shares[0.5] < 0.025
    assert shares[0.7] < 0.005
