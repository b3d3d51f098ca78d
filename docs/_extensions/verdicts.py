"""The directives `verdict-table` and `errata-table`: what the shipped run of the figures found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from discreet_papers.figure_catalogue import DOCUMENTS, NAMES, figure_named


def _shipped() -> dict[str, dict[str, dict[str, object]]]:
    return json.loads((files("discreet_papers") / "verdicts.json").read_text(encoding="utf-8"))


class VerdictTable(Directive):
    """A row for each figure of a document, or of all documents."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        names = DOCUMENTS[self.arguments[0]].figures if self.arguments else NAMES
        shipped = _shipped()["figures"]
        rows = [(name, figure_named(name).title, *_found(shipped.get(name, {}))) for name in names]
        return [plain_table(("figure", "what it shows", "verdict", "seconds"), rows)]


class ErrataTable(Directive):
    """A row for each erratum: what the document says, and what a run gives."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = [
            (number, str(one["document"]), str(one["claim"]), str(one["verdict"]), str(one["measured"]))
            for number, one in _shipped()["errata"].items()
        ]
        return [plain_table(("number", "document", "claim", "verdict", "measured"), rows)]


def _found(known: dict[str, object]) -> tuple[str, str]:
    return str(known.get("verdict", "not run")), str(known.get("seconds", ""))


def plain_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> nodes.table:
    """Return a table of plain text."""
    table = nodes.table()
    group = nodes.tgroup(cols=len(names))
    table += group
    group += [nodes.colspec(colwidth=1) for _ in names]
    head, body = nodes.thead(), nodes.tbody()
    group += [head, body]
    head += _row(names)
    body += [_row(row) for row in rows]
    return table


def _row(texts: Sequence[str]) -> nodes.row:
    row = nodes.row()
    row += [nodes.entry("", nodes.paragraph(text=text)) for text in texts]
    return row


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("verdict-table", VerdictTable)
    app.add_directive("errata-table", ErrataTable)
    return {"parallel_read_safe": True}
