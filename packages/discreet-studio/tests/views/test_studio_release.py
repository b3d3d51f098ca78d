"""The spend: once, with consent, cancellable until then; crashes, full disks and second clicks cost nothing more."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

import discreet
from discreet_studio.app import Studio
from support.studio_client import HOST, SECRET, Browser, errors, hidden


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """A curator who is about to confirm; the page that is written is short, as drawing it takes most of the time."""
    monkeypatch.setattr(discreet, "report", lambda *_, **__: SimpleNamespace(html="<h1>pay</h1>"))
    return Browser(tmp_path).declared().with_ledger()


def seen(page):
    """The hidden fields of a confirmation."""
    return {one: hidden(page, one) for one in ("request", "shown")}


def test_the_whole_way(tmp_path, caplog):
    browser = Browser(tmp_path).declared().with_ledger()
    with caplog.at_level(logging.DEBUG):
        page = browser.get("/release").text
        assert "Spend epsilon 1" in page
        browser.confirm("pay")
        browser.waited()
        done = browser.get("/release/done?name=pay")
    assert "Verified" in done.text
    made = discreet.Release.load(tmp_path / "pay.release.json")
    assert made.guarantee.epsilon == 1
    discreet.Ledger(tmp_path / "ledger.db").verify(made)
    for end in (".html", ".release.json", ".md", ".tex", ".csv", ".py", ".ipynb", ".design.toml"):
        given = browser.get(f"/files?name=pay{end}")
        assert given.status_code == 200
        assert "attachment" in given.headers["content-disposition"]
        assert SECRET not in given.text
    assert "<h1>pay</h1>" in browser.get("/frames/report?name=pay.html").text
    assert SECRET not in done.text
    assert SECRET not in caplog.text
    assert SECRET not in (tmp_path / ".discreet-studio.json").read_text()


def test_a_guard_that_stops_ends_the_request(browser):
    """All rows have a region that the design does not list and are dropped, so the guard stops."""
    rows = (browser.folder / "people.csv").read_text().replace("north", "west").replace("south", "west")
    (browser.folder / "people.csv").write_text(rows)
    region = {"levels": ["north", "south"], "missing": "drop"}
    dropping = discreet.Design("pay", {"pay": (0, 5000), "age": (18, 90), "region": region})
    dropping.save(browser.folder / "people.toml", force=True)
    browser.post("/design/load", {"design": "people.toml"})
    browser.space.store.change(plan=browser.space.state.plan | {"guard": "yes"})
    browser.confirm("pay")
    browser.waited()
    assert 0 < browser.spent() < 0.2
    assert browser.space.state.begun == {}
    assert not (browser.folder / "pay.release.json").exists()


def test_consent_is_needed(browser):
    page = browser.get("/release").text
    answer = browser.post("/release/confirm", {**seen(page), "name": "pay"})
    assert answer.status_code == 422
    assert errors(answer.text) == ["tick this box to confirm; a release cannot be undone"]
    assert browser.spent() == 0


def test_second_clicks_reloads_and_tabs_spend_once(browser):
    page = browser.get("/release").text
    data = {**seen(page), "name": "pay", "sure": "yes"}
    keys = set()
    for _ in range(4):
        keys.add(browser.post("/release/confirm", data).url.path)
    browser.waited()
    once = browser.spent()
    assert once > 0
    browser.post("/release/confirm", data)
    browser.waited()
    assert browser.spent() == once
    # another tab, with a request of its own, asks for the same thing: the ledger gives the same release
    other = browser.confirm("again")
    browser.waited()
    assert other.status_code == 200
    assert browser.spent() == once
    assert (browser.folder / "again.release.json").read_bytes() == (browser.folder / "pay.release.json").read_bytes()


@pytest.mark.parametrize("change", [
    {"plan": {"rows": "400", "epsilon": "0.5", "delta": "1e-6"}}, {"table": "other.csv"}, {"accounts": {}},
    {"database_table": "x"}, {"reading": {"delimiter": ";"}}, {"draft": {"target": "age"}},
])  # fmt: skip
def test_a_confirmation_holds_for_what_its_page_showed(browser, change):
    page = browser.get("/release").text
    assert "Spend epsilon 1 " in page
    browser.space.store.change(**change)
    answer = browser.post("/release/confirm", {**seen(page), "name": "pay", "sure": "yes"})
    browser.waited()
    assert answer.status_code == 409
    assert "The plan has changed since this page was loaded" in answer.text
    assert 'value="yes" checked' not in answer.text
    assert browser.spent() == 0
    assert browser.space.state.begun == {}


def test_a_stale_tab_looks_again_and_then_spends_what_it_shows(browser):
    page = browser.get("/release").text
    browser.post("/plan", {"rows": "400", "epsilon": "0.5", "delta": "1e-6"})
    again = browser.post("/release/confirm", {**seen(page), "name": "pay", "sure": "yes"}).text
    assert "Spend epsilon 0.5 " in again
    browser.post("/release/confirm", {**seen(again), "name": "pay", "sure": "yes"})
    browser.waited()
    assert discreet.Release.load(browser.folder / "pay.release.json").guarantee.epsilon == 0.5


def other_table(browser, name="ok.csv", rows=300):
    """Choose another table, with the same design and plan."""
    kept = {"draft": browser.space.state.draft, "plan": browser.space.state.plan}
    browser.put_table(name, rows)
    browser.post("/table/read", {"file": name})
    browser.space.store.change(**kept)


def declare(browser, dataset, place="release"):
    data = {"from": place, "dataset": dataset, "budget_epsilon": "3", "budget_delta": "1e-5"}
    assert browser.post("/ledger/create", data).status_code == 200


def test_the_data_set_follows_the_table(browser):
    assert "<strong>people</strong> in ledger.db" in browser.get("/release").text
    other_table(browser)
    asked = browser.get("/release").text
    assert "No data set is chosen yet for <strong>ok.csv</strong>" in asked
    assert "Spend epsilon" not in asked
    declare(browser, "ok")
    assert "<strong>ok</strong> in ledger.db" in browser.get("/release").text
    other_table(browser, "people.csv", 400)
    assert "<strong>people</strong> in ledger.db" in browser.get("/release").text
    # declared on the ledger page it is offered, and charges nothing by itself
    declare(browser, "third", "ledger")
    page = browser.get("/release").text
    assert "<strong>people</strong> in ledger.db" in page
    assert "ledger.db/third" in page
    assert "<strong>third</strong>" in browser.post("/release/choose", {"account": "ledger.db/third"}).text
    assert browser.post("/release/choose", {"account": "ledger.db/nobody"}).status_code == 422
    assert browser.space.state.account == ("ledger.db", "third")


def test_one_table_is_not_charged_to_two_data_sets_unless_somebody_says_so(browser):
    browser.confirm("pay")
    browser.waited()
    # also under another name of its file
    other_table(browser, "copy.csv", 400)
    declare(browser, "copy")
    browser.confirm("again")
    browser.waited()
    assert not (browser.folder / "again.release.json").exists()
    job = list(browser.space.jobs._jobs.values())[-1]
    assert "already charged to data set 'people'" in job.error
    books = discreet.Ledger(browser.folder / "ledger.db")
    assert books.status("copy").requests == 0
    browser.confirm("again", shared="yes")
    browser.waited()
    assert books.status("copy").requests == 1


def test_every_column_is_named_before_the_spend(tmp_path):
    browser = Browser(tmp_path).declared()
    names = [f"x{number}" for number in range(1, 20)]
    wide = discreet.Design("y", {"y": (0, 1)} | dict.fromkeys(names, (0, 1)))
    wide.save(tmp_path / "wide.toml")
    browser.post("/design/load", {"design": "wide.toml"})
    text = browser.with_ledger().get("/release").text
    assert "all 20" in text
    assert ", ".join(names) in text


def test_a_newer_state_is_asked_for_only_after_a_release(browser):
    assert "newer state of the same data set" not in browser.get("/release").text
    browser.confirm("pay")
    browser.waited()
    assert "newer state of the same data set" in browser.get("/release").text


def test_one_release_at_a_time(browser):
    go = Event()
    browser.space.jobs.start("check", "/check", lambda job: go.wait(10), request="other")
    answer = browser.confirm("pay")
    assert answer.status_code == 409
    assert browser.spent() == 0
    go.set()


def test_cancel_before_the_spend_spends_nothing(browser, monkeypatch):
    reached, go = Event(), Event()
    whole = discreet.CancelToken.close

    def slow(token):
        reached.set()
        go.wait(10)
        whole(token)

    monkeypatch.setattr(discreet.CancelToken, "close", slow)
    browser.confirm("pay")
    assert reached.wait(10)
    job = browser.space.jobs.running
    assert "You can cancel until the budget is spent" in browser.get(f"/job/{job.key}").text
    assert job.token.cancel()
    go.set()
    browser.waited()
    answer = browser.post("/job/cancel", {"key": job.key})
    assert "Nothing was spent" in answer.text
    assert browser.spent() == 0
    assert not (browser.folder / "pay.release.json").exists()
    assert browser.space.state.begun == {}


def test_cancel_after_the_spend_says_that_it_is_too_late(browser):
    browser.confirm("pay")
    browser.waited()
    job = browser.space.jobs.asked(next(iter(browser.space.jobs._requests)))
    answer = browser.post("/job/cancel", {"key": job.key})
    assert "too late" in answer.text
    assert browser.spent() > 0


def test_a_crash_after_the_spend_is_finished_from_the_ledger(browser, monkeypatch):
    def killed(*_, **__):
        raise SystemExit

    monkeypatch.setattr(discreet.Release, "save", killed)
    monkeypatch.setattr("threading.excepthook", lambda _: None)
    browser.confirm("pay")
    browser.space.jobs._jobs.clear()
    monkeypatch.undo()
    spent = browser.spent()
    assert spent > 0
    # another program opens the same folder
    later = Browser(browser.folder, studio=Studio(browser.folder, HOST))
    page = later.get("/release").text
    assert "was started but not finished" in page
    later.post("/release/finish", {"request": hidden(page, "request")})
    later.waited()
    assert later.spent() == spent
    assert discreet.Release.load(browser.folder / "pay.release.json").private
    assert later.space.state.begun == {}
    assert "was started but not finished" not in later.get("/release").text


def test_a_full_disk_after_the_spend_is_finished_later(browser, monkeypatch):
    def full(self, path, **_):
        raise discreet.DiscreetError(f"cannot write: {os.strerror(28)}")

    monkeypatch.setattr(discreet.Release, "save", full)
    answer = browser.confirm("pay")
    browser.waited()
    job = browser.space.jobs.asked(next(iter(browser.space.jobs._requests)))
    text = browser.get(f"/job/{job.key}").text
    assert "No space left" in text
    assert "recorded in the ledger" in text
    assert answer.status_code == 200
    monkeypatch.undo()
    spent = browser.spent()
    browser.post("/release/finish", {"request": "later"})
    browser.waited()
    assert browser.spent() == spent
    assert (browser.folder / "pay.html").exists()


def test_an_error_in_the_table_costs_nothing_and_quotes_nothing(browser):
    with (browser.folder / "people.csv").open("a") as file:
        file.write(f'"{SECRET}x",40,"north"\n')
    browser.confirm("pay")
    browser.waited()
    job = browser.space.jobs.asked(next(iter(browser.space.jobs._requests)))
    assert job.state == "failed"
    assert SECRET not in job.error
    assert "pay" in job.error
    assert browser.spent() == 0
    assert browser.space.state.begun == {}


def test_a_budget_that_is_too_small(tmp_path):
    browser = Browser(tmp_path).declared().with_ledger("0.5", "1e-6")
    assert "this release would exceed the budget" in browser.get("/release").text
    browser.confirm("pay")
    browser.waited()
    assert browser.spent() == 0


def test_what_was_confirmed_is_finished_and_not_what_was_typed_since(browser, monkeypatch):
    def full(self, path, **_):
        raise discreet.DiscreetError("no space left")

    monkeypatch.setattr(discreet.Release, "save", full)
    browser.confirm("pay")
    browser.waited()
    monkeypatch.undo()
    spent = browser.spent()
    browser.space.store.change(plan={"rows": "400", "epsilon": "0.25", "delta": "1e-6"}, draft={}, table="other.csv")
    browser.post("/release/finish", {"request": "later"})
    browser.waited()
    assert browser.spent() == spent
    assert discreet.Release.load(browser.folder / "pay.release.json").guarantee.epsilon == 1


def test_no_file_of_the_curator_is_overwritten(browser):
    """A release called people would write its table of coefficients over the table of people."""
    before = (browser.folder / "people.csv").read_bytes()
    answer = browser.confirm("people")
    assert "the file people.csv already exists" in answer.text
    assert browser.spent() == 0
    for end in (".md", ".tex", ".py", ".ipynb", ".design.toml"):
        (browser.folder / f"mine{end}").write_text("mine")
        assert browser.confirm("mine").status_code == 422
        assert (browser.folder / f"mine{end}").read_text() == "mine"
        (browser.folder / f"mine{end}").unlink()
    assert (browser.folder / "people.csv").read_bytes() == before


@pytest.mark.parametrize("name", ["../pay", "a/b", ".hidden", "x" * 200, "pay\x00", "taken"])
def test_names_of_files(browser, name):
    (browser.folder / "taken.html").write_text("mine")
    answer = browser.confirm(name)
    assert answer.status_code == 422
    assert 'id="name-error"' in answer.text
    assert browser.spent() == 0
    assert (browser.folder / "taken.html").read_text() == "mine"


def test_it_can_be_signed(browser):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (browser.folder / "key.pem").write_bytes(key)
    assert "Sign with" in browser.get("/release").text
    browser.confirm("pay", sign="key.pem")
    browser.waited()
    assert discreet.Release.load(browser.folder / "pay.release.json").signature
    assert "It is signed" in browser.get("/release/done?name=pay").text
    (browser.folder / "no.pem").write_text("nonsense")
    browser.confirm("other", sign="no.pem")
    browser.waited()
    assert not (browser.folder / "other.release.json").exists()


def test_a_ledger_that_exists_is_taken(tmp_path):
    browser = Browser(tmp_path).declared()
    discreet.Ledger.create(tmp_path / "books.db").declare("survey", epsilon=2.0, delta=1e-5)
    assert "books.db/survey" in browser.get("/release").text
    assert "Spend epsilon 1" in browser.post("/release/choose", {"account": "books.db/survey"}).text


def test_a_release_that_was_begun_can_be_left(browser):
    browser.space.store.change(begun={"name": "pay", "dataset": "people"})
    assert "was started but not finished" in browser.get("/release").text
    assert "was started but not finished" not in browser.post("/release/forget").text
    assert browser.post("/release/finish", {"request": "x"}).url.path == "/release"


def test_only_what_was_made_here_is_given(browser):
    (browser.folder / "secret.csv").write_text("x")
    (browser.folder / "other.release.json").write_text(json.dumps({}))
    for name in ("secret.csv", "people.csv", "ledger.db", "other.release.json", ".discreet-studio.json", "pay.html"):
        assert browser.get(f"/files?name={name}").status_code == 400
        assert browser.get(f"/frames/report?name={name}").status_code == 400
        assert Path(browser.folder, "people.csv").exists()
    assert browser.get("/release/done?name=other").status_code == 400
