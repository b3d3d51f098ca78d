"""Entry point of `discreet` and `python -m discreet`. Signals are handled before anything else is imported."""

from __future__ import annotations

import atexit
import gc
import sys
from typing import Final, NoReturn

from discreet.cli.command_session import Stop

# imports create almost no garbage, so collect less often than by default
_RARE_COLLECTION: Final = (100_000, 50, 100)


def run() -> NoReturn:
    """Run the command line."""
    gc.set_threshold(*_RARE_COLLECTION)
    atexit.register(_skip_final_collection)
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


def _skip_final_collection() -> None:
    """Skip the garbage collection at exit, because all memory is freed with the process."""
    # DuckDB would report uncollected objects as leaks; after an interrupted import only `_duckdb` is in sys.modules
    if "_duckdb" not in sys.modules:
        gc.freeze()


if __name__ == "__main__":
    run()
