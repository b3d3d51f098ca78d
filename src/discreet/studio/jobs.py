"""Work that takes longer than a page: one at a time, with progress, and a cancel that says whether it is in time."""

from __future__ import annotations

import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Final, Literal

import discreet

LOG: Final = logging.getLogger("discreet.studio")
State = Literal["running", "done", "failed", "cancelled"]
_KEPT: Final = 20


@dataclass
class Job:
    """One piece of work.

    Attributes
    ----------
    kind, goes_to
        What it is, and the page that shows what became of it.
    share
        How much is done, from 0 to 1; none where that is not known.
    token
        With which it is cancelled; none where it cannot be.
    """

    kind: str
    goes_to: str
    token: discreet.CancelToken | None
    key: str = field(default_factory=lambda: secrets.token_hex(8))
    state: State = "running"
    share: float | None = None
    stage: str = ""
    error: str = ""
    result: object = None
    began: float = field(default_factory=time.monotonic)

    def progress(self, share: float | None) -> None:
        """Take what `ComputeOptions.progress` reports."""
        self.share = share

    @property
    def can_cancel(self) -> bool:
        """Whether it is not too late."""
        return self.state == "running" and self.token is not None and not self.token.closed and not self.token.cancelled

    @property
    def percent(self) -> int | None:
        """How much is done."""
        return None if self.share is None else int(100 * self.share)


class Jobs:
    """All work of a studio; a second piece has to wait for the first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._requests: dict[str, Job] = {}

    @property
    def running(self) -> Job | None:
        """What is being worked on."""
        return next((job for job in self._jobs.values() if job.state == "running"), None)

    def find(self, key: str) -> Job | None:
        """The job of this key."""
        return self._jobs.get(key)

    def asked(self, request: str) -> Job | None:
        """The job that a request began, if there is one: a second click, or a reload, gets the same."""
        return self._requests.get(request)

    def start(
        self,
        kind: str,
        goes_to: str,
        work: Callable[[Job], object],
        *,
        request: str,
        token: discreet.CancelToken | None = None,
    ) -> Job | None:
        """Begin, or give the job that the same request began; none while other work runs."""
        with self._lock:
            if request in self._requests:
                return self._requests[request]
            if self.running is not None:
                return None
            job = Job(kind, goes_to, token)
            self._jobs[job.key] = self._requests[request] = job
            while len(self._jobs) > _KEPT:
                old = self._jobs.popitem(last=False)[1]
                self._requests = {name: one for name, one in self._requests.items() if one is not old}
        Thread(target=_run, args=(job, work), name=f"studio-{kind}", daemon=True).start()
        return job

    def wait(self, job: Job, seconds: float) -> None:
        """Wait until a job has ended, but not longer."""
        end = time.monotonic() + seconds
        while job.state == "running" and time.monotonic() < end:
            time.sleep(0.01)


def _run(job: Job, work: Callable[[Job], object]) -> None:
    try:
        job.result = work(job)
        job.state = "done"
    except discreet.Cancelled as error:
        job.error, job.state = str(error), "cancelled"
    except discreet.DiscreetError as error:
        job.error, job.state = str(error), "failed"
    except Exception as error:
        # a traceback may quote cells: only its kind leaves
        LOG.error("unexpected failure (%s)", type(error).__name__)  # noqa: TRY400
        job.error, job.state = f"unexpected failure ({type(error).__name__})", "failed"
