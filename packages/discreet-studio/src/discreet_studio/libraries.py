"""Check the libraries that the studio needs."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import discreet

_NEEDED: Final = ("starlette", "uvicorn", "jinja2", "python_multipart", "matplotlib")


def check_libraries() -> None:
    """Raise an error with installation instructions if a library is missing."""
    for module in _NEEDED:
        try:
            import_module(module)
        except ImportError:
            raise discreet.DiscreetError(
                f"the studio needs {module!r}, which is not installed; in the root folder of the repository, run: "
                "pip install . ./packages/discreet-studio"
            ) from None
