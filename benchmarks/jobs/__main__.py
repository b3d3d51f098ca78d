"""Run: python -m benchmarks.jobs MODULE.FUNCTION '{"argument": value}'. The last printed line is the result."""

from __future__ import annotations

import importlib
import json
import sys


def main() -> None:
    """Call the function and print its result."""
    module, function = sys.argv[1].rsplit(".", 1)
    given = getattr(importlib.import_module(f"benchmarks.jobs.{module}"), function)(**json.loads(sys.argv[2]))
    print(json.dumps(given))


main()
