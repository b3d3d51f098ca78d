"""The protocol: reserve before noise, one release for one spend, and the same answer to the same request."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import AfterSpendError, BudgetError, LedgerError, SpecError
from discreet.ledger.account import checked_request
from discreet.ledger.ledger import Ledger
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.gaussian_dp import mu_from
from discreet.privacy.spend import AdvisingHook, Loss, SpendReceipt
from support.spends import DATASET, asking, ledger_of, spend_one


def committed(receipt: SpendReceipt, text: str = "a release") -> str:
    assert receipt.commit is not None
    return receipt.commit(text)


def test_an_account_is_a_hook_that_keeps_books(tmp_path):
    assert isinstance(ledger_of(tmp_path).account(DATASET), AdvisingHook)


def test_a_request_is_recorded_before_anything_is_drawn_and_its_release_is_read_back(tmp_path):
    ledger = ledger_of(tmp_path)
    receipt = ledger.account(DATASET)(asking(0.25))
    assert ledger.status(DATASET).spent_epsilon == 0.25
    assert ledger.status(DATASET).waiting == (receipt.request_id,)
    assert receipt.stored is None
    assert committed(receipt) == "a release"
    assert ledger.status(DATASET).waiting == ()
    assert receipt.anchor.startswith(f"discreet-ledger:{ledger.ledger_id}:2:")
    assert receipt.anchor.endswith(":epsilon=1.0:delta=0.0")


def test_the_same_request_gives_the_same_release_at_no_cost(tmp_path):
    ledger = ledger_of(tmp_path)
    first = ledger.account(DATASET)(asking())
    committed(first)
    again = Ledger(tmp_path / "books.db").account(DATASET)(asking())
    assert (again.stored, again.anchor, again.commit) == ("a release", first.anchor, None)
    assert ledger.status(DATASET).requests == 1


def test_a_request_that_was_cut_off_goes_on_at_no_further_cost(tmp_path):
    ledger = ledger_of(tmp_path, epsilon=0.1)
    first = ledger.account(DATASET)(asking(0.1))
    again = ledger.account(DATASET)(asking(0.1))
    assert again.anchor == first.anchor
    assert committed(again, "fresh noise") == "fresh noise"
    # whoever was slower is given what was recorded
    assert committed(first, "other noise") == "fresh noise"
    assert ledger.status(DATASET).spent_epsilon == 0.1


@pytest.mark.parametrize(
    "other",
    [
        asking(0.2), asking(0.1, 1e-9), asking(0.1, bound=3),
    ],
)  # fmt: skip
def test_another_question_is_another_request_and_cannot_have_its_id(tmp_path, other):
    ledger = ledger_of(tmp_path, delta=1e-6, rule="basic")
    committed(ledger.account(DATASET)(asking(0.1)))
    committed(ledger.account(DATASET)(other))
    assert ledger.status(DATASET).requests == 2
    named = ledger.account(DATASET, "march")
    committed(named(asking(0.01)))
    with pytest.raises(SpecError, match="'march' is already recorded for other options"):
        named(other)
    assert named(asking(0.01)).stored == "a release"
    assert ledger.status(DATASET).requests == 3


def test_another_version_asks_anew(tmp_path, monkeypatch):
    ledger = ledger_of(tmp_path)
    committed(ledger.account(DATASET)(asking()))
    monkeypatch.setattr("discreet.ledger.account.__version__", "99.0")
    assert ledger.account(DATASET)(asking()).stored is None
    assert ledger.status(DATASET).requests == 2


def test_an_id_belongs_to_one_data_set(tmp_path):
    ledger = ledger_of(tmp_path)
    ledger.declare("other", epsilon=1.0)
    committed(ledger.account(DATASET, "march")(asking()))
    with pytest.raises(SpecError, match="belongs to another data set"):
        ledger.account("other", "march")(asking())


def test_a_new_release_is_paid_for_and_can_be_resumed_by_its_id(tmp_path):
    ledger = ledger_of(tmp_path)
    committed(ledger.account(DATASET)(asking()), "one")
    second = ledger.account(DATASET, new_release=True)(asking())
    assert second.stored is None
    assert ledger.status(DATASET).spent_epsilon == pytest.approx(0.2)
    committed(ledger.account(DATASET, second.request_id)(asking()), "two")
    assert ledger.account(DATASET, second.request_id)(asking()).stored == "two"
    assert ledger.account(DATASET)(asking()).stored == "one"


def test_a_changed_table_needs_leave_and_spends_the_same_budget(tmp_path):
    ledger = ledger_of(tmp_path)
    committed(ledger.account(DATASET)(asking()), "one")
    with pytest.raises(SpecError, match="differs from the last table of data set 'people'"):
        ledger.account(DATASET)(asking(table="newer"))
    assert ledger.status(DATASET).requests == 1
    committed(ledger.account(DATASET, accept_changed_data=True)(asking(table="newer")), "two")
    assert ledger.status(DATASET).spent_epsilon == pytest.approx(0.2)
    # now the newer one is the table, and what was given for the old one is still given for it
    assert ledger.account(DATASET)(asking(table="newer")).stored == "two"
    assert ledger.account(DATASET)(asking()).stored == "one"
    with pytest.raises(SpecError, match="differs from the last table"):
        ledger.account(DATASET)(asking(0.3))


def test_a_table_of_another_data_set_is_refused_on_request(tmp_path):
    ledger = ledger_of(tmp_path)
    ledger.declare("other", epsilon=1.0)
    committed(ledger.account(DATASET)(asking(table="first")), "one")
    committed(ledger.account(DATASET, accept_changed_data=True)(asking(table="newer")), "two")
    own = ledger.account("other", refuse_shared_table=True)
    # every table that was charged counts, not the last one alone
    for table in ("first", "newer"):
        with pytest.raises(SpecError, match=f"already charged to data set '{DATASET}'.*Nothing was spent"):
            own(asking(table=table))
    assert ledger.status("other").requests == 0
    committed(own(asking(table="third")), "three")
    # its own table is no other's
    committed(ledger.account("other", "again", refuse_shared_table=True)(asking(table="third")), "four")
    committed(ledger.account("other", accept_changed_data=True)(asking(table="first")), "five")
    assert ledger.status("other").requests == 3


def test_fingerprints_of_different_kinds_are_not_compared(tmp_path):
    ledger = ledger_of(tmp_path)
    ledger.account(DATASET)(asking())
    ledger.account(DATASET)(asking(0.2, table="rows of it", kind="rows:5f"))
    assert ledger.status(DATASET).requests == 2


def test_a_table_without_a_fingerprint_needs_an_id_or_pays_anew(tmp_path):
    ledger = ledger_of(tmp_path)
    with pytest.raises(SpecError, match=r"pass request_id=\.\.\., or pass new_release=True for a new release"):
        ledger.account(DATASET)(asking(table=None))
    committed(ledger.account(DATASET, "stream-1")(asking(table=None)))
    assert ledger.account(DATASET, "stream-1")(asking(table=None)).stored == "a release"
    assert ledger.account(DATASET, new_release=True)(asking(table=None)).stored is None


def test_the_budget_refuses_early_and_late_with_nothing_spent(tmp_path):
    ledger = ledger_of(tmp_path)
    committed(ledger.account(DATASET)(asking(0.8)))
    account = ledger.account(DATASET)
    for ask in (account.advise, account):
        with pytest.raises(BudgetError, match=r"left: epsilon 0\.2, delta 0\. Nothing was spent") as caught:
            ask(asking(0.3))
        assert caught.value.exit_code == 3
    assert ledger.status(DATASET).requests == 1
    account.advise(asking(0.2))


def test_a_repeated_request_is_not_refused_early_when_the_budget_is_used_up(tmp_path):
    ledger = ledger_of(tmp_path)
    committed(ledger.account(DATASET)(asking(1.0)))
    ledger.account(DATASET).advise(asking(1.0))
    with pytest.raises(BudgetError):
        ledger.account(DATASET, new_release=True).advise(asking(1.0))


@pytest.mark.parametrize(
    "unit", [PrivacyUnit(neighbours="replace"), PrivacyUnit(id="person"), PrivacyUnit(id="person", max_rows=3)]
)
def test_another_unit_is_refused(tmp_path, unit):
    ledger = ledger_of(tmp_path)
    for ask in (ledger.account(DATASET).advise, ledger.account(DATASET)):
        with pytest.raises(SpecError, match="protects one row"):
            ask(asking(unit=unit))
    ledger.declare("persons", epsilon=1.0, unit=unit)
    ledger.account("persons")(asking(unit=unit))
    with pytest.raises(SpecError, match="change the unit in the design, or choose another data set"):
        ledger.account("persons")(asking())


# -- a request that stops ------------------------------------------------------------------------------------------


def gaussian(epsilon: float, delta: float) -> Loss:
    return Loss.gaussian(epsilon, delta, mu=mu_from(epsilon, delta), tau=1e-24)


def test_a_stop_gives_back_the_rest_and_the_same_request_has_the_same_verdict(tmp_path):
    ledger = ledger_of(tmp_path, delta=1e-6)
    whole, part = gaussian(0.4, 2e-7), gaussian(0.04, 1e-8)
    request = asking(0.4, 2e-7, loss=whole)
    receipt = ledger.account(DATASET)(request)
    before = ledger.status(DATASET).left["mu2"]
    assert receipt.stop is not None
    assert receipt.stop('{"fit": 3}', part) == '{"fit": 3}'
    given_back = ledger.status(DATASET).left["mu2"] - before
    assert given_back == pytest.approx(whole.mu**2 - part.mu**2, abs=1e-11)
    again = ledger.account(DATASET)(request)
    assert (again.stopped, again.stored, again.commit, again.stop) == ('{"fit": 3}', None, None, None)
    assert ledger.status(DATASET).requests == 1
    with pytest.raises(SpecError, match="was stopped"):
        ledger.export(receipt.request_id)


def test_a_request_that_was_taken_as_the_only_one_gets_nothing_back(tmp_path):
    ledger = ledger_of(tmp_path, delta=1e-6)
    receipt = ledger.account(DATASET)(asking(1.0, 1e-6, loss=gaussian(1.0, 1e-6)))
    assert receipt.stop is not None
    receipt.stop("{}", gaussian(0.04, 1e-8))
    with pytest.raises(BudgetError):
        ledger.account(DATASET)(asking(1e-6))


def test_a_stop_that_costs_more_than_was_reserved_is_refused(tmp_path):
    receipt = ledger_of(tmp_path).account(DATASET)(asking(0.1))
    assert receipt.stop is not None
    with pytest.raises(LedgerError, match="must not cost more than was reserved"):
        receipt.stop("{}", Loss.pure(0.2))


def test_a_committed_first_request_uses_the_budget_up(tmp_path):
    """Without its cost, (0.99, 9e-7) would be taken after it by the sums of the rule."""
    ledger = ledger_of(tmp_path, delta=1e-6)
    committed(ledger.account(DATASET)(asking(1.0, 1e-6, loss=gaussian(1.0, 1e-6))))
    assert ledger.history()[1].facts["route"] == "first"
    more = asking(0.99, 9e-7, loss=gaussian(0.99, 9e-7))
    for account in (ledger.account(DATASET), Ledger(tmp_path / "books.db").account(DATASET)):
        with pytest.raises(BudgetError):
            account(more)
    assert ledger.planned(DATASET, more.loss) is None
    ledger.declare("others", epsilon=1.0, delta=1e-6)
    assert ledger.planned("others", more.loss) is not None


# -- stages --------------------------------------------------------------------------------------------------------


def staged(receipt: SpendReceipt, text: str, name: str = "guard") -> str:
    assert receipt.stage is not None
    return receipt.stage(name, lambda: text)


def test_the_first_output_of_a_stage_is_the_one_there_is(tmp_path):
    ledger = ledger_of(tmp_path)
    one, two = ledger.account(DATASET)(asking()), ledger.account(DATASET)(asking())
    text = '{"counts":[1],"verdict":"go"}'
    assert staged(one, text) == text
    assert two.stage is not None
    assert two.stage("guard", lambda: pytest.fail("a committed stage was drawn again")) == text
    other = Ledger(tmp_path / "books.db").account(DATASET)(asking())
    assert staged(other, '{"verdict":"stop"}') == text
    # another stage of the request, and the same stage of another request, have outputs of their own
    assert staged(other, '{"verdict":"stop"}', "bounds") == '{"verdict":"stop"}'
    assert staged(ledger.account(DATASET)(asking(0.2)), '{"verdict":"stop"}') == '{"verdict":"stop"}'
    lines = [(line.facts["stage"], line.facts["verdict"]) for line in ledger.history() if line.kind == "stage"]
    assert lines == [("guard", "go"), ("bounds", "stop"), ("guard", "stop")]


def test_a_stage_costs_nothing_more_and_ends_nothing(tmp_path):
    ledger = ledger_of(tmp_path)
    receipt = ledger.account(DATASET, "one")(asking())
    before = ledger.status(DATASET)
    staged(receipt, '{"verdict":"go"}')
    assert ledger.status(DATASET) == before
    assert before.waiting == ("one",)
    ledger.verify(receipt.anchor)
    with pytest.raises(SpecError, match="has no release yet"):
        ledger.export("one")
    committed(receipt)
    assert ledger.export("one") == "a release"
    ledger.verify()


def test_a_draw_that_fails_leaves_no_stage(tmp_path):
    ledger = ledger_of(tmp_path)
    receipt = ledger.account(DATASET)(asking())
    assert receipt.stage is not None
    with pytest.raises(KeyError):
        receipt.stage("guard", lambda: {}["no such noise"])
    assert [line.kind for line in ledger.history()] == ["dataset", "reserve"]


def test_twins_that_end_differently_show_nothing_but_what_is_recorded(tmp_path):
    account = ledger_of(tmp_path).account(DATASET)
    one, two, three = account(asking()), account(asking()), account(asking())
    assert one.stop is not None
    assert three.stop is not None
    assert one.stop("stopped", Loss.pure(0.01)) == "stopped"
    with pytest.raises(AfterSpendError, match=r"another process completed request .* with a different result"):
        committed(two)
    assert three.stop("another verdict", Loss.pure(0.02)) == "stopped"


# -- many at once --------------------------------------------------------------------------------------------------


def test_threads_never_overspend_and_one_ledger_serves_them_all(tmp_path):
    ledger = ledger_of(tmp_path)
    barrier = threading.Barrier(8)

    def spend(index: int) -> str:
        barrier.wait()
        try:
            return committed(ledger.account(DATASET)(asking(0.1, index=index)), f"release {index}")
        except BudgetError:
            return "refused"

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(spend, range(16)))
    assert said.count("refused") == 6
    assert ledger.status(DATASET).requests == 10
    ledger.verify()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_pool_never_overspend(tmp_path, method):
    ledger_of(tmp_path, epsilon=0.3)
    with multiprocessing.get_context(method).Pool(2) as pool:
        said = pool.starmap(spend_one, [(str(tmp_path / "books.db"), index) for index in range(5)])
    assert said.count("refused") == 2
    Ledger(tmp_path / "books.db").verify()


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "../x", "ä", "a" * 101, "a\n", 5, None, b"a"])
def test_a_request_id_that_is_none_is_refused(name):
    with pytest.raises(SpecError, match=r"request id .* is not allowed"):
        checked_request(name)


def test_options_that_contradict_each_other_are_refused(tmp_path):
    ledger = ledger_of(tmp_path)
    with pytest.raises(SpecError, match="leave request_id out, or leave new_release out"):
        ledger.account(DATASET, "a", new_release=True)
    for name in ("new_release", "accept_changed_data", "refuse_shared_table"):
        with pytest.raises(SpecError, match=name):
            ledger.account(DATASET, **{name: 1})
    with pytest.raises(SpecError, match="is not allowed"):
        ledger.account(DATASET, "a b")


def test_no_fingerprint_leaves_the_ledger(tmp_path):
    ledger = ledger_of(tmp_path)
    receipt = ledger.account(DATASET)(asking(table="KEYED"))
    committed(receipt)
    shown = [repr(ledger), repr(receipt.anchor), repr(ledger.status(DATASET)), repr(ledger.history())]
    shown += [receipt.request_id, repr(ledger.account(DATASET))]
    assert not [text for text in shown if "KEYED" in text or ledger._storage.key.hex() in text]
    assert b"KEYED" in (tmp_path / "books.db").read_bytes()


def test_a_request_id_is_keyed_whatever_the_table_says_of_itself(tmp_path):
    account = ledger_of(tmp_path).account(DATASET)
    request = asking(table="the same under every key")
    fingerprint = "files:the same under every key"
    ids = set()
    for key in (account.storage.key, b"another"):
        account.storage.key = key
        ids |= {account._digest(request, fingerprint), account._question(request)}
    assert len(ids) == 4
