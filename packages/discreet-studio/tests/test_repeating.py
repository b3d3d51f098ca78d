"""The script and the notebook repeat the release: the same file, at no cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import discreet
from discreet_studio.repeating import Recipe
from support.studio_client import Browser


def test_a_table_of_a_database_is_named():
    steps = Recipe("s.duckdb", "d.toml", "r.json", "p.html", "ledger.db", "people", {}, "people").steps
    assert "discreet.DatabaseTable('s.duckdb', 'people')," in steps[1][1]


def test_the_script_gives_the_same_release_free(tmp_path):
    browser = Browser(tmp_path).declared().with_ledger()
    browser.confirm("pay")
    browser.waited()
    made, spent = (tmp_path / "pay.release.json").read_bytes(), browser.spent()
    silent = os.environ | {"PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "pay.py"], cwd=tmp_path, capture_output=True, text=True, env=silent)
    assert done.returncode == 0, done.stderr
    assert "Verified: the noise gives epsilon = 1 at delta = 1e-06; signature: none." in done.stdout
    assert browser.spent() == spent
    assert (tmp_path / "pay.release.json").read_bytes() == made
    notebook = json.loads((tmp_path / "pay.ipynb").read_text())
    code = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) == 4
    assert all(part in (tmp_path / "pay.py").read_text() for part in code)
    assert discreet.Design.load(tmp_path / "pay.design.toml").target == "pay"
