"""The design that a command is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.cli.terminal import say_json
from discreet.errors import DesignError

if TYPE_CHECKING:
    from discreet.design.model import Design


def load_design(path: str, *, as_json: bool) -> Design:
    """Read a design; with `--json` its problems are also printed as one document."""
    from discreet.design.model import Design

    try:
        return Design.load(path)
    except DesignError as error:
        if as_json:
            say_json({"design": path, "problems": [problem.to_dict() for problem in error.problems]})
        raise
