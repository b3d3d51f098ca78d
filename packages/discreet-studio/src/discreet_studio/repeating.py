"""Write a script and a notebook that repeat a release and its report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import discreet


def _code(value: object) -> str:
    return f"discreet.{value!r}" if isinstance(value, discreet.RobustErrors) else repr(value)


@dataclass(frozen=True)
class Recipe:
    """Inputs and outputs of a release, as file names inside one folder.

    `options` are arguments of `discreet.release`, and `reading` are arguments of `discreet.ReadOptions`. `dataset` is
    the data set in the ledger that was charged. `database_table` is the name of the table if the file is a database.
    """

    table: str
    design: str
    release: str
    page: str
    ledger: str
    dataset: str
    options: Mapping[str, object] = field(default_factory=dict)
    database_table: str = ""
    reading: Mapping[str, object] = field(default_factory=dict)

    @property
    def steps(self) -> list[tuple[str, str]]:
        """Description and Python code of each step."""
        table = (
            f"discreet.DatabaseTable({self.table!r}, {self.database_table!r})"
            if self.database_table
            else repr(self.table)
        )
        options = "".join(f"    {name}={_code(value)},\n" for name, value in self.options.items())
        if self.reading:
            arguments = ", ".join(f"{name}={value!r}" for name, value in self.reading.items())
            options += f"    reading=discreet.ReadOptions({arguments}),\n"
        return [
            ("Load the declarations, which were made from public knowledge before the table was opened.",
             f"import discreet\n\ndesign = discreet.Design.load({self.design!r})\n"
             f"ledger = discreet.Ledger({self.ledger!r})"),
            ("Make the release. Only this step spends privacy budget. The ledger has recorded this request, so running "
             "it again returns the same release and spends nothing.",
             f"release = discreet.release(\n    {table},\n    design,\n{options}"
             f"    spend=ledger.account({self.dataset!r}),\n)"),
            ("Verify the release and fit a model. From here on everything is free and needs only the release file.",
             f"release = discreet.Release.load({self.release!r})\nverified = discreet.verify(release)\n"
             'print(f"Verified: {verified.given()}; signature: {verified.signature}.")\n'
             "fit = discreet.fit(release)\nprint(fit.summary())"),
            ("Write the report.",
             f"discreet.report(release, fit, file={self.release!r}).save({self.page!r}, force=True)"),
        ]  # fmt: skip

    def script(self) -> str:
        """Return the steps as a Python file."""
        return "\n\n".join(f"# {words}\n{code}" for words, code in self.steps) + "\n"

    def notebook(self) -> str:
        """Return the steps as a Jupyter notebook."""
        cells: list[dict[str, Any]] = []
        for index, (words, code) in enumerate(self.steps):
            cells.append({"cell_type": "markdown", "id": f"words-{index}", "metadata": {}, "source": words})
            cells.append(
                {"cell_type": "code", "id": f"code-{index}", "metadata": {}, "source": code, "outputs": [],
                 "execution_count": None}
            )  # fmt: skip
        python = {"display_name": "Python 3", "language": "python", "name": "python3"}
        return json.dumps(
            {"cells": cells, "metadata": {"kernelspec": python}, "nbformat": 4, "nbformat_minor": 5}, indent=1
        )
