"""Off by default, apart from the rest, and it shows counts but no cell."""

from __future__ import annotations

from support.studio_client import SECRET, Browser


def test_it_is_off_until_it_is_turned_on(tmp_path):
    browser = Browser(tmp_path).declared()
    assert "Count now" not in browser.get("/check").text
    browser.post("/check/count", {"request": "a"})
    assert browser.space.check_result is None
    assert browser.space.jobs.running is None
    assert "Count now" in browser.post("/check/switch", {"on": "yes"}).text


def test_what_it_finds_and_how_to_fix_it(tmp_path):
    browser = Browser(tmp_path).declared()
    with (tmp_path / "people.csv").open("a") as file:
        file.write('1e9,40,"north"\n,40,"north"\n100,40,"Atlantis"\n')
    browser.post("/check/switch", {"on": "yes"})
    browser.post("/check/count", {"request": "a"})
    browser.waited()
    text = browser.get("/check").text
    assert "NOT FOR PUBLICATION" in text
    assert "403" in text
    assert "pay: 1 cell: clipped high" in text
    assert "region: 1 cell: no declared level" in text
    assert "spelling" in text
    assert "Atlantis" not in text
    assert SECRET not in text
    off = browser.post("/check/switch", {})
    assert "403" not in off.text
    assert browser.space.check_result is None


def test_a_table_that_cannot_be_read(tmp_path):
    browser = Browser(tmp_path).declared()
    (tmp_path / "people.csv").write_text(f"pay,age\n{SECRET},3\n")
    browser.post("/check/switch", {"on": "yes"})
    browser.post("/check/count", {"request": "a"})
    browser.waited()
    job = browser.space.jobs.asked("a")
    assert job.state == "failed"
    assert SECRET not in job.error
    assert str(tmp_path) not in job.error
    assert "region" in browser.get(f"/job/{job.key}").text


def test_it_waits_for_other_work(tmp_path):
    from threading import Event

    browser, go = Browser(tmp_path).declared(), Event()
    browser.post("/check/switch", {"on": "yes"})
    browser.space.jobs.start("plan", "/plan", lambda job: go.wait(10), request="other")
    assert browser.post("/check/count", {"request": "a"}).status_code == 409
    go.set()
