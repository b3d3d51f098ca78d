"""How a ledger is printed for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from discreet.cli.render import labelled
from discreet.ledger.status import MOST_ALIKE

if TYPE_CHECKING:
    from discreet.ledger.status import Line, Status
    from discreet.privacy.loss import Loss

_LABEL: Final = 12


def status_text(status: Status) -> str:
    """One data set: its budget, what is spent and what is left."""
    unit = status.unit
    one = "one row" if unit.id is None else f"one {unit.id} with at most {unit.max_rows} rows"
    fields = [
        ("Data set", f"{status.dataset}: hides {one}, {unit.neighbours} neighbours"),
        ("Budget", f"epsilon = {status.epsilon:g}, delta = {status.delta:g} for everything, counted by {status.rule}"),
        ("Spent", f"epsilon = {status.spent_epsilon:.4g} at delta = {status.delta:g}, in {requests(status)}"),
        ("Left", status.left_words),
    ]
    if status.waiting:
        names = ", ".join(status.waiting)
        fields.append(("Unfinished", f"{names}: the same command finishes it at no further cost"))
    return "\n".join(labelled(*field, _LABEL) for field in fields)


def requests(status: Status) -> str:
    """How many requests were taken."""
    return "1 request" if status.requests == 1 else f"{status.requests} requests"


def planned_text(loss: Loss, after: Status | None, *, same_unit: bool = True) -> str:
    """What a planned release would leave, and how many like it there could be."""
    planned = f"epsilon = {loss.epsilon:g}, delta = {loss.delta:g}"
    if after is None:
        why = "it is more than is left" if same_unit else "the design protects another unit than the data set"
        return labelled("Planned", f"{planned} would be refused: {why}", _LABEL)
    more = "no second one like it would be taken"
    if after.alike > 1:
        number = f"{after.alike} or more" if after.alike == MOST_ALIKE else f"{after.alike}"
        more = f"{number} releases like it would be taken in all"
    return labelled("Planned", f"{planned} would leave {after.left_words}; {more}", _LABEL)


def line_text(line: Line) -> str:
    """One event on one line."""
    facts = dict(line.facts)
    words = [f"{line.seq:>5}  {line.time}  {line.kind:<8}{line.dataset}"]
    if line.request is not None:
        words.append(line.request)
    words += [
        str(facts[name]) for name in ("mechanism", "description", "rule", "reason", "stage", "verdict") if name in facts
    ]
    words += [f"{name} = {facts[name]:g}" for name in ("epsilon", "delta") if name in facts]
    return "  ".join(words)
