"""What one run of the command line has done so far: the facts that an error message needs."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    written
        Files that are complete, as the user named them.
    stop
        The signal that stopped the command, if one did.
    """

    debug: bool = False
    spent: str = ""
    written: list[str] = field(default_factory=list)
    stop: Stop = field(default_factory=Stop)

    @property
    def outcome(self) -> str:
        """What is left behind if the command ends here.

        >>> Session().outcome, Session(spent="epsilon = 1").outcome
        ('nothing was written', 'the budget was spent (epsilon = 1), but nothing was written')
        >>> Session(spent="epsilon = 1", written=["r.json"]).outcome
        "the budget was spent (epsilon = 1); already written: 'r.json'"
        """
        spent = f"the budget was spent ({self.spent})" if self.spent else ""
        if self.written:
            files = f"already written: {', '.join(map(repr, self.written))}"
            return f"{spent}; {files}" if spent else files
        return f"{spent}, but nothing was written" if spent else "nothing was written"
