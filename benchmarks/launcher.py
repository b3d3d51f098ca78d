"""Run one program and print its cost. This process is small: it imports only the standard library.

The peak memory that the system reports for a program includes that of its parent between fork and exec. A large parent
would therefore inflate the figure of a small child. This process has about 11 MB, less than any subject.

Run by `measuring`: python -I -S launcher.py '{"command": [...], "environment": {...}, ...}'
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from typing import Any

BUSY = (sys.executable, "-I", "-S", "-c", "while True: pass")


def started(command: tuple[str, ...], environment: dict[str, str], outputs: tuple[str, str]) -> int:
    """Start a program in a new process group and return its id."""
    writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [(os.POSIX_SPAWN_OPEN, number, path, writing, 0o600) for number, path in enumerate(outputs, 1)]
    return os.posix_spawn(command[0], command, environment, file_actions=files, setpgroup=0)


def ended(group: int) -> None:
    """Kill the remaining processes of a group that was started here."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def measured(asked: dict[str, Any]) -> dict[str, object]:
    """Return CPU and wall seconds, peak memory in bytes, the exit code, and whether the time limit was exceeded."""
    environment = asked["environment"]
    neighbours = [started(BUSY, environment, (os.devnull, os.devnull)) for _ in range(asked["beside"])]
    late = []
    try:
        begun = time.perf_counter()
        child = started(tuple(asked["command"]), environment, (asked["out"], asked["err"]))

        def stop(*_: object) -> None:
            late.append(True)
            ended(child)

        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, asked["limit"])
        try:
            _, status, usage = os.wait4(child, 0)
        except BaseException:
            ended(child)
            os.waitpid(child, 0)
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        # child processes that the program may have left
        ended(child)
        wall = time.perf_counter() - begun
    finally:
        for neighbour in neighbours:
            ended(neighbour)
            os.waitpid(neighbour, 0)
    return {
        "cpu": usage.ru_utime + usage.ru_stime,
        "wall": wall,
        "memory": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "code": os.waitstatus_to_exitcode(status),
        "late": bool(late),
    }


if __name__ == "__main__":
    # an exception, so that the program is stopped as well
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    print(json.dumps(measured(json.loads(sys.argv[1]))))
