"""Problems of a design as lines, and as one document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli_folder import DESIGN, Call

COMMANDS = {
    "release": ["release", "people.csv", "--epsilon", "1", "-o", "out.json"],
    "check": ["check", "people.csv"],
    "plan": ["plan", "--rows", "100", "--epsilon", "1"],
    "ledger": ["ledger", "status", "l.db", "--epsilon", "1"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_all_problems_are_printed_and_given_as_json(name: str, folder: Path, call: Call) -> None:
    assert call("ledger", "init", "l.db", "--dataset", "d", "--epsilon", "1").exit_code == 0
    (folder / "bad.toml").write_text(DESIGN.replace("[18, 90]", "[90, 18]").replace('["north", "south"]', '["n"]'))
    told = [
        "error: bad.toml: 2 problems",
        "  line 5, column 'age': bounds [90, 18] are reversed; the first bound must be below the second",
        "  line 7, column 'region': expected at least 2 levels for a categorical column, got 1",
    ]
    plain = call(*COMMANDS[name], "--design", "bad.toml")
    assert (plain.exit_code, plain.stdout, plain.stderr.splitlines()) == (2, "", told)
    result = call(*COMMANDS[name], "--design", "bad.toml", "--json")
    assert (result.exit_code, result.stderr.splitlines()) == (2, told)
    document = json.loads(result.stdout)["error"]
    assert (document["file"], document["code"]) == ("bad.toml", "invalid-design")
    assert [(one["line"], one["column"], one["key"]) for one in document["problems"]] == [
        (5, "age", "bounds"),
        (7, "region", "levels"),
    ]


def test_a_name_cannot_command_the_terminal(folder: Path, call: Call) -> None:
    (folder / "bad.toml").write_text('target = "a\\u001b[31m"\nradius = -1\n[columns]\n"a\\u202eb" = {bounds = [0, 1]}')
    result = call(*COMMANDS["plan"], "--design", "bad.toml")
    assert result.stderr.count("\n") == 4
    assert "\x1b" not in result.stderr
    assert "\u202e" not in result.stderr
