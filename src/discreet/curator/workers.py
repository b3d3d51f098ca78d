"""Run threads that work on one table, so that the reported error does not depend on timing.

If several threads fail, the reported error is that in the earliest part of the table, as if the parts were read one
after another. The calling thread waits and reports progress. If it is interrupted, it first stops all other threads.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import copy_context
from itertools import chain, islice
from typing import Generic, TypeAlias, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
# called between two pieces of work; raises if the work is no longer needed
Tick: TypeAlias = Callable[[], None]


class _InVainError(Exception):
    """Signal that a job is no longer needed, because an earlier part failed or the run was stopped."""


def each_part(jobs: Sequence[Callable[[Tick], Result]], notice: Callable[[], None] | None = None) -> list[Result]:
    """Run each job in its own thread. Return the results in order, or raise the error of the earliest failed job.

    Each job calls its argument after every piece of work. `notice` is then called in the calling thread.

    >>> each_part([lambda tick: "first", lambda tick: "second"])
    ['first', 'second']
    """
    if len(jobs) == 1:
        return [jobs[0](notice or _nothing)]
    state = _Parts(len(jobs), jobs)
    threads = [_thread(state.work, index) for index in range(len(jobs))]
    try:
        for thread in threads:
            thread.start()
        for running in iter(state.events.get, None):
            if running and notice is not None:
                notice()
    except BaseException:
        state.stop_from(0)
        raise
    finally:
        for thread in threads:
            _join(thread)
    for error in state.errors:
        if error is not None:
            raise error
    return list(state.results)


class _Parts(Generic[Result]):
    """State shared by the threads of `each_part`."""

    def __init__(self, count: int, jobs: Sequence[Callable[[Tick], Result]]) -> None:
        self._jobs = jobs
        self._lock = threading.Lock()
        self._running = self._needed = count
        self.results: list[Result] = [None] * count  # type: ignore[list-item]  # complete unless a job failed
        self.errors: list[BaseException | None] = [None] * count
        # True means that a piece of work is done, None that all jobs have ended
        self.events: queue.SimpleQueue[bool | None] = queue.SimpleQueue()

    def stop_from(self, index: int) -> None:
        """Cancel the jobs from `index` on."""
        with self._lock:
            self._needed = min(self._needed, index)

    def work(self, index: int) -> None:
        """Run one job to its end."""

        def tick() -> None:
            if index >= self._needed:
                raise _InVainError
            self.events.put(True)

        try:
            self.results[index] = self._jobs[index](tick)
        except _InVainError:
            pass
        except BaseException as error:
            self.errors[index] = error
            # an earlier job may still fail, and its error then takes precedence
            self.stop_from(index + 1)  # [P:earliest-part]
        with self._lock:
            self._running -= 1
            if not self._running:
                self.events.put(None)


def shared_out(
    items: Iterable[Item], jobs: Sequence[Callable[[Iterator[Item]], Result]], notice: Callable[[], None] | None = None
) -> list[Result]:
    """Read items in the calling thread, distribute them among jobs in other threads, and return their results.

    Which job receives an item depends on timing. If reading or processing fails, the error at the earliest item is
    raised. A single item is processed in the calling thread. At most as many items are read ahead as there are jobs.
    `notice` is called in the calling thread after each item is handed over.

    >>> sum(shared_out(range(5), [sum, sum]))
    10
    """
    notice = notice or _nothing
    reading, failure = iter(items), None
    start: list[Item] = []
    try:
        start.extend(islice(reading, 1))
        start.extend(islice(reading, 1))
    except Exception as error:
        failure = error
    if len(start) < 2 or len(jobs) == 1:
        results = [jobs[0](ticked(start if len(start) < 2 else chain(start, reading), notice))]
        _raise_if(failure)
        return results
    state = _Shared(jobs)
    threads = [_thread(state.work, index) for index in range(len(jobs))]
    try:
        for thread in threads:
            thread.start()
        try:
            for item in chain(start, reading):
                if not state.hand(item):
                    break
                notice()
        except Exception as error:
            failure = error
        state.close()
    except BaseException:
        state.abandon()
        raise
    finally:
        for thread in threads:
            _join(thread)
    # raise processing errors first, because those items were read before the item that could not be read
    _raise_if(state.earliest)
    _raise_if(failure)
    return list(state.results)


class _Shared(Generic[Item, Result]):
    """State shared by the threads of `shared_out`."""

    def __init__(self, jobs: Sequence[Callable[[Iterator[Item]], Result]]) -> None:
        self._jobs = jobs
        self._changed = threading.Condition()
        self._waiting: deque[tuple[int, Item]] = deque()
        self._handed = 0
        self._closed = False
        self._errors: dict[int, BaseException] = {}
        self.results: list[Result] = [None] * len(jobs)  # type: ignore[list-item]  # as above

    @property
    def earliest(self) -> BaseException | None:
        """Error of the first item, in input order, whose job failed, or None if no job failed."""
        return self._errors[min(self._errors)] if self._errors else None

    def hand(self, item: Item) -> bool:
        """Hand over an item as soon as there is room for it. Return False if a job has failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._errors or len(self._waiting) < len(self._jobs))
            if self._errors:
                return False
            self._waiting.append((self._handed, item))
            self._handed += 1
            self._changed.notify_all()
            return True

    def close(self) -> None:
        """Signal that no more items follow."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def abandon(self) -> None:
        """Discard waiting items, and signal that no more items follow."""
        with self._changed:
            self._waiting.clear()
            self._closed = True
            self._changed.notify_all()

    def work(self, index: int) -> None:
        """Run one job on the items that it receives."""
        last = -1

        def taken() -> Iterator[Item]:
            nonlocal last
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._waiting or self._closed)
                    if not self._waiting:
                        return
                    last, item = self._waiting.popleft()
                    self._changed.notify_all()
                yield item

        try:
            self.results[index] = self._jobs[index](taken())
        except BaseException as error:
            self._errors[last] = error  # [P:earliest-batch]
            # earlier items are already being processed, and later ones are no longer needed
            self.abandon()


def _thread(work: Callable[[int], None], index: int) -> threading.Thread:
    # run in the caller's context, so that its settings apply in all threads
    return threading.Thread(target=copy_context().run, args=(work, index), name=f"discreet-{index}", daemon=True)


def _join(thread: threading.Thread) -> None:
    # a thread that was never started cannot be joined
    if thread.ident is not None:
        thread.join()


def ticked(items: Iterable[Item], tick: Tick) -> Iterator[Item]:
    """Yield the items, and call `tick` after the work on each item."""
    for item in items:
        yield item
        tick()


def _raise_if(error: BaseException | None) -> None:
    if error is not None:
        raise error


def _nothing() -> None:
    pass
