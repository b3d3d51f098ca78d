"""What goes wrong in between: cancel, second clicks, forged files, killed servers, full disks, other pages."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import discreet
from discreet_studio.server import start
from support.studio_client import DESIGN, small_table
from support.studio_tab import Tab, ready, spent


def test_cancel_while_the_table_is_read(tab):
    # seconds of reading, also for a fast machine: a click is judged before it is made
    ready(tab, rows=12_000_000)
    tab.click("button:has-text('Spend epsilon')")
    tab.click("button:text-is('Cancel')")
    tab.page.wait_for_selector("h2:has-text('Cancelled')")
    assert spent(tab) == 0
    assert not (tab.running.studio.folder.root / "pay.release.json").exists()


def test_a_double_click_a_reload_and_a_second_tab_spend_once(tab):
    ready(tab, rows=200_000)
    second = tab.context.new_page()
    second.goto(tab.running.address + "/release")
    second.wait_for_selector("#sure")
    second.check("#sure")
    second.fill("#name", "other")
    tab.page.dblclick("button:has-text('Spend epsilon')")
    second.click("button:has-text('Spend epsilon')")
    tab.arrive("/release/done")
    tab.page.reload()
    tab.page.go_back()
    tab.page.wait_for_load_state()
    tab.page.reload()
    tab.running.studio.space.jobs.wait(
        tab.running.studio.space.jobs.running or next(iter(tab.running.studio.space.jobs._jobs.values())), 20
    )
    assert spent(tab) == 1


def test_a_stale_tab_spends_nothing_but_what_it_shows(tab):
    ready(tab)
    second = tab.context.new_page()
    second.goto(tab.running.address + "/plan")
    second.fill("#epsilon", "0.5")
    second.click("text=Continue to the release")
    second.wait_for_selector("button:has-text('Spend epsilon 0.5')")
    # this one still shows 1
    tab.click("button:has-text('Spend epsilon 1')")
    assert "No budget was spent" in tab.page.wait_for_selector("[role=alert]").inner_text()
    assert spent(tab) == 0
    assert tab.page.locator("button:has-text('Spend epsilon 0.5')").count() == 1
    assert not tab.page.is_checked("#sure")


def test_a_forged_release_is_refused(tab):
    made = json.loads(discreet.release(small_table(), DESIGN, epsilon=5.0, delta=1e-6).to_json())
    made["guarantee"]["epsilon"] = 0.01
    tab.go("/analyse")
    tab.page.set_input_files(
        "#release", {"name": "forged.json", "mimeType": "application/json", "buffer": json.dumps(made).encode()}
    )
    tab.click("text=Open it")
    assert tab.page.wait_for_selector("#release-error").inner_text()
    assert tab.page.locator("text=Fit this model").count() == 0


def test_a_killed_server_goes_on_where_it_was(chromium, tmp_path):
    def begun():
        command = [sys.executable, "-m", "discreet", "studio", str(tmp_path), "--no-browser"]
        plain = os.environ | {"PYTHONUNBUFFERED": "1"}
        made = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=plain)
        lines = [made.stdout.readline() for _ in range(3)]
        return made, re.search(r"Open +(\S+)", "".join(lines))[1]

    process, door = begun()
    context = chromium.new_context()
    page = context.new_page()
    page.goto(Path(door).as_uri())
    page.wait_for_url("**/table")
    page.click("text=Use the census sample")
    page.click("text=Continue to the design")
    page.wait_for_selector("#c1-high")
    page.fill("#c1-high", "22")
    page.click("button:text-is('Save')")
    page.wait_for_selector("text=complete and saved")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    process, door = begun()
    page.goto(Path(door).as_uri())
    page.wait_for_url("**/table")
    page.goto(page.url.replace("/table", "/design"))
    assert page.wait_for_selector("#c1-high").input_value() == "22"
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "what you filled in is kept" in said
    context.close()


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of 16 MB."""
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(tmp_path)], capture_output=True)
    if made.returncode:
        pytest.skip("a small disk cannot be mounted here, so the test of a full one is skipped")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def fill(folder):
    """Leave no byte of a disk free."""
    with (folder / "ballast").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)


