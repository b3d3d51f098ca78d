"""`discreet show`: a release in ten lines."""

from __future__ import annotations

import json
from pathlib import Path

from discreet.releases import Release
from discreet.releases.release_summary import outline_facts
from support.cli_folder import CANARY, SECRET, Call, contents

PATH = "income.release.json"


def test_eleven_lines_are_the_summary_of_the_release(folder: Path, call: Call) -> None:
    before = contents(folder)
    result = call("show", PATH)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == Release.load(PATH).summary()
    assert len(result.stdout.splitlines()) == 11
    assert CANARY not in result.stdout
    assert SECRET not in result.stdout
    assert contents(folder) == before


def test_json_is_the_same_as_plain_values(folder: Path, call: Call) -> None:
    result = call("show", PATH, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == outline_facts(Release.load(PATH))


def test_a_file_that_is_no_release_is_refused(folder: Path, call: Call) -> None:
    for path in ("missing.json", "existing.json"):
        result = call("show", path)
        assert result.exit_code == 2
        assert path in result.stderr
        assert result.stdout == ""
