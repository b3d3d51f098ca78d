"""A reader's own method, drawn on the axes of a figure."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from discreet.errors import SpecError

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

READER: str = "your method"


class Regressor(Protocol):
    """What a factory gives: an object that learns from rows and predicts."""

    def fit(self, X: FloatArray, y: FloatArray) -> object:
        """Learn from rows."""
        ...

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict the target of rows."""
        ...


class Factory(Protocol):
    """What `--with module:factory` names."""

    def __call__(
        self,
        *,
        epsilon: float,
        delta: float,
        bounds: Sequence[tuple[float, float]],
        target_bounds: tuple[float, float],
    ) -> Regressor:
        """A new regressor for a budget and declared bounds, one pair for each column."""
        ...


def reader_method(text: str) -> Factory:
    """The factory that `module:factory` names; modules of the working directory are found too.

    >>> reader_method("math:sqrt").__name__
    'sqrt'
    >>> reader_method("math")
    Traceback (most recent call last):
        ...
    discreet.errors.SpecError: expected a method as module:factory, got 'math'
    """
    module_name, colon, name = text.partition(":")
    if not (module_name and colon and name):
        raise SpecError(f"expected a method as module:factory, got {text!r}")
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        factory = getattr(import_module(module_name), name, None)
    except ImportError as error:
        raise SpecError(f"cannot import the module of the method {text!r}: {error}") from None
    if not callable(factory):
        raise SpecError(f"the module {module_name!r} has no function {name!r}; expected a method as module:factory")
    return cast("Factory", factory)
