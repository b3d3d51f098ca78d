"""A request to stop that another thread can make, and the moment after which it is too late."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from discreet.errors import Cancelled, SpecError


class CancelToken:
    """Stops one run of `discreet.release` or `discreet.check` from another thread, as long as nothing is spent.

    Give it to the run as `ComputeOptions(cancel=token)`. The run stops after the batch that it reads, with `Cancelled`.
    A release closes its token at the moment before it spends: who asks first wins, so a cancelled release has spent
    nothing, and one that spends cannot be cancelled any more. A token is for one run. `discreet.plan` and the searches
    of `discreet.planning` take one as `cancel=token`; they spend nothing and never close it.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
    >>> table = {"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}
    >>> token = discreet.CancelToken()
    >>> made = discreet.release(table, design, epsilon=1.0, compute=discreet.ComputeOptions(cancel=token))
    >>> token.cancel()
    False
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._cancelled = self._closed = False

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked in time."""
        return self._cancelled

    @property
    def closed(self) -> bool:
        """Whether it is too late to ask."""
        return self._closed

    def cancel(self) -> bool:
        """Ask the run to stop; true if it will, with nothing spent, and false if it is too late.

        >>> token = CancelToken()
        >>> token.cancel(), token.cancelled, token.closed
        (True, True, False)
        """
        with self._lock:
            self._cancelled = not self._closed
            return self._cancelled

    def check(self) -> None:
        """Raise `Cancelled` if somebody asked."""
        if self._cancelled:
            raise Cancelled

    def close(self) -> None:
        """Raise `Cancelled` if somebody asked; from now on it is too late.

        >>> token = CancelToken()
        >>> token.close()
        >>> token.cancel()
        False
        """
        with self._lock:
            self.check()
            self._closed = True


def checking(cancel: object) -> Callable[[], None]:
    """What work calls again and again, and what ends it where somebody asked; nothing without a token.

    >>> checking(None)()
    """
    if cancel is None:
        return lambda: None
    if not isinstance(cancel, CancelToken):
        raise SpecError(f"cancel: expected a CancelToken, got {type(cancel).__name__}")
    return cancel.check
