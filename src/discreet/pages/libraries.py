"""The libraries that pages need and a plain install does not bring."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from discreet.errors import missing_extra

_NEEDED: Final = ("jinja2", "markupsafe", "matplotlib.figure")


def check_libraries() -> None:
    """Refuse with the extra to install where a library is missing; nothing of a page is made before."""
    for module in _NEEDED:
        try:
            import_module(module)
        except ImportError as error:
            # what a library imports itself may be what is missing
            raise missing_extra("report", (error.name or module).partition(".")[0]) from None
