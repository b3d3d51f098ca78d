"""Real processes that run `discreet`, ended at a named step or at any time.

A process with everything loaded forks one child for each command, so that a start costs milliseconds. It reads batches
of jobs as lines of JSON and answers each with the exit codes; the jobs of a batch run at the same time.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, NoReturn


@dataclass(frozen=True)
class Job:
    """One command: its words, where it runs, and what ends it; `fill` fills its disk at the step instead."""

    words: tuple[str, ...]
    folder: str
    step: str = ""
    signal: int = 0
    after: float = 0.0
    fill: bool = False


class Children:
    """The process that forks the others."""

    def __init__(self) -> None:
        tests = str(Path(__file__).parents[1])
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-m", "support.child_releases"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": tests},
        )  # fmt: skip

    def run(self, *jobs: Job) -> list[int]:
        """Exit codes, negative for a signal."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([asdict(job) for job in jobs]) + "\n")
        self._process.stdin.flush()
        return list(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


def serve(requests: IO[str], answers: IO[str]) -> None:
    for line in requests:
        jobs = [Job(**job) for job in json.loads(line)]
        begun = time.monotonic()
        children = [_forked(job) for job in jobs]
        for job, child in sorted(zip(jobs, children, strict=True), key=lambda pair: pair[0].after):
            if job.after:
                time.sleep(max(0.0, begun + job.after - time.monotonic()))
                # it is not waited for yet, so the number is still its own
                os.kill(child, job.signal)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        answers.write(json.dumps(codes) + "\n")
        answers.flush()


def fill_disk() -> None:
    """Write a file until there is no room for another byte."""
    with contextlib.suppress(OSError), open("filler", "wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                size //= 2


def _forked(job: Job) -> int:
    child = os.fork()
    return child or _run(job)


def _run(job: Job) -> NoReturn:
    from discreet.__main__ import run
    from discreet.testing.not_private import calling

    def observe(step: str) -> None:
        if step == job.step and job.fill:
            fill_disk()
        elif step == job.step:
            os.kill(os.getpid(), job.signal)

    code = 1
    try:
        os.chdir(job.folder)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        said = os.open(f"said-{os.getpid()}", os.O_WRONLY | os.O_CREAT)
        os.dup2(said, 1)
        os.dup2(said, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["discreet", *job.words]
        with calling(observe):
            run()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        atexit._run_exitfuncs()
        os._exit(code)


if __name__ == "__main__":
    import discreet.cli.release
    import discreet.design.domain
    import discreet.ledger.ledger
    import discreet.mechanisms.k_norm
    import discreet.workflow  # noqa: F401

    serve(sys.stdin, sys.stdout)
