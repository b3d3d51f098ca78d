"""The data sets by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from discreet.errors import SpecError

if TYPE_CHECKING:
    from discreet.datasets.dataset import Dataset

# module and function; loaded on use, because a table costs time and memory
_HOMES: Final = {
    "census2000": ("discreet.datasets.census", "census2000"),
}


def names() -> tuple[str, ...]:
    """Names that `load` knows.

    >>> names()
    ('census2000',)
    """
    return tuple(_HOMES)


def load(name: str) -> Dataset:
    """Load a data set by its name.

    Parameters
    ----------
    name
        One of `names()`.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load("census2000").design.target
    'lweekinc'
    """
    if name not in _HOMES:
        raise SpecError.unknown_name("data set", str(name), _HOMES)
    module, function = _HOMES[name]
    return cast("Callable[[], Dataset]", getattr(import_module(module), function))()
