"""The Markdown of the repository is wrapped, and the check that says so finds what is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.markdown_lines import ROOT, WIDEST, complaints, long_lines, pages

LONG = "word " * 30


def test_no_line_of_the_repository_is_too_long():
    assert complaints(ROOT) == []


def test_the_pages_that_people_read_first_are_looked_at():
    looked_at = {file.relative_to(ROOT).as_posix() for file in pages(ROOT)}
    first = {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/index.md"}
    assert first <= looked_at
    assert not any(part in name for name in looked_at for part in (".venv", "_build"))


def test_a_long_line_is_found_in_text_lists_quotes_and_code():
    assert long_lines("a" * WIDEST) == []
    assert long_lines("a" * (WIDEST + 1)) == [1]
    assert long_lines(f"short\n- {LONG}\n> {LONG}\n```text\n{LONG}\n```\n") == [2, 3, 5]


def test_rows_of_tables_targets_of_links_and_hidden_checks_may_be_long():
    assert long_lines(f"| {LONG} |\n  | {LONG} |\n% check: {LONG}") == []
    target = "https://example.org/" + "a" * WIDEST
    assert long_lines(f"see [the page]({target}) and <{target}>") == []
    assert long_lines(f"see [the page]({target}) and {LONG}") == [1]


def test_the_command_of_make_check_names_the_line_and_fails(tmp_path: Path):
    support = tmp_path / "tests" / "support"
    support.mkdir(parents=True)
    (support / "markdown_lines.py").write_bytes((ROOT / "tests/support/markdown_lines.py").read_bytes())
    (tmp_path / "README.md").write_text(f"short\n\n{LONG}\n")
    command = [sys.executable, str(support / "markdown_lines.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "README.md:3: more than 120 characters\n")
    (tmp_path / "README.md").write_text("short\n")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert "tests/support/markdown_lines.py" in (ROOT / "Makefile").read_text()
