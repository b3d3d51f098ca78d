"""Progress, its end, and work that nobody knows."""

from __future__ import annotations

from threading import Event

from support.studio_client import Browser


def test_progress_and_its_end(tmp_path):
    browser, go = Browser(tmp_path), Event()

    def work(job):
        job.progress(0.5)
        job.stage = "reading"
        go.wait(10)

    job = browser.space.jobs.start("preview", "/preview", work, request="a")
    while job.share is None:
        pass
    page = browser.get(f"/job/{job.key}")
    assert 'value="50"' in page.text
    assert 'role="status"' in page.text
    assert "Cancel" not in page.text
    assert "A job is running" in browser.get("/table").text
    part = browser.get(f"/job/{job.key}/part")
    assert "<html" not in part.text
    assert "hx-redirect" not in part.headers
    go.set()
    browser.waited()
    assert browser.get(f"/job/{job.key}/part").headers["hx-redirect"] == "/preview"
    assert browser.get(f"/job/{job.key}").url.path == "/preview"
    assert "too late" not in browser.post("/job/cancel", {"key": job.key}).text
    assert browser.post("/job/cancel", {"key": "?"}).status_code == 400
