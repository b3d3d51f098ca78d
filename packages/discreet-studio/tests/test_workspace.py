"""What is remembered, and what is said about budgets."""

from __future__ import annotations

import warnings

import pytest

import discreet
from discreet_studio.studio_folder import Folder
from discreet_studio.workspace import Workspace, notices, quiet


def test_what_was_made_is_made_once_and_old_things_are_forgotten(tmp_path):
    space, made = Workspace(Folder(tmp_path)), []
    for _ in range(2):
        assert space.remembered("a", 1, make=lambda: made.append(1) or "x") == "x"
    assert len(made) == 1
    assert space.knows("a", 1)
    for other in range(60):
        space.remembered("b", other, make=lambda: "y")
    assert not space.knows("a", 1)


def test_messages_name_files_and_not_the_folder(tmp_path):
    space = Workspace(Folder(tmp_path))
    (tmp_path / "a.csv").write_text("x\n")
    assert space.hidden(f"cannot read {tmp_path / 'a.csv'}") == "cannot read a.csv"
    assert space.source("a.csv", "") == tmp_path.resolve() / "a.csv"
    assert space.source("a.csv", "t") == discreet.DatabaseTable(tmp_path.resolve() / "a.csv", "t")


def test_silence_ends_with_the_last_thread_that_wants_it():
    before = warnings.filters[:]
    with quiet():
        with quiet():
            warnings.warn("nobody hears this", UserWarning, stacklevel=1)
        warnings.warn("nor this", UserWarning, stacklevel=1)
    assert warnings.filters == before
    with pytest.raises(UserWarning):
        warnings.warn("but this", UserWarning, stacklevel=1)


def test_uploads_are_few(tmp_path):
    space = Workspace(Folder(tmp_path))
    names = [space.upload(object()) for _ in range(12)]
    assert list(space.uploads) == names[-8:]


def test_a_design_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(discreet.DiscreetError, match="no design yet"):
        Workspace(Folder(tmp_path)).design()


def test_budgets_that_hide_little():
    assert notices(1.0, 1e-6) == ()
    assert notices(9.0, 1e-6) != ()
    with pytest.raises(discreet.DiscreetError):
        notices(50.0, 1e-6)
