"""Parts of a plan that are work with many columns: progress, cancel, and what they lead to."""

from __future__ import annotations

import threading

import discreet
from discreet_studio.views import expected_results
from support.studio_client import Browser, hidden


def test_many_columns_ask_before_they_compute(tmp_path, monkeypatch):
    browser = Browser(tmp_path).declared()
    monkeypatch.setattr(expected_results, "LIVE_COLUMNS", dict.fromkeys(expected_results.LIVE_COLUMNS, 1))
    browser.space.store.change(plan=browser.space.state.plan | {"by": "accuracy", "coefficient": "age", "width": "9"})
    for what in ("widths", "mechanisms", "smallest"):
        assert hidden(browser.get(f"/plan/{what}").text, "what") == what
    monkeypatch.setattr(discreet.planning, "smallest_epsilon", lambda *_, **__: 1.5)
    monkeypatch.setattr(discreet.planning, "smallest_rows", lambda *_, **__: 777.0)
    answer = browser.post("/plan/compute", {"what": "smallest", "request": "a"})
    browser.waited()
    assert answer.url.path in ("/plan", f"/job/{answer.url.path.rpartition('/')[2]}")
    assert "777" in browser.get("/plan/smallest").text
    assert browser.post("/plan/compute", {"what": "magic", "request": "b"}).status_code == 400


def test_work_on_a_plan_can_be_cancelled(tmp_path, monkeypatch):
    browser = Browser(tmp_path).declared()
    begun, go_on = threading.Event(), threading.Event()

    def slow(*_, **__):
        begun.set()
        go_on.wait(10)
        return "made"

    monkeypatch.setattr(discreet, "plan", slow)
    monkeypatch.setattr(expected_results, "LIVE_COLUMNS", dict.fromkeys(expected_results.LIVE_COLUMNS, 1))
    page = browser.post("/plan/compute", {"what": "widths", "request": "a"})
    assert begun.wait(10)
    assert "This spends nothing" in page.text
    job = browser.space.jobs.running
    job.token.cancel()
    go_on.set()
    browser.waited()
    assert job.state == "cancelled"
    assert "Cancelled" in browser.get(f"/job/{job.key}").text
