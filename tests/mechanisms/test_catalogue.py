"""The table of mechanisms."""

from __future__ import annotations

import json

import pytest

from discreet.cli.main import program
from discreet.mechanisms.registry import mechanism_table, mechanisms

NAMES = sorted(mechanisms())


@pytest.mark.no_cover
def test_the_command_lists_every_mechanism(capsys):
    with pytest.raises(SystemExit):
        program.main(["mechanisms", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(mechanisms())
    with pytest.raises(SystemExit):
        program.main(["mechanisms"])
    told = capsys.readouterr().out
    for name in NAMES:
        assert f"\n{name} " in told
        with pytest.raises(SystemExit):
            program.main(["mechanisms", name])
        assert name in capsys.readouterr().out
    assert len(mechanism_table()) == len(NAMES)
