"""Named places of a tracked release at which a test may do something, such as ending the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from discreet.ledger import steps


@contextmanager
def calling(observer: Callable[[str], None]) -> Iterator[None]:
    """Call a function with the name of every step of `discreet.ledger.steps.STEPS` that is reached.

    Examples
    --------
    >>> seen = []
    >>> with calling(seen.append):
    ...     steps.at("reserved")
    >>> seen
    ['reserved']
    """
    before = steps._observer
    steps._observer = observer
    try:
        yield
    finally:
        steps._observer = before
