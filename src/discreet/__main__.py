"""The program `discreet`, also as `python -m discreet`: signals are handled before anything else is loaded."""

from __future__ import annotations

import sys
from typing import NoReturn

from discreet.cli.stopping import Stop


def run() -> NoReturn:
    """Entry point of the console script."""
    stop = Stop()
    try:
        stop.handle_signals()
        from discreet.cli.main import run as run_program

        stop.check()
    except KeyboardInterrupt:
        stop.end(lambda: None)
        print(f"error: {stop.word}; nothing was written", file=sys.stderr)
        sys.exit(stop.exit_code)
    run_program(stop)


if __name__ == "__main__":
    run()
