"""How a ledger is printed for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from discreet.cli.render import labelled

if TYPE_CHECKING:
    from discreet.ledger.status import Line, Status

_LABEL: Final = 12


def status_text(status: Status) -> str:
    """One data set: its budget, what is spent and what is left."""
    unit = status.unit
    one = "one row" if unit.id is None else f"one {unit.id} with at most {unit.max_rows} rows"
    fields = [
        ("Data set", f"{status.dataset}: {one}, {unit.neighbours}"),
        ("Budget", f"epsilon = {status.epsilon:g}, delta = {status.delta:g} for everything, counted by {status.rule}"),
        ("Spent", f"epsilon = {status.spent_epsilon:.4g} at delta = {status.delta:g}, in {requests(status)}"),
        ("Left", left_text(status)),
    ]
    if status.waiting:
        names = ", ".join(status.waiting)
        fields.append(("Unfinished", f"{names}: the same command finishes it at no further cost"))
    return "\n".join(labelled(*field, _LABEL) for field in fields)


def requests(status: Status) -> str:
    """How many requests were taken."""
    return "1 request" if status.requests == 1 else f"{status.requests} requests"


def left_text(status: Status) -> str:
    """What is left, with an example of what that is enough for."""
    words = status.left_words
    if status.largest_gaussian > 0:
        words += (
            f"; enough for one Gaussian release of epsilon = {status.largest_gaussian:.3g} at delta = {status.delta:g}"
        )
    return words


def line_text(line: Line) -> str:
    """One event on one line."""
    facts = dict(line.facts)
    words = [f"{line.seq:>5}  {line.time}  {line.kind:<8}{line.dataset}"]
    if line.request is not None:
        words.append(line.request)
    words += [str(facts[name]) for name in ("mechanism", "description", "rule", "reason") if name in facts]
    words += [f"{name} = {facts[name]:g}" for name in ("epsilon", "delta") if name in facts]
    return "  ".join(words)
