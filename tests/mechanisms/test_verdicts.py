"""What is recorded and said where released counts stop a release, and that one committed draw alone decides."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import discreet
from discreet.accounting.noise_distribution import GUARD, NoiseDistribution
from discreet.errors import BoundsNotFound, GuardStop, LedgerError, SpecError
from discreet.mechanisms.guard import GuardCounts, bounds_record, committed_counts, guard_record, how_to_stop, stop_of
from discreet.options import ReleaseOptions
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.spend import Loss, SpendReceipt
from discreet.testing.not_private import calling
from discreet.workflow import release_with


def test_a_guard_is_recorded_in_rows():
    distribution = NoiseDistribution(8, {GUARD: 2 * 4**8}, "gaussian")
    record = guard_record(GuardCounts(3 * 4**8, 700 * 4**8), distribution)
    stop = stop_of(record, SpendReceipt("here", balance=lambda: "Much is left"))
    assert isinstance(stop, GuardStop)
    assert "about 3 rows fit the design and about 700 do not (noisy counts, standard deviation 2). Much is" in str(stop)


def test_columns_whose_bounds_were_not_found_are_named_with_what_to_do():
    record = bounds_record(["x", "a b"], Loss.pure(0.05))
    stop = stop_of(record, SpendReceipt("here", balance=lambda: "Much is left", request_id="r1"))
    assert isinstance(stop, BoundsNotFound)
    assert stop.columns == ("x", "a b")
    for words in (
        "the bounds of 'x', 'a b' were not found at this budget",
        "The search spent epsilon = 0.05, delta = 0. Much is left. Repeating the same request gives the same result",
        "or a narrower range (within = [low, high]), from public knowledge",
    ):
        assert words in str(stop)
    alone = str(stop_of(record, SpendReceipt("untracked")))
    assert "The search spent epsilon = 0.05, delta = 0, which no ledger recorded" in alone


def test_a_hook_that_cannot_record_a_verdict_is_refused():
    with pytest.raises(LedgerError, match="must also record stopped releases: its receipt has no stop function"):
        how_to_stop(SpendReceipt("here"))
    assert how_to_stop(SpendReceipt("here", stop=lambda record, loss: record))("said", Loss.pure(1.0)) == "said"


@pytest.mark.parametrize("record", ["", "5", "{}", "[]", '{"fitting": "x", "other": 1, "sd": 1}', '{"not_found": 5}'])
def test_a_recorded_verdict_that_is_not_understood_is_refused(record):
    with pytest.raises(LedgerError, match="the verdict in the ledger cannot be read"):
        stop_of(record, SpendReceipt("here", request_id="r1"))


def test_counts_are_drawn_anew_where_nobody_keeps_books_and_else_committed_first():
    drawn = iter([[1, 2], [3, 4], [5, 6]])
    for expected in ([1, 2], [3, 4]):
        assert committed_counts(SpendReceipt("a"), "guard", 2, lambda: next(drawn), lambda counts: True) == expected
    kept = []

    def stage(name, draw):
        kept.append((name, draw()))
        return kept[0][1]

    receipt = SpendReceipt("a", stage=stage)
    assert committed_counts(receipt, "guard", 2, lambda: next(drawn), lambda counts: counts == [5, 6]) == [5, 6]
    assert kept == [("guard", '{"counts":[5,6],"verdict":"stop"}')]
    assert committed_counts(receipt, "guard", 2, lambda: [7, 8], lambda counts: False) == [5, 6]


@pytest.mark.parametrize("more", [{"commit": lambda text: text}, {"stop": lambda record, loss: record}])
def test_a_hook_that_keeps_releases_and_no_stages_draws_no_counts(more):
    with pytest.raises(LedgerError, match="must have a 'stage' function"):
        committed_counts(SpendReceipt("a", **more), "guard", 2, pytest.fail, pytest.fail)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"counts":5}', '{"counts":[1]}', '{"counts":[1,true]}', '{"counts":[1,2.0]}', "[" * 10**5]
)
def test_a_committed_stage_that_is_not_understood_is_refused(text):
    with pytest.raises(LedgerError, match="the ledger entry of the stage 'guard' cannot be read"):
        committed_counts(SpendReceipt("a", stage=lambda name, draw: text), "guard", 2, pytest.fail, pytest.fail)


# -- each stage has one committed output -----------------------------------------------------------------------------

DESIGNS = {
    "guard": discreet.Design("y", {"x": {"bounds": (0, 1), "missing": "drop"}, "y": (0, 1)}),
    "bounds": discreet.Design("y", {"x": {"bounds": "private", "within": (0, 4)}, "y": (0, 1)}),
}
ERRORS = {"guard": GuardStop, "bounds": BoundsNotFound}
ROWS = {"x": [0.75] * 5000, "y": [0.5] * 5000}
FAR = 10**6 * 4**16


class Scripted:
    """Noise by a script: on the counts that decide none ("go") or so much that they stop; none on what follows."""

    private = False

    def __init__(self, verdict, before=lambda draw: None):
        self.verdict, self.before, self.draws = verdict, before, 0

    def draw(self, sigmas):
        self.draws += 1
        self.before(self.draws)
        # the last count is of rows that do not fit, or of all rows
        last = FAR if self.verdict == "stop" and self.draws == 1 else 0
        return [0] * (len(sigmas) - 1) + [last]


class Killed(BaseException):
    """The end of a process."""


@pytest.fixture
def ledger(tmp_path):
    made = discreet.Ledger.create(tmp_path / "books.db")
    made.declare("survey", epsilon=4.0, delta=1e-5)
    return made


@pytest.fixture(params=["guard", "bounds"])
def stage(request):
    return request.param


def scripted(ledger, stage, sampler, rows=ROWS):
    return release_with(
        sampler,
        rows,
        DESIGNS[stage],
        PrivacyBudget(2.0, 1e-6),
        ReleaseOptions(mechanism="gaussian", guard=stage == "guard"),
        spend=ledger.account("survey", "one"),
    )


def recorded(ledger):
    """Kinds of all events after the declaration, and the verdicts of stages."""
    return [line.facts.get("verdict", line.kind) for line in ledger.history()[1:]]


def test_a_process_that_would_stop_and_ends_sooner_does_not_overrule_a_committed_verdict(ledger, stage):
    """The first process has committed "go" and draws its moments; a second one starts meanwhile, and ends first."""
    second, ended = Scripted("stop"), []

    def meanwhile(draw):
        if draw == 2:
            ended.append(scripted(ledger, stage, second))

    made = scripted(ledger, stage, Scripted("go", meanwhile))
    assert recorded(ledger) == ["reserve", "go", "commit"]
    assert made.to_json() == ended[0].to_json()


def test_a_process_that_would_go_on_does_not_overrule_a_committed_stop(ledger, stage):
    """The first process has committed "stop" and is about to give the rest back; a second one starts meanwhile."""
    said = []

    def meanwhile(step):
        if step == "staged" and not said:
            said.append("")
            with pytest.raises(ERRORS[stage]) as stopped:
                scripted(ledger, stage, Scripted("go"))
            said[0] = str(stopped.value)

    with calling(meanwhile), pytest.raises(ERRORS[stage]) as first:
        scripted(ledger, stage, Scripted("stop"))
    assert recorded(ledger) == ["reserve", "stop", "stop"]
    assert str(first.value) == said[0]


def test_which_process_draws_is_settled_before_it_draws(ledger, stage):
    """A second process that starts during the draw of the first waits, and draws no counts at all."""
    second, begun = Scripted("stop"), threading.Event()
    ledger_again = discreet.Ledger(ledger._storage.path)

    def run():
        def tell(step):
            if step == "reserved":
                begun.set()

        # the observer is shared by threads; the first process has none of its own
        with calling(tell):
            return scripted(ledger_again, stage, second)

    with ThreadPoolExecutor(1) as pool:
        waiting = []

        def meanwhile(draw):
            if draw == 1:
                waiting.append(pool.submit(run))
                # it has found the reservation, which it can only wait behind
                assert not begun.wait(0.2)

        made = scripted(ledger, stage, Scripted("go", meanwhile))
        assert waiting[0].result().guard == made.guard
    assert recorded(ledger) == ["reserve", "go", "commit"]


@pytest.mark.parametrize("verdict", ["go", "stop"])
def test_a_process_killed_between_draw_and_commit_has_decided_nothing(ledger, stage, verdict):
    def kill(step):
        if step == "staging":
            raise Killed

    other = {"go": "stop", "stop": "go"}[verdict]
    with calling(kill), pytest.raises(Killed):
        scripted(ledger, stage, Scripted(verdict))
    assert recorded(ledger) == ["reserve"]
    assert ledger.status("survey").waiting == ("one",)
    if other == "stop":
        with pytest.raises(ERRORS[stage]):
            scripted(ledger, stage, Scripted("stop"))
    else:
        scripted(ledger, stage, Scripted("go"))
    assert recorded(ledger)[1] == other


@pytest.mark.parametrize("verdict", ["go", "stop"])
def test_a_process_killed_after_the_commit_has_decided(ledger, stage, verdict):
    """The retry reads the committed verdict, whatever it would have drawn, and a stop gives the rest back then."""

    def kill(step):
        if step == "staged":
            raise Killed

    with calling(kill), pytest.raises(Killed):
        scripted(ledger, stage, Scripted(verdict))
    assert recorded(ledger) == ["reserve", verdict]
    whole = ledger.status("survey").spent_epsilon
    with pytest.raises(SpecError, match="has no release yet"):
        ledger.export("one")
    ledger.verify()
    if verdict == "stop":
        with pytest.raises(ERRORS[stage]):
            scripted(ledger, stage, Scripted("go"))
        assert ledger.status("survey").spent_epsilon < whole / 2
    else:
        ledger.verify(scripted(ledger, stage, Scripted("stop")).anchor)
        assert ledger.status("survey").spent_epsilon == whole
    assert recorded(ledger)[2] == ("stop" if verdict == "stop" else "commit")
    assert ledger.status("survey").waiting == ()


def test_a_committed_verdict_is_not_used_for_another_table(ledger, stage):
    def kill(step):
        if step == "staged":
            raise Killed

    with calling(kill), pytest.raises(Killed):
        scripted(ledger, stage, Scripted("go"))
    with pytest.raises(SpecError, match="'one' is already recorded for other options, another table or another"):
        scripted(ledger, stage, Scripted("go"), {"x": [0.5] * 5000, "y": [0.5] * 5000})
    assert recorded(ledger) == ["reserve", "go"]


def test_a_committed_stage_holds_noisy_counts_alone(ledger):
    """The exact counts are 5,000 and 0 rows, moved by the script."""

    class Shifted(Scripted):
        def draw(self, sigmas):
            self.draws += 1
            return [3 * 4**16, 7 * 4**16] if self.draws == 1 else [0] * len(sigmas)

    scripted(ledger, "guard", Shifted("go"))
    with ledger._storage.reading() as log:
        (event,) = log.events("kind = 'stage'")
    assert event.body == '{"stage":"guard"}'
    assert event.content == f'{{"counts":[{5003 * 4**16},{7 * 4**16}],"verdict":"go"}}'
