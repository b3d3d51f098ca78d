"""Compare seeded releases and fits with the golden files, and try bad inputs and help pages."""

from __future__ import annotations

import pytest

from discreet.cli.main import program
from support import golden_files, golden_refusals

OUTPUTS = dict(golden_files.outputs())


@pytest.mark.no_cover
@pytest.mark.parametrize("name", OUTPUTS)
def test_releases_and_fits_equal_the_golden_files(name):
    found = golden_files.difference(name, OUTPUTS[name]())
    assert not found, f"\n{found}"


def test_every_golden_file_is_compared():
    assert {path.name for path in golden_files.FOLDER.iterdir()} == set(OUTPUTS)


def test_one_changed_digit_is_shown_with_what_it_was():
    kept = (golden_files.FOLDER / "release.json").read_text(encoding="utf-8")
    assert golden_files.difference("release.json", kept[:-1]) == ""
    found = golden_files.difference("release.json", kept[:-1].replace('"grid_bits": 16', '"grid_bits": 17'))
    assert '-  "grid_bits": 16' in found
    assert '+  "grid_bits": 17' in found
    assert found.endswith("run: make golden")


def test_every_mechanism_that_the_program_lists_is_frozen():
    frozen = {mechanism for mechanism, _, _ in golden_files.VARIANTS.values()}
    assert frozen == set(golden_files.names())


@pytest.mark.no_cover
def test_bad_inputs_are_refused_with_a_message_and_without_a_cell(tmp_path):
    text = golden_refusals.messages(tmp_path)
    assert text.count("\n## ") > 500
    assert text.count(f"\n{golden_refusals.TAKEN}\n") < 10
    assert "unexpected failure" not in text
    assert "SECRET'" not in text.replace("'SECRET'", "")


@pytest.mark.no_cover
def test_every_help_page_opens():
    pages = [[*words, "--help"] for words in golden_files.commands(program, [])]
    pages += [["mechanisms", name] for name in golden_files.names()]
    assert len(pages) > 40
    for words in pages:
        golden_files.page(words)
