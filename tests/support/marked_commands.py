"""Commands on a marked table, with everything that they print and write."""

from __future__ import annotations

import sys

from click.testing import CliRunner

import discreet
from discreet.cli.main import program
from discreet.testing.not_private import calling
from support.marked_tables import design
from support.markers import recorded

LEDGER_PLACE = "ledger file"


def command_line(scratch, files, monkeypatch, data, missing="drop", *more, step="", failure=None, persons=False):
    """A release with a ledger and all commands that read one, with everything that they print and write."""
    monkeypatch.chdir(files)
    monkeypatch.setattr("discreet.cli.terminal.PATIENCE", 0.0)
    (files / "design.toml").write_text(design(missing=missing, persons=persons).to_toml())
    books = discreet.Ledger.create(files / "books.db")
    books.declare("people", epsilon=6.0, delta=1e-5, unit=design(persons=persons).unit)

    def stop(reached):
        if reached == step:
            raise failure

    base = ["--design", "design.toml", "--epsilon", "1", "--delta", "1e-6", "--ledger", "books.db"]
    base += ["--dataset", "people", "--grid-bits", "24"]
    runner = CliRunner()

    def run():
        with calling(stop):
            first = runner.invoke(program, ["release", str(data), *base, "-o", "r.json", *more])
        print(first.stdout)
        print(first.stderr, file=sys.stderr)
        return first

    places = recorded(run, scratch)
    others = [
        ["ledger", "status", "books.db"], ["ledger", "history", "books.db"], ["ledger", "status", "books.db", "--json"],
        ["ledger", "history", "books.db", "--json"],
    ]  # fmt: skip
    if (files / "r.json").exists():
        others += [["verify", "r.json"], ["verify", "r.json", "--json"], ["ledger", "verify", "books.db", "r.json"]]
        places.add("release", (files / "r.json").read_bytes())
    for words in others:
        done = runner.invoke(program, words)
        places.add("stdout", done.stdout)
        places.add("stderr", done.stderr)
    places.contents.pop("repr")
    places.add(LEDGER_PLACE, (files / "books.db").read_bytes())
    for path in files.glob(".discreet-*"):
        places.add("half a file", path.read_bytes())
    return places
