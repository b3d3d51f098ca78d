"""The whole way in a real Chromium: all screens, both themes and widths, bad input, and what goes wrong in between."""

from __future__ import annotations

import http.server
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import discreet
from support.studio_client import DESIGN, small_table
from support.studio_tab import COUNTS, Tab

# every click from the start to a published page
SHORTEST = (
    "text=Use the census sample",
    "text=Go on to the design",
    "text=Save and go on",
    "text=Go on to the release",
    "text=Make the ledger",
    "#sure",
    "button:has-text('Spend epsilon')",
)
SHOTS = Path(__file__).parents[2] / ".studio-screenshots"


@pytest.fixture(scope="session")
def axe():
    package = pytest.importorskip("axe_playwright_python")
    return next(Path(package.__file__).parent.rglob("axe.min.js")).read_text()


@pytest.fixture
def running(tmp_path):
    from discreet.studio.server import start

    made = start(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def tab(chromium, running):
    made = Tab(chromium, running)
    yield made
    made.close()


def test_the_whole_way(tab, axe):
    page = tab.page

    def look(name):
        tab.look(name, SHOTS, axe)

    look("1-table-empty")
    tab.click("text=Use the census sample")
    page.wait_for_selector("text=Whose presence is hidden?")
    look("1-table")
    tab.click("text=Go on to the design")
    tab.arrive("/design")
    look("2-design")
    tab.click("text=Add a derived column")
    page.wait_for_selector("#c4-formula")
    page.fill("#c4-formula", "lg(educ)")
    page.wait_for_selector("#c4-formula-live .error")
    page.fill("#c0-low", "10")
    tab.click("button:text-is('Save')")
    page.wait_for_selector("#all-problems")
    look("2-design-problems")
    page.fill("#c4-formula", "educ > 12")
    page.wait_for_selector("#c4-formula-live .fine")
    page.fill("#c0-low", "3")
    page.uncheck("[name=c4-included]")
    tab.click("text=Save and go on")
    tab.arrive("/plan")
    page.wait_for_selector("#expect ~ figure svg")
    look("4-plan")
    page.check("[value=accuracy]")
    page.fill("#width", "0.1")
    page.select_option("#coefficient", "educ")
    page.wait_for_selector("text=The smallest epsilon")
    time.sleep(0.7)
    page.wait_for_load_state("networkidle")
    tab.click("summary:has-text('Widths against')")
    page.wait_for_selector("h2:has-text('Other budgets') ~ details svg")
    tab.click("summary:has-text('Mechanisms side')")
    page.wait_for_selector("h2:has-text('Other budgets') ~ details table")
    tab.click("summary:has-text('same as a curve')")
    page.wait_for_selector("#learn ~ details svg")
    look("4-plan-all")
    page.check("[value=epsilon]")
    tab.click("text=Preview the page")
    tab.arrive("/preview")
    tab.click("text=Make the preview")
    page.wait_for_selector("iframe.simulated")
    assert page.frame_locator("iframe").locator("strong:text-is('SIMULATED')").count() == 1
    look("5-preview")
    tab.click("text=Go on to the release")
    tab.arrive("/release")
    look("6-release-ledger")
    tab.click("text=Make the ledger")
    page.wait_for_selector("text=What it spends")
    look("6-release")
    tab.click("button:has-text('Spend epsilon')")
    page.wait_for_selector("#sure-error")
    look("6-release-refused")
    tab.click("#sure")
    tab.click("button:has-text('Spend epsilon')")
    tab.arrive("/release/done")
    assert page.frame_locator("iframe").locator("h1").inner_text() == "lweekinc"
    look("6-released")
    tab.click("text=Analyse it")
    page.wait_for_selector("text=Fit this model")
    page.fill("[name='x:educ']", "12")
    page.fill("[name='x:exper']", "20")
    page.fill("[name='x:exper25sq']", "25")
    tab.click("button:text-is('Predict and draw')")
    page.wait_for_selector("text=Predicted lweekinc")
    tab.click("button:text-is('Compare')")
    page.wait_for_selector("text=against")
    look("7-analyse")
    tab.go("/ledger")
    look("8-ledger")
    tab.go("/check")
    look("3-check-off")
    tab.click("text=Turn the check on")
    tab.click("text=Count now")
    page.wait_for_selector("text=rows that fit")
    look("3-check")


def test_a_first_time_curator_is_soon_done(tab, capsys):
    began = time.monotonic()
    page = tab.page
    for what in SHORTEST:
        tab.click(what)
    tab.arrive("/release/done")
    page.wait_for_selector("iframe")
    seconds = time.monotonic() - began
    with capsys.disabled():
        print(f"\nfrom start to published page: {tab.clicks} clicks, {seconds:.1f} s of the machine")
    assert tab.clicks == 7
    assert seconds < 60
    assert (tab.running.studio.folder.root / "lweekinc.html").exists()


def test_the_keyboard_is_enough(tab):
    page = tab.page
    seen = []
    for _ in range(30):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.innerText || document.activeElement.id"))
        if "Use the census sample" in seen[-1]:
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Whose presence is hidden?")
    assert seen[0] == "Skip to the content"


def test_without_scripts(chromium, running):
    tab = Tab(chromium, running, theme="dark", width=400, script=False)
    for what in SHORTEST:
        tab.click(what)
    tab.page.wait_for_selector("text=Released: lweekinc")
    tab.close()


@pytest.mark.parametrize(("screen", "fields", "button", "error"), [
    ("/plan", {"#epsilon": "-1"}, "text=Show what to expect", "#epsilon-error"),
    ("/plan", {"#rows": "many"}, "text=Show what to expect", "#rows-error"),
    ("/release", {"#budget_epsilon": "lots"}, "text=Make the ledger", "#budget_epsilon-error"),
    ("/ledger", {"#dataset": " ", "#budget_epsilon": "1", "#budget_delta": "0"}, "text=Declare it", "#dataset-error"),
    ("/design", {"#c1-low": "ninety"}, "button:text-is('Save')", "#c1-low-error"),
])  # fmt: skip
def test_bad_input_is_said_beside_its_field(tab, screen, fields, button, error):
    tab.click("text=Use the census sample")
    tab.page.wait_for_selector("text=Whose presence")
    tab.go(screen)
    for field, value in fields.items():
        tab.page.fill(field, value)
    tab.click(button)
    said = tab.page.wait_for_selector(error)
    assert said.inner_text()
    named = tab.page.get_attribute(error.removesuffix("-error"), "aria-describedby")
    assert error[1:] in named.split()


def ready(tab, rows=400):
    """A tab that is ready to confirm a release of a table of its own."""
    folder = tab.running.studio.folder.root
    table = small_table(400)
    pa.csv.write_csv(pa.concat_tables([table] * max(1, rows // 400)), folder / "people.csv")
    DESIGN.save(folder / "people.toml")
    page = tab.page
    tab.go("/table")
    page.select_option("#file", "people.csv")
    tab.click("text=Read the names")
    page.wait_for_selector("text=Whose presence")
    tab.go("/design")
    tab.click("summary:has-text('Load a design file')")
    page.select_option("#design", "people.toml")
    tab.click("button:text-is('Load')")
    page.wait_for_selector("text=complete and saved")
    tab.go("/plan")
    page.fill("#rows", str(rows))
    tab.click("text=Show what to expect")
    page.wait_for_selector("text=Go on to the release")
    tab.go("/release")
    tab.click("text=Make the ledger")
    page.wait_for_selector("text=What it spends")
    page.check("#sure")


def spent(tab):
    books = discreet.Ledger(tab.running.studio.folder.root / "ledger.db")
    return books.statuses()[0].requests


def test_cancel_while_the_table_is_read(tab):
    ready(tab, rows=4_000_000)
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
    page.click("text=Go on to the design")
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


def test_two_hundred_columns(tab):
    folder = tab.running.studio.folder.root
    names = ["y", *(f"x{number}" for number in range(199))]
    (folder / "wide.csv").write_text(",".join(names) + "\n")
    discreet.Design("y", dict.fromkeys(names, (0, 1))).save(folder / "wide.toml")
    tab.go("/table")
    tab.click("text=Read the names")
    tab.page.wait_for_selector("text=Whose presence")
    tab.go("/design")
    tab.click("summary:has-text('Load a design file')")
    tab.page.select_option("#design", "wide.toml")
    began = time.monotonic()
    tab.click("button:text-is('Load')")
    tab.page.wait_for_selector("text=complete and saved")
    assert time.monotonic() - began < 3
    tab.page.screenshot(path=str(SHOTS / "2-design-200.png"))


def test_pages_print(tab):
    tab.click("text=Use the census sample")
    tab.page.wait_for_selector("text=Whose presence")
    for screen in ("table", "design", "check", "plan", "preview", "release", "analyse", "ledger"):
        tab.go(f"/{screen}")
        paper = tab.page.pdf(path=str(SHOTS / f"print-{screen}.pdf"), format="A4")
        assert paper.startswith(b"%PDF")


def test_counts(chromium, capsys):
    with capsys.disabled():
        print(f"\nstates looked at: {COUNTS['states']}, violations that axe found: {COUNTS['violations']}")
