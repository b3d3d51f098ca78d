"""A way to call the command line."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from discreet.cli.main import program
from support.cli_folder import Call


@pytest.fixture
def call() -> Call:
    """Call the command line in this process."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(program, list(arguments))

    return run