def test_a_full_disk_is_said_and_loses_and_spends_nothing(chromium, small_disk, monkeypatch):
    running = start(small_disk)
    tab = Tab(chromium, running)
    page = tab.page
    fill(small_disk)
    tab.click("text=Use the census sample")
    assert "No space left" in page.wait_for_selector("[role=alert]").inner_text()
    (small_disk / "ballast").unlink()
    ready(tab)
    tab.go("/design")
    page.fill("#c1-reason", "the distribution of 1911")
    fill(small_disk)
    tab.click("button:text-is('Save')")
    assert "free some disk space and save again" in page.wait_for_selector("[role=alert]").inner_text()
    assert page.input_value("#c1-reason") == "the distribution of 1911"
    (small_disk / "ballast").unlink()
    tab.click("button:text-is('Save')")
    page.wait_for_selector("text=complete and saved")
    tab.go("/release")
    page.check("#sure")
    fill(small_disk)
    tab.click("button:has-text('Spend epsilon')")
    page.wait_for_selector("[role=alert]")
    (small_disk / "ballast").unlink()
    assert spent(tab) == 0
    tab.go("/release")
    page.check("#sure")
    report = discreet.report

    def last(*given, **options):
        fill(small_disk)
        return report(*given, **options)

    # full after the spend, before the files
    monkeypatch.setattr(discreet, "report", last)
    tab.click("button:has-text('Spend epsilon')")
    assert "finish it on the release page" in page.wait_for_selector("[role=alert]").inner_text()
    assert spent(tab) == 1
    monkeypatch.undo()
    (small_disk / "ballast").unlink()
    tab.go("/release")
    tab.click("text=Finish it")
    tab.arrive("/release/done")
    assert spent(tab) == 1
    assert (small_disk / "pay.html").exists()
    tab.close()
    running.stop()


ATTACK = """<!DOCTYPE html><title>evil</title><body><script>
const there = "{address}", found = {{}};
async function run() {{
  for (const mode of ["no-cors", "cors"]) {{
    try {{
      const r = await fetch(there + "/table", {{credentials: "include", mode}}); found[mode] = r.type + r.status;
    }}
    catch (error) {{ found[mode] = "failed"; }}
  }}
  for (const [tag, path] of [["script", "/static/htmx.js"], ["img", "/static/icon.svg"]]) {{
    const node = document.createElement(tag); node.src = there + path;
    found[tag] = await new Promise(done => {{
      node.onload = () => done("loaded"); node.onerror = () => done("failed"); document.body.append(node);
    }});
  }}
  const frame = document.createElement("iframe"); frame.src = there + "/table"; document.body.append(frame);
  await new Promise(done => setTimeout(done, 500));
  const form = document.createElement("form");
  form.method = "post"; form.action = there + "/table/sample"; form.target = "x";
  const inner = document.createElement("iframe"); inner.name = "x"; document.body.append(inner, form); form.submit();
  await new Promise(done => setTimeout(done, 500));
  document.title = JSON.stringify(found);
}}
run();
</script>"""


def test_another_page_in_the_same_browser_gets_and_changes_nothing(tab, tmp_path_factory):
    """The same browser, with the cookie of the session, on a page of another port of the same machine."""
    folder = tmp_path_factory.mktemp("evil")
    (folder / "index.html").write_text(ATTACK.format(address=tab.running.address))

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given):
            super().__init__(*given, directory=str(folder))

        def log_message(self, *_):
            """Nobody needs it."""

    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    page = tab.context.new_page()
    page.goto(f"http://127.0.0.1:{other.server_address[1]}/")
    page.wait_for_function("document.title.startsWith('{')", timeout=20_000)
    found = json.loads(page.title())
    other.shutdown()
    other.server_close()
    assert found["cors"] == "failed"
    assert found["script"] == "failed"
    assert found["img"] == "failed"
    assert "opaque" in found["no-cors"] or found["no-cors"] == "failed"
    assert all("Your own table" not in frame.content() for frame in page.frames[1:])
    assert list(tab.running.studio.folder.root.glob("*.parquet")) == []
    # the same attack works on a page that does not judge requests, so it is one
    tab.go("/table")
    tab.click("text=Use the census sample")
    tab.page.wait_for_selector("text=Whose presence")
    assert list(tab.running.studio.folder.root.glob("*.parquet"))
