"""The libraries that the studio needs and a plain install does not bring."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import discreet

_NEEDED: Final = ("starlette", "uvicorn", "jinja2", "python_multipart", "matplotlib")


def check_libraries() -> None:
    """Refuse with the extra to install where a library is missing."""
    for module in _NEEDED:
        try:
            import_module(module)
        except ImportError:
            raise discreet.DiscreetError(
                f"the studio needs {module!r}, which is not installed; install it with: pip install 'discreet[studio]'"
            ) from None
