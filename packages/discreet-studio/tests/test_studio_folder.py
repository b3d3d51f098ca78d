"""Nothing outside of the folder is listed, read or written, whatever a name says."""

from __future__ import annotations

import os

import pytest

from discreet_studio.studio_folder import FieldError, Folder
from discreet_studio.views import release_view
from support.studio_client import Browser


@pytest.fixture
def places(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "deeper").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.csv").write_text("name,salary\n")
    (inside / "own.csv").write_text("x,y\n")
    (inside / "deeper" / "more.csv").write_text("x,y\n")
    (inside / ".hidden.csv").write_text("x,y\n")
    (inside / "link.csv").symlink_to(outside / "secret.csv")
    (inside / "within.csv").symlink_to(inside / "own.csv")
    (inside / "folder").symlink_to(outside)
    (inside / "loop.csv").symlink_to(inside / "loop.csv")
    os.mkfifo(inside / "pipe.csv")
    return inside


def test_only_regular_files_inside_are_listed(places):
    assert Folder(places).listed(".csv") == ["own.csv", "within.csv", "deeper/more.csv"]


@pytest.mark.parametrize("name", [
    "../outside/secret.csv", "deeper/../../outside/secret.csv", "link.csv", "folder/secret.csv", "loop.csv", "pipe.csv",
    "nothing.csv", "", ".", "deeper", "own.csv\0.toml", "./../outside/secret.csv", "x" * 5000, "\ud800.csv",
])  # fmt: skip
def test_names_that_lead_out_are_refused(places, name):
    with pytest.raises(FieldError):
        Folder(places).file(name)


def test_an_absolute_name_is_refused(places):
    for path in (places / "own.csv", places.parent / "outside" / "secret.csv"):
        with pytest.raises(FieldError):
            Folder(places).file(str(path))


def test_what_is_inside_is_found(places):
    assert Folder(places).file("deeper/more.csv") == places / "deeper" / "more.csv"
    assert Folder(places).file("within.csv") == places / "own.csv"


@pytest.mark.parametrize("name", [
    "../x.html", "a/b.html", "/x.html", ".x.html", "x.txt", "", "x\n.html", "c:x.html", "x" * 200 + ".html", "own.csv",
])  # fmt: skip
def test_new_files_have_plain_names(places, name):
    with pytest.raises(FieldError):
        Folder(places).new_file(name, "name", ".html", ".csv")


def test_a_link_is_not_written_through(places):
    (places / "out.html").symlink_to(places.parent / "outside" / "made.html")
    with pytest.raises(FieldError, match="already exists"):
        Folder(places).new_file("out.html", "name", ".html")
    assert Folder(places).new_file("fine.html", "name", ".html") == places / "fine.html"


def test_a_name_that_is_no_text_is_not_offered(tmp_path):
    (tmp_path / "fine.csv").write_text("a\n")
    (tmp_path / os.fsdecode(b"caf\xe9.csv")).write_text("a\n")
    assert Folder(tmp_path).listed(".csv") == ["fine.csv"]
    assert Browser(tmp_path).get("/table").status_code == 200


@pytest.mark.parametrize("name", ["", ".x", "a/b", "x" * 81, "a\x00"])
def test_the_beginning_of_file_names(tmp_path, name):
    with pytest.raises(FieldError, match="do not add a file ending"):
        Folder(tmp_path).check_stem(name, "name")


def test_a_folder_must_be_there(tmp_path):
    with pytest.raises(FieldError, match="expected a folder, got"):
        Folder(tmp_path / "no")


@pytest.mark.parametrize("path", ["/table/read", "/design/load", "/release/confirm"])
def test_no_form_reads_outside(places, path):
    browser = Browser(places)
    for name in ("../outside/secret.csv", "link.csv", "folder/secret.csv", "/etc/hostname"):
        seen = {"request": name, "shown": release_view._digest(release_view._asked(browser.space))}
        answer = browser.post(path, {"file": name, "design": name, "name": name, "sure": "yes", **seen})
        assert answer.status_code in (400, 422)
        assert "salary" not in answer.text
    for query in (
        "/analyse?file=../outside/secret.csv",
        "/files?name=../../etc/hostname",
        "/frames/report?name=link.csv",
    ):
        answer = browser.get(query)
        assert answer.status_code in (400, 422)
        assert "salary" not in answer.text
