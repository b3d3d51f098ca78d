"""Run slow work in the background, one job at a time, with progress and cancellation."""

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
from discreet_studio.advice import here

LOG: Final = logging.getLogger("discreet_studio")
State = Literal["running", "done", "failed", "cancelled"]
_KEPT: Final = 20


@dataclass
class Job:
    """A job that runs in the background.

    `goes_to` is the page that shows the result. `share` is the progress from 0 to 1, or None if it is unknown. `token`
    can cancel the job, and is None if the job cannot be cancelled.
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
        """Record the progress that `ComputeOptions.progress` reports."""
        self.share = share

    @property
    def can_cancel(self) -> bool:
        """Whether the job can still be cancelled."""
        return self.state == "running" and self.token is not None and not self.token.closed and not self.token.cancelled

    @property
    def percent(self) -> int | None:
        """Progress in percent."""
        return None if self.share is None else int(100 * self.share)


class Jobs:
    """All jobs of a studio. Only one runs at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._requests: dict[str, Job] = {}

    @property
    def running(self) -> Job | None:
        """The running job, or None."""
        return next((job for job in self._jobs.values() if job.state == "running"), None)

    def find(self, key: str) -> Job | None:
        """Return the job with this key, or None."""
        return self._jobs.get(key)

    def asked(self, request: str) -> Job | None:
        """Return the job that a request started, if any, so that a second click or a reload gets the same job."""
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
        """Start a job, or return the job that the same request started. Return None while another job runs."""
        with self._lock:
            if request in self._requests:
                return self._requests[request]
            if self.running is not None:
                return None
            job = Job(kind, goes_to, token)
            self._jobs[job.key] = self._requests[request] = job
            while len(self._jobs) > _KEPT:
                old = self._jobs.popitem(last=False)[1]
                self._requests = {name: job for name, job in self._requests.items() if job is not old}
        Thread(target=_run, args=(job, work), name=f"studio-{kind}", daemon=True).start()
        return job

    def wait(self, job: Job, seconds: float) -> None:
        """Wait until a job has ended, but at most this many seconds."""
        end = time.monotonic() + seconds
        while job.state == "running" and time.monotonic() < end:
            time.sleep(0.01)


def _run(job: Job, work: Callable[[Job], object]) -> None:
    try:
        job.result = work(job)
        job.state = "done"
    except discreet.Cancelled as error:
        job.error, job.state = here(error), "cancelled"
    except discreet.DiscreetError as error:
        job.error, job.state = here(error), "failed"
    except Exception as error:
        # a traceback may quote cells, so only the type of the error is logged
        LOG.error("unexpected failure (%s)", type(error).__name__)  # noqa: TRY400
        job.error, job.state = f"an unexpected error occurred ({type(error).__name__})", "failed"
