"""The program `discreet`, also as `python -m discreet`: signals are handled before anything else is loaded."""

from __future__ import annotations

import atexit
import gc
import sys
from typing import Final, NoReturn

from discreet.cli.command_session import Stop

# of what loading makes hardly anything is garbage: it is looked for less often than Python does by itself
_SELDOM: Final = (100_000, 50, 100)


def run() -> NoReturn:
    """Entry point of the console script."""
    gc.set_threshold(*_SELDOM)
    atexit.register(_spare_last_look)
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


def _spare_last_look() -> None:
    """Keep Python from looking for garbage at its end: all that was loaded goes with the process."""
    # DuckDB takes what is left for leaks, and says so; an interrupted import leaves its inner module alone
    if "_duckdb" not in sys.modules:
        gc.freeze()


if __name__ == "__main__":
    run()
