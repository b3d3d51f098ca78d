"""Files of kept rows, recorded."""

from __future__ import annotations

import tempfile

import pytest


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Every file of kept rows that is opened, in an empty folder for temporary things."""
    made = []
    real = tempfile.TemporaryFile

    def recorded(**options):
        made.append(real(**options))
        return made[-1]

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile.TemporaryFile", recorded)
    return made
