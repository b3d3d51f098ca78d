"""`python -m discreet` is the command line."""

from __future__ import annotations

from discreet.cli.main import run

if __name__ == "__main__":
    run()
