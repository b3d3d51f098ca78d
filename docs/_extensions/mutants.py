"""The directives `mutant-table`, `false-alarm-table` and `mutant-run`: results of the last `make mutants`."""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from verdicts import plain_table

_FOUND = Path(__file__).parents[1] / "reference" / "mutants.json"


def _shipped() -> dict[str, object]:
    return json.loads(_FOUND.read_text(encoding="utf-8"))


class MutantTable(Directive):
    """A table with a row for each kind of mistake and check."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        groups: dict[tuple[str, str], list[dict[str, object]]] = {}
        for one in _shipped()["mutants"]:
            groups.setdefault((one["kind"], one["judge"]), []).append(one)
        rows = []
        for (kind, judge), members in groups.items():
            found = sorted({str(one["found"]) for one in members})
            caught = sum(bool(one["caught"]) for one in members)
            where = ", ".join(str(one["where"]) for one in members)
            slowest = max(float(one["seconds"]) for one in members)
            rows.append((kind, where, judge, "; ".join(found), f"{caught} of {len(members)}", f"{slowest:.1f}"))
        return [plain_table(("mistake", "in", "check", "its message", "detected", "seconds, at most"), rows)]


class FalseAlarmTable(Directive):
    """A table with a row for each unchanged entry that was run repeatedly."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        rows = [
            (name, str(one["runs"]), f"{one['level']:.0%}", f"{one['runs'] * one['level']:g}", str(one["alarms"]))
            for name, one in _shipped()["false_alarms"].items()
        ]
        names = ("entry", "runs", "level", "expected false alarms, at most", "false alarms")
        return [plain_table(names, rows)]


class MutantRun(Directive):
    """A sentence on the run that produced the figures."""

    def run(self) -> list[nodes.Node]:
        """Return the sentence."""
        one = _shipped()["run"]
        words = (
            f"Figures of {one['date']}: discreet {one['version']} ({one['commit']}), Python {one['python']}, "
            f"{one['machine']}."
        )
        return [nodes.paragraph("", words)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("mutant-table", MutantTable)
    app.add_directive("false-alarm-table", FalseAlarmTable)
    app.add_directive("mutant-run", MutantRun)
    return {"parallel_read_safe": True}
