"""Tables for people: whole numbers on any width, control characters escaped, sentences wrapped on terminals alone."""

from __future__ import annotations

import re

import pytest

from discreet.cli.terminal import aligned, labelled, narrowed, print_table, print_warning, text_width, wrapped

HEADERS = ("", "std err", "p")
ROWS = [("a name that is rather long", "0.123456", "0.001"), ("b", "-1234.5", "1.000")]
LONG = "one two three four five six seven eight nine ten " * 4


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch):
    """A person looks at so many columns."""

    def look(columns: int) -> None:
        monkeypatch.setattr("discreet.cli.terminal.on_terminal", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns))

    return look


def test_plain_tables_have_numbers_that_end_in_one_column():
    lines = aligned(HEADERS, ROWS).splitlines()
    assert len({len(line) for line in lines}) == 1
    for line, row in zip(lines[1:], ROWS, strict=True):
        assert line.startswith(row[0])
        assert line.endswith(row[2])


@pytest.mark.parametrize("room", [10, 20, 30, 35, 100])
def test_no_cell_but_a_name_is_narrowed_and_the_table_fits_if_it_can(room):
    natural = [26, 8, 5]
    widths = narrowed(HEADERS, ROWS, room)
    assert all(12 * (not j) <= width <= most for j, (width, most) in enumerate(zip(widths, natural, strict=True)))
    assert widths[1:] == [8, 5]
    assert sum(widths) + 2 == min(max(room, 12 + 8 + 5 + 2), sum(natural) + 2)


@pytest.mark.parametrize("columns", [30, 80, 200])
def test_a_terminal_gets_every_number_uncut(columns, terminal, capsys):
    terminal(columns)
    print_table("Title", HEADERS, ROWS)
    shown = capsys.readouterr().out
    assert "Title" in shown
    for row in ROWS:
        assert any(row[1] in line and row[2] in line for line in shown.splitlines())


def test_names_are_no_markup_and_steer_no_terminal(terminal, capsys):
    for columns in (None, 80):
        if columns:
            terminal(columns)
        print_table("T", ("", "n"), [("region[red]", "1"), ("bad\x1b[31m", "2")])
        shown = capsys.readouterr().out
        assert "region[red]" in shown
        assert "bad\x1b" not in shown
        assert "bad\\x1b[31m" in shown


@pytest.mark.parametrize(("columns", "width"), [(20, 60), (72, 72), (300, 100)])
def test_sentences_are_wrapped_on_a_terminal_between_words(columns, width, terminal):
    assert (text_width(), wrapped(LONG)) == (None, LONG)
    terminal(columns)
    assert text_width() == width
    lines = labelled("Note", LONG, 9).splitlines()
    assert " ".join(" ".join(lines).split()) == f"Note {LONG.strip()}"
    assert width - 10 < max(map(len, lines)) <= width
    assert lines[0].startswith("Note     one")
    assert all(line.startswith(" " * 9) for line in lines[1:])


def test_a_warning_is_said_everywhere_and_coloured_on_a_terminal(terminal, capsys):
    print_warning("NOT PRIVATE")
    assert capsys.readouterr().out == "NOT PRIVATE\n"
    terminal(80)
    print_warning("NOT PRIVATE")
    assert "NOT PRIVATE" in re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
