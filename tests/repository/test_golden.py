"""What the program says and publishes with repeated noise is what the golden files hold, byte for byte."""

from __future__ import annotations

import pytest

from support import golden_files

OUTPUTS = dict(golden_files.outputs())


@pytest.mark.no_cover
@pytest.mark.parametrize("name", OUTPUTS)
def test_what_is_said_and_published_is_what_it_was(name):
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


def test_hundreds_of_bad_inputs_are_frozen_and_hardly_any_is_taken():
    text = (golden_files.FOLDER / "messages.txt").read_text(encoding="utf-8")
    assert text.count("\n## ") > 500
    assert text.count(f"\n{golden_files.golden_refusals.TAKEN}\n") < 10
    assert "unexpected failure" not in text
    assert "SECRET'" not in text.replace("'SECRET'", "")
