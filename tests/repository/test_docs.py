"""The documentation builds without a warning, fetches nothing, names everything public, and every example in it runs.

Pages are Markdown. Blocks tagged `python`, `sh` and `toml` run in order, in a folder of their own. Lines that a reader
does not see: `% check: CODE` runs after the block above it, `% save: NAME` keeps the TOML below as a file, and `% same`
says that the text below is exactly what the block above prints.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

import discreet
from discreet.cli.main import COMMANDS
from discreet.cli.plugins import PACKAGED
from support.page_runs import RUN, Page, parts

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if not {"_build", "proofs"} & {*page.relative_to(DOCS).parts})
WIDTH = 90  # what a window of 1280 pixels shows without scrolling


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(part.kind in RUN for part in parts(page))],
    ids=lambda page: page.relative_to(DOCS).as_posix(),
)
def test_every_example_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    running = Page(page)
    for part in parts(page):
        running.run(part)
    assert not running.compare, "nothing is shown after the last % same"
    assert running.save_as is None, "no TOML follows the last % save"


def test_every_block_says_what_it_is_and_every_fence_is_closed():
    known = {*RUN, "text", "json", "r", "julia"}
    for page in PAGES:
        found = parts(page)
        blocks = [part for part in found if part.kind not in ("check", "save", "same")]
        assert len(re.findall(r"^```", page.read_text(), flags=re.MULTILINE)) == 2 * len(blocks), page
        for part in blocks:
            assert part.kind in known or part.kind.startswith("{"), (page, part.line, part.kind)


def test_code_fits_the_width_of_a_page():
    for page in PAGES:
        for part in parts(page):
            for line in part.text.splitlines() if part.kind in {*RUN, "text", "r", "julia"} else ():
                assert len(line) <= WIDTH, (page, line)


def proofs_extension() -> ModuleType:
    spec = importlib.util.spec_from_file_location("proofs", DOCS / "_extensions" / "proofs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_proof_gets_a_page_with_links_and_a_line_in_the_index(tmp_path):
    for name, text in {
        "src/discreet/curator/sums/gram.proof.md": "# Sums are exact\n\nUses: `tables/encoder.proof.md`.\n",
        "src/discreet/tables/encoder.proof.md": "# Rows are integers\n\nSee gram.proof.md, not other.proof.md.\n",
        "packages/discreet-papers/src/discreet_papers/rows.proof.md": "# Rows lie in the ball\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    folder = tmp_path / "proofs"
    folder.mkdir()
    (folder / "gone.md").write_text("# A proof that was deleted\n")
    proofs_extension().write(folder, tmp_path)
    pages = {page.name: page.read_text() for page in folder.iterdir()}
    assert set(pages) == {"index.md", "gram.md", "encoder.md", "rows.md"}
    assert "Uses: [`tables/encoder.proof.md`](encoder.md)." in pages["gram.md"]
    assert "See [`gram.proof.md`](gram.md), not other.proof.md." in pages["encoder.md"]
    packages = re.findall(r"^## (.*)$", pages["index.md"], flags=re.MULTILINE)
    assert packages == ["discreet.curator", "discreet.tables", "discreet_papers"]
    assert "- [Sums are exact](gram.md)" in pages["index.md"]


def test_two_proofs_of_the_same_name_are_an_error(tmp_path):
    for package in ("curator", "tables"):
        path = tmp_path / "src" / "discreet" / package / "rows.proof.md"
        path.parent.mkdir(parents=True)
        path.write_text("# Rows\n")
    with pytest.raises(ValueError, match="same file name"):
        proofs_extension().pages(tmp_path)


def test_enough_examples_are_collected():
    assert sum(part.kind in RUN for page in PAGES for part in parts(page)) >= 50


class Fetched(HTMLParser):
    """What a browser would load for a page by itself: everything but the targets of plain links."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids.add(given.get("id") or "")
        self.addresses += [given[name] or "" for name in ("src", "srcset", "data", "poster") if name in given]
        if tag != "a":
            self.addresses += [given[name] or "" for name in ("href", "xlink:href") if name in given]
        self.addresses += re.findall(r"url\(([^)]*)\)", given.get("style") or "")


def built(folder: Path) -> Path:
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "-d", str(folder / "trees"), str(DOCS)]
    done = subprocess.run([*command, str(folder / "html")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def external(addresses: list[str]) -> list[str]:
    return [address for address in addresses if re.match(r"[\"']?\s*(?:[a-z][a-z0-9+.-]*:)?//", address, re.IGNORECASE)]


@pytest.mark.no_cover
def test_the_docs_build_without_warnings_fetch_nothing_and_name_everything_public(tmp_path):
    html = built(tmp_path)
    ids: set[str] = set()
    commands: set[str] = set()
    for file in html.rglob("*.html"):
        page = Fetched()
        page.feed(file.read_text())
        assert not external(page.addresses), (file.name, external(page.addresses))
        if file.parent.name == "reference":
            ids |= page.ids
        if file.name == "commands.html":
            commands = page.ids
    for file in html.rglob("*.css"):
        text = file.read_text()
        found = re.findall(r"(?:url\(|@import\s+)([^);]+)", text)
        assert not external(found), (file.name, external(found))
    for proof in [*ROOT.glob("src/**/*.proof.md"), *ROOT.glob("packages/*/src/**/*.proof.md")]:
        assert (html / "proofs" / proof.name.replace(".proof.md", ".html")).exists(), proof
    assert [name for name in discreet.__all__ if f"discreet.{name}" not in ids] == []
    assert [name for name in (*COMMANDS, *PACKAGED) if f"discreet-{name}" not in commands] == []


def test_the_check_for_fetched_addresses_finds_them():
    page = Fetched()
    page.feed('<script src="https://a/b.js"></script><link href="//c/d.css"><img src="e.png"><a href="https://f">f</a>')
    assert external(page.addresses) == ["https://a/b.js", "//c/d.css"]
