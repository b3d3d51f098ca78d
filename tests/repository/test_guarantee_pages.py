"""Every limit has one home and one class, and SECURITY.md points to it."""

from __future__ import annotations

import re
from pathlib import Path

import discreet
from support import bad_inputs, fuzzing, ledger_mutants, mutants, parts_mutants, production_mutants

ROOT = Path(__file__).parents[2]
LIMITS = (ROOT / "docs" / "guarantee" / "limits.md").read_text()
SECURITY = (ROOT / "SECURITY.md").read_text()
CLASSES = ("critical", "theoretical", "negligible")


def headings(page: str) -> list[tuple[str, str]]:
    """Limits with the class of the section that they stand in."""
    found, section = [], ""
    for line in page.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ").lower()
        elif line.startswith("### ") and section in CLASSES:
            found.append((line.removeprefix("### "), section))
    return found


def listed(page: str) -> list[tuple[str, str]]:
    return re.findall(rf"^\| ([^|*]+?) \| ({'|'.join(CLASSES)}) \|", page, flags=re.MULTILINE)


def test_every_limit_is_in_the_list_with_its_class():
    assert len(headings(LIMITS)) > 20
    assert listed(LIMITS) == headings(LIMITS)


def test_a_limit_that_is_not_listed_is_noticed():
    more = LIMITS.replace("## Negligible\n", "## Negligible\n\n### One more\n")
    assert listed(more) != headings(more)


def test_limits_have_one_home():
    for name, _ in headings(LIMITS):
        assert name.lower() not in SECURITY.lower(), name
    for page in ("docs/guarantee/limits.md", "docs/guarantee/tested.md"):
        assert f"]({page})" in SECURITY
    assert all(f"**{one}**" in LIMITS for one in CLASSES)


def test_the_page_counts_the_mistakes_and_inputs_that_are_tried():
    page = (ROOT / "docs" / "guarantee" / "tested.md").read_text()
    counts = {
        "mistakes in the production path": len(production_mutants.MUTANTS),
        "one-line mistakes elsewhere": len(mutants.MUTANTS),
        "one-line mistakes in ledger": len(ledger_mutants.MUTANTS),
        "one-line mistakes in federated parts": len(parts_mutants.MUTANTS),
        "invalid and unusual inputs": len(bad_inputs.CASES),
        "random inputs in a full run": fuzzing.MANY,
    }
    for words, count in counts.items():
        (line,) = (one for one in page.splitlines() if one.startswith(f"| {words}"))
        assert line.split("|")[-2].strip() == f"{count:,}", words


def test_the_run_that_the_page_speaks_of_is_of_this_version():
    page = " ".join((ROOT / "docs" / "guarantee" / "tested.md").read_text().split())
    assert f"The last full run was on version {discreet.__version__}. It consisted of `make test-all`" in page
