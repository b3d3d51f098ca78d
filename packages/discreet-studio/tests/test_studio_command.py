"""The command starts a studio, or refuses what it cannot."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

from discreet.cli.main import program


@pytest.mark.parametrize(("options", "said"), [
    (["nowhere"], "expected a folder, got"), ([".", "--port", "99999"], "got 99999"), ([".", "--port", "-1"], "got -1"),
    ([".", "--idle", "0"], "for --idle, got 0"), ([".", "--idle", "soon"], "idle"),
])  # fmt: skip
def test_bad_input_is_refused(options, said):
    done = CliRunner().invoke(program, ["studio", *options])
    assert done.exit_code == 2
    assert said in done.output


def test_it_runs_until_it_is_idle(tmp_path):
    done = CliRunner().invoke(program, ["studio", str(tmp_path), "--no-browser", "--idle", "0.005"])
    assert done.exit_code == 0
    assert "only reachable from this machine" in done.output
    assert "token" not in done.output


def test_without_its_libraries_it_names_them(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "starlette", None)
    done = CliRunner().invoke(program, ["studio", str(tmp_path)])
    assert done.exit_code == 2
    assert "packages/discreet-studio" in done.output
