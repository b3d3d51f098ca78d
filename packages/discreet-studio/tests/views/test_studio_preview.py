"""A preview is simulated, says so, spends nothing and opens no table."""

from __future__ import annotations

from support.studio_client import Browser


def test_it_is_marked_and_needs_no_table(tmp_path):
    browser = Browser(tmp_path).declared()
    (tmp_path / "people.csv").unlink()
    browser.post("/preview", {"request": "a"})
    browser.waited()
    page = browser.get("/preview")
    assert "SIMULATED" in page.text
    assert 'sandbox=""' in page.text
    frame = browser.get("/frames/preview").text
    assert frame.count("SIMULATED") >= 2
    assert "<title>SIMULATED" in frame
    assert sorted(file.name for file in tmp_path.iterdir()) == [".discreet-studio.json", "people.toml"]


def test_without_a_design_it_says_so(tmp_path):
    browser = Browser(tmp_path)
    assert "no design yet" in browser.get("/preview").text
    assert browser.post("/preview", {"request": "a"}).status_code == 422
    assert "There is no preview" in browser.get("/frames/preview").text
