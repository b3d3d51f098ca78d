"""A part: nothing is read that is refused, the spend is recorded, the same table gives the same bytes."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

import discreet
from discreet.curator.table import Table
from discreet.design.design import Design
from discreet.errors import (
    AfterSpendError,
    BudgetError,
    ColumnNotice,
    DataError,
    OutputError,
    PrivacyNotice,
    SpecError,
)
from discreet.mechanisms.sampler import ExactSampler
from discreet.parts import making
from discreet.parts.agreement import Session, asked_by
from discreet.parts.making import Record, exact_numbers, place_of
from discreet.parts.part_file import Part
from discreet.privacy.spend import untracked
from discreet.tables.opening import open_source
from discreet.tables.source import ComputeOptions
from support.curators import DESIGN, TERMS, NoNoise, curators, rows
from support.tables import Untouchable


@pytest.fixture
def people(tmp_path):
    return curators(tmp_path)


def ledger(tmp_path, epsilon=1.0):
    made = discreet.Ledger.create(tmp_path / "L.db")
    made.declare("people", epsilon=epsilon, delta=1e-5)
    return made


def test_the_public_function_masks_and_records(people):
    people.session.save(people.folder / "S.toml")
    made = discreet.part(rows(1), DESIGN, people.folder / "S.toml", key=people.path(1))
    assert (made.curator, made.session, made.header.anchor) == ("süd", people.session, "untracked")
    again = discreet.part(rows(1), DESIGN, people.session, key=str(people.path(1)))
    assert again.content == made.content


def test_the_same_table_again_gives_the_same_bytes_and_another_table_nothing(people):
    made = people.part(0, rows(1), ExactSampler())
    assert people.part(0, rows(1), ExactSampler()).content == made.content
    spent = []

    def spend(request):
        spent.append(request)
        return untracked(request)

    with pytest.raises(SpecError, match="this key already used session"):
        people.part(0, rows(2), ExactSampler(), spend=spend)
    assert not spent


def test_rows_in_another_order_are_the_same_table_also_where_persons_are_capped(tmp_path):
    design = Design("y", {"y": (0, 10), "x": (0, 5)}, unit={"id": "person", "max_rows": 1})
    people = curators(tmp_path, design)
    table = rows(1, 30, persons=5)
    made = people.part(0, table, ExactSampler(), design)
    turned = {name: cells[::-1] for name, cells in table.items()}
    assert people.part(0, turned, ExactSampler(), design) == made


class Given(NoNoise):
    """Noise that was chosen."""

    def __init__(self, noise):
        self.noise = noise

    def draw(self, sigmas):
        return list(self.noise)


def test_two_tables_with_equal_noisy_sums_give_the_same_bytes(people, tmp_path):
    """In lockstep: nothing of a table but its noisy sums reaches the part."""
    asked = asked_by(people.session, DESIGN)
    exact = []
    for table in (rows(1, 20), rows(2, 31)):
        with Table(open_source(table), DESIGN, asked.domain, ComputeOptions()) as opened:
            exact.append(opened.sums().on_grid(asked.distribution.unit))
    (tmp_path / "again").mkdir()
    again = replace(people, folder=tmp_path / "again")
    people.keys[0].save(again.path(0))
    noise = [17 * k for k in range(len(exact[0]))]
    moved = [one + a - b for one, a, b in zip(noise, *exact, strict=True)]
    one = people.part(0, rows(1, 20), Given(noise))
    other = again.part(0, rows(2, 31), Given(moved))
    assert one.content == other.content
    # negative control: one step of noise more is another part
    (tmp_path / "third").mkdir()
    third = replace(people, folder=tmp_path / "third")
    people.keys[0].save(third.path(0))
    assert third.part(0, rows(1, 20), Given([noise[0] + 1, *noise[1:]])).content != one.content


def test_a_crash_between_record_and_output_leaves_the_same_part(people, monkeypatch):
    kept = []
    keep = Record.keep

    def crash(self, values, part):
        kept.append(keep(self, values, part))
        raise KeyboardInterrupt

    monkeypatch.setattr(Record, "keep", crash)
    with pytest.raises(KeyboardInterrupt):
        people.part(0, rows(1), ExactSampler())
    monkeypatch.setattr(Record, "keep", keep)
    assert people.part(0, rows(1), ExactSampler()) == kept[0]


def test_a_failure_after_the_spend_says_so_where_somebody_counts(people, monkeypatch, tmp_path):
    def fail(*_):
        raise OutputError("the disk is full")

    books = ledger(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Record, "keep", fail)
        with pytest.raises(AfterSpendError, match=r"the part failed after the budget was spent.*the disk is full"):
            people.part(0, rows(1), ExactSampler(), spend=books.account("people"))
        with pytest.raises(OutputError, match=r"^the disk is full$"):
            people.part(1, rows(1), ExactSampler())
    # nobody has seen either, so both are finished
    assert people.part(0, rows(1), ExactSampler(), spend=books.account("people")).curator == "north"
    assert people.part(1, rows(1), ExactSampler()).curator == "süd"


def moved(people, name):
    """The same curators with their keys in a folder without records."""
    folder = people.folder / name
    folder.mkdir()
    for place, key in enumerate(people.keys):
        key.save(folder / f"{place}.key")
    return replace(people, folder=folder)


class Killed(BaseException):
    """What ends a process at once."""


def test_a_record_that_was_never_committed_does_not_replace_the_part_of_the_ledger(people, tmp_path, monkeypatch):
    """A process dies between record and ledger; the key in another folder then makes the only part that counts."""
    books, copy = ledger(tmp_path, epsilon=5.0), moved(people, "copy")
    keep = Record.keep

    def killed(self, exact, part):
        keep(self, exact, part)
        raise Killed

    monkeypatch.setattr(Record, "keep", killed)
    with pytest.raises(Killed):
        people.part(0, rows(1), ExactSampler(), spend=books.account("people"))
    monkeypatch.setattr(Record, "keep", keep)
    seen = copy.part(0, rows(1), ExactSampler(), spend=books.account("people"))
    again = people.part(0, rows(1), ExactSampler(), spend=books.account("people"))
    assert again.content == seen.content


def test_a_part_that_another_process_committed_first_is_returned_ever_after(people, tmp_path, monkeypatch):
    """Another process commits its part between the record and the commit of this one."""
    books, copy = ledger(tmp_path, epsilon=5.0), moved(people, "copy")
    keep, seen = Record.keep, []

    def overtaken(self, exact, part):
        kept = keep(self, exact, part)
        monkeypatch.setattr(Record, "keep", keep)
        seen.append(copy.part(0, rows(1), ExactSampler(), spend=books.account("people")))
        return kept

    monkeypatch.setattr(Record, "keep", overtaken)
    first = people.part(0, rows(1), ExactSampler(), spend=books.account("people"))
    later = people.part(0, rows(1), ExactSampler(), spend=books.account("people"))
    assert {first.content, later.content} == {seen[0].content}


def test_a_ledger_takes_one_part_of_a_session_whatever_the_records_say(people, tmp_path):
    """Where the records are lost the ledger still refuses other sums, other noise, and another data set."""
    books = ledger(tmp_path, epsilon=5.0)
    books.declare("others", epsilon=5.0, delta=1e-5)
    made = people.part(0, rows(1), ExactSampler(), spend=books.account("people"))
    spent = books.status("people").spent_epsilon
    tries = {
        "other table": (rows(2), books.account("people", accept_changed_data=True)),
        "other noise": (rows(1), books.account("people", new_release=True)),
        "other request": (rows(1), books.account("people", "mine")),
        "other data set": (rows(1), books.account("others")),
    }
    for name, (table, account) in tries.items():
        with pytest.raises(SpecError, match=r"A session can be used once.*Nothing was spent"):
            moved(people, name).part(0, table, ExactSampler(), spend=account)
    assert (books.status("people").spent_epsilon, books.status("people").requests) == (spent, 1)
    assert books.status("others").requests == 0
    again = moved(people, "same table")
    assert again.part(0, rows(1), ExactSampler(), spend=books.account("people")).content == made.content
    # negative control: another curator's part and another session are taken
    assert people.part(1, rows(2), ExactSampler(), spend=books.account("others")).curator == "süd"
    other = replace(people, session=Session.new(DESIGN, people.session.curators, **TERMS))
    assert other.part(0, rows(1), ExactSampler(), spend=books.account("people")).content != made.content


def test_a_used_session_is_refused_before_the_table_is_read(people, tmp_path):
    books = ledger(tmp_path, epsilon=5.0)
    books.declare("others", epsilon=5.0, delta=1e-5)
    people.part(0, rows(1), ExactSampler(), spend=books.account("people"))
    with pytest.raises(SpecError, match="A session can be used once"):
        moved(people, "again").part(0, {"x": ["no number"]}, ExactSampler(), spend=books.account("others"))


def test_of_two_tables_at_a_time_the_second_is_refused_with_nothing_spent(people, tmp_path):
    """One waits for the other between its look for a record and its own record."""
    books = ledger(tmp_path, epsilon=5.0)
    outcomes, entered = {}, threading.Event()

    def slow(request):
        entered.set()
        time.sleep(0.2)
        return untracked(request)

    def late():
        entered.wait()
        try:
            people.part(0, rows(2), ExactSampler(), spend=books.account("people"))
        except SpecError as error:
            outcomes["late"] = str(error)

    thread = threading.Thread(target=late)
    thread.start()
    assert people.part(0, rows(1), ExactSampler(), spend=slow).curator == "north"
    thread.join()
    assert "this key already used session" in outcomes["late"]
    assert books.status("people").requests == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"design": Design("y", {"y": (0, 10), "x": (0, 6), "g": ["a", "b", "c"]})}, "the design is not the one"),
        ({"key": "no.key"}, "cannot read"),
        ({"spend": 5}, "spend: expected ledger.account"),
        ({"compute": 5}, "compute"),
        ({"session": 5}, "path"),
        ({"design": "design.toml"}, "expected a Design"),
    ],
)
def test_what_is_refused_is_refused_before_the_table_is_touched(people, change, message):
    given = {"design": DESIGN, "session": people.session, "key": people.path(0)} | change
    with pytest.raises(SpecError, match=message):
        discreet.part(Untouchable(), **given)
    assert list(people.folder.glob("discreet-sessions-*")) == []


def test_weak_privacy_needs_a_word(tmp_path):
    people = curators(tmp_path)
    people = replace(people, session=replace(people.session, epsilon=30.0))
    with pytest.raises(SpecError, match="allow_weak_privacy"):
        discreet.part(Untouchable(), DESIGN, people.session, key=people.path(0))
    with pytest.warns(PrivacyNotice):
        discreet.part(rows(1), DESIGN, people.session, key=people.path(0), allow_weak_privacy=True)


def test_a_key_that_is_not_in_the_session_is_refused(people, tmp_path):
    other = curators(tmp_path / "other")
    with pytest.raises(SpecError, match=r"the key of 'north' does not belong to session.*'north', 'süd', 'west'"):
        place_of(people.session, other.keys[0])


def test_half_of_a_pair_of_keys_is_not_enough(people, tmp_path):
    other = curators(tmp_path / "other").session.curators[1]
    mixed = replace(people.session.curators[1], sign_key=other.sign_key)
    session = replace(people.session, curators=(people.session.curators[0], mixed, people.session.curators[2]))
    with pytest.raises(SpecError, match="does not belong to session"):
        place_of(session, people.keys[1])


def test_the_ledger_records_the_spend_once_and_refuses_what_is_beyond_it(tmp_path):
    people, books = curators(tmp_path), ledger(tmp_path)
    made = people.part(0, rows(1), ExactSampler(), spend=books.account("people"))
    assert made.header.anchor != "untracked"
    assert people.part(0, rows(1), ExactSampler(), spend=books.account("people")).content == made.content
    assert [line.kind for line in books.history("people")][-2:] == ["reserve", "commit"]
    # a new session is a new release of the same rows
    session = Session.new(DESIGN, people.session.curators, **TERMS)
    with pytest.raises(BudgetError):
        making.part_with(NoNoise(), rows(1), DESIGN, session, key=people.path(0), spend=books.account("people"))
    assert people.part(1, rows(2)).header.anchor == "untracked"


def test_a_part_whose_record_is_lost_is_given_again_by_the_ledger(tmp_path):
    people, books = curators(tmp_path), ledger(tmp_path)
    made = people.part(0, rows(1), ExactSampler(), spend=books.account("people"))
    (file,) = people.folder.glob("discreet-sessions-*/*")
    file.unlink()
    assert people.part(0, rows(1), ExactSampler(), spend=books.account("people")).content == made.content
    assert file.exists()


def test_a_spend_that_was_reserved_before_a_crash_is_not_made_twice(tmp_path, monkeypatch):
    people, books = curators(tmp_path), ledger(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Part, "signed", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            people.part(0, rows(1), ExactSampler(), spend=books.account("people"))
    assert people.part(0, rows(1), ExactSampler(), spend=books.account("people")).curator == "north"
    assert [line.kind for line in books.history("people")].count("reserve") == 1


def test_positions_of_an_array_are_said(people):
    import numpy as np

    design = Design("y", {"x": (0, 5), "y": (0, 10)})
    other = curators(people.folder / "array", design)
    with pytest.warns(ColumnNotice):
        other.part(0, np.ones((4, 2)), design=design)


def test_more_rows_than_a_part_may_have_are_refused(people, monkeypatch):
    monkeypatch.setattr(making, "MOST_ROWS", 19)
    with pytest.raises(DataError, match="more than 19 rows"):
        people.part(0, rows(1))


def test_the_number_of_units_is_sent_only_where_it_is_public(tmp_path):
    unit = {"id": "person", "max_rows": 2, "neighbours": "replace"}
    sizes = []
    for given in (unit, unit | {"neighbours": "add-remove"}):
        design = Design("y", {"y": (0, 10), "x": (0, 5)}, unit=given)
        people = curators(tmp_path / given["neighbours"], design)
        sizes.append(people.part(0, rows(1, persons=5), design=design).header.numbers)
    assert sizes == [7, 6]


def test_exact_numbers_are_on_the_grid_of_the_noise(people):
    from discreet.curator.sums.gram import Totals
    from discreet.curator.sums.row_counts import RowCounts

    asked = asked_by(people.session, DESIGN)
    assert exact_numbers(Totals((3, -4), asked.distribution.unit, RowCounts(2)), asked, people.session) == [3, -4]
