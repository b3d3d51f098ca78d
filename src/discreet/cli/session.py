"""What one run of the command line has done so far: the facts that an error message needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from discreet.cli.stopping import Stop


@dataclass
class Session:
    """Facts about the running command.

    Attributes
    ----------
    debug
        Whether a trace of our own frames was asked for.
    spent
        The budget that has been spent on private rows, in words; empty if none was.
    asking
        Whether a ledger is being asked: the spend may be recorded, though nothing has said so yet.
    again
        How to finish what was spent on, at no further cost, in words; empty where nobody keeps count.
    request
        Name under which a ledger has the request; empty without a ledger.
    repeated
        Whether the ledger had the request before, so that this run spends nothing.
    balance
        Says in one sentence what the data set has spent and what is left; nothing without a ledger.
    stop
        The signal that stopped the command, if one did.
    kept
        What a command that works in parts leaves behind, and how to go on, in words; empty for any other.
    """

    debug: bool = False
    spent: str = ""
    kept: str = ""
    asking: bool = False
    again: str = ""
    request: str = ""
    repeated: bool = False
    balance: Callable[[], str] = str
    stop: Stop = field(default_factory=Stop)
    _outputs: dict[str, int | None] = field(default_factory=dict)

    def will_write(self, *outputs: str) -> None:
        """Remember files that are about to be written, as the user named them, and what is there now."""
        self._outputs |= {output: _file_number(output) for output in outputs}

    @property
    def written(self) -> list[str]:
        """Files that are complete. A whole file takes the place of another at once, so its number tells."""
        return [output for output, before in self._outputs.items() if _file_number(output) not in (None, before)]

    @property
    def outcome(self) -> str:
        """What is left behind if the command ends here.

        >>> Session().outcome, Session(spent="epsilon = 1").outcome
        ('nothing was written', 'the budget was spent (epsilon = 1), but nothing was written')
        """
        if self.kept:
            return self.kept
        spent = f"the budget was spent ({self.spent})" if self.spent else ""
        if self.written:
            files = f"already written: {', '.join(map(repr, self.written))}"
            return f"{spent}; {files}" if spent else files
        again = f"; {self.again}" if self.again else ""
        if spent:
            return f"{spent}, but nothing was written{again}"
        return f"nothing was written, but the spend may be recorded{again}" if self.asking else "nothing was written"


def _file_number(output: str) -> int | None:
    """The number under which the system keeps a file; none where there is no file."""
    try:
        return Path(output).lstat().st_ino
    except (OSError, ValueError):
        return None
