"""What one run of the command line has done so far: the facts that an error message needs."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Session:
    """Facts about the running command.

    Attributes
    ----------
    debug
        Whether a trace of our own frames was asked for.
    spent
        Whether a budget has been spent on private rows.
    written
        Files that are complete, as the user named them.
    """

    debug: bool = False
    spent: bool = False
    written: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """What is left behind if the command ends here.

        >>> Session().outcome, Session(spent=True).outcome
        ('nothing was written', 'the noise was drawn but nothing was written')
        """
        if self.written:
            return f"already written: {', '.join(map(repr, self.written))}"
        return "the noise was drawn but nothing was written" if self.spent else "nothing was written"
