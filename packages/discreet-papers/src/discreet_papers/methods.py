"""Import and run a user's method, to draw it on the axes of a figure."""

from __future__ import annotations

import copy
import hashlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from discreet.errors import OptionError, SpecError

if TYPE_CHECKING:
    from discreet.exact.arrays import FloatArray

READER: str = "your method"


class Regressor(Protocol):
    """An object that learns from rows and predicts."""

    def fit(self, X: FloatArray, y: FloatArray) -> object:
        """Learn from rows."""
        ...

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict the target of each row."""
        ...


class Factory(Protocol):
    """A function that returns a regressor. `module:factory` names a factory, or an object with `fit` and `predict`."""

    def __call__(
        self,
        *,
        epsilon: float,
        delta: float,
        bounds: Sequence[tuple[float, float]],
        target_bounds: tuple[float, float],
    ) -> Regressor:
        """Return a new regressor for a budget and declared bounds, one pair of bounds per column."""
        ...


def is_regressor(thing: object) -> bool:
    """Return whether an object has `fit` and `predict` and is not a class.

    >>> is_regressor(1), is_regressor(Regressor)
    (False, False)
    """
    able = callable(getattr(thing, "fit", None)) and callable(getattr(thing, "predict", None))
    return able and not isinstance(thing, type)


def reader_method(text: str) -> Factory | Regressor:
    """Import `module:factory`: a factory, or an object with `fit` and `predict`.

    The working directory is searched too.

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
    except Exception as error:
        # importing a user's module may fail in any way
        what = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        raise SpecError(f"cannot import the module of the method {text!r} ({what})") from error
    if not (callable(factory) or is_regressor(factory)):
        raise SpecError(
            f"the module {module_name!r} has no function or regressor {name!r}; expected a method as module:factory"
        )
    return cast("Factory | Regressor", factory)


def reader_model(
    method: str | Factory | Regressor,
    x: FloatArray,
    y: FloatArray,
    *,
    epsilon: float,
    delta: float,
    bounds: Sequence[tuple[float, float]] | None = None,
    target_bounds: tuple[float, float] = (-1.0, 1.0),
) -> Regressor:
    """Train a user's method on copies of the rows. On failure, raise an error that says which step failed.

    `method` is `module:factory`, or the object itself. A factory is called with the budget and bounds; by default, the
    bounds are -1 and 1 for every column. An object with `fit` and `predict` is copied instead, and gets neither.
    """
    named = repr(method) if isinstance(method, str) else getattr(method, "__name__", type(method).__name__)
    thing = reader_method(method) if isinstance(method, str) else method
    pairs = [(-1.0, 1.0)] * x.shape[1] if bounds is None else list(bounds)
    try:
        if is_regressor(thing):
            model = cast("Regressor", copy.deepcopy(thing))
        else:
            model = cast("Factory", thing)(epsilon=epsilon, delta=delta, bounds=pairs, target_bounds=target_bounds)
    except Exception as error:
        raise OptionError(
            f"your method failed: the factory {named} raised {type(error).__name__}: {error}", option="with"
        ) from error
    if not is_regressor(model):
        raise OptionError(
            f"your method failed: expected an object with fit and predict, got one of type {type(model).__name__}",
            option="with",
        )
    try:
        # pass copies, because a method may modify its rows in place
        model.fit(x.copy(), y.copy())
    except Exception as error:
        raise OptionError(f"your method failed: fit raised {type(error).__name__}: {error}", option="with") from error
    return model


def reader_predictions(model: Regressor, x: FloatArray) -> FloatArray:
    """Return the predictions of a user's method. They must be one finite number per row."""
    try:
        predicted = np.asarray(model.predict(x.copy()), dtype=float)
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"your method failed: predict raised {type(error).__name__}, or did not return numbers: {error}",
            option="with",
        ) from error
    if predicted.shape != (len(x),):
        raise OptionError(
            f"your method failed: expected predictions of shape {(len(x),)}, got {predicted.shape}", option="with"
        )
    if bad := int((~np.isfinite(predicted)).sum()):
        raise OptionError(
            f"your method failed: expected finite predictions, got {bad} of {len(x)} that are not finite",
            option="with",
        )
    return predicted


def source_digest(text: str) -> str:
    """Return a digest of the source files of a method, so that an edit invalidates finished cells."""
    home = getattr(reader_method(text), "__module__", None)
    path = getattr(sys.modules.get(home or ""), "__file__", None)
    named = getattr(sys.modules.get(text.partition(":")[0]), "__file__", None)
    paths = sorted({file for file in (path, named) if file is not None})
    return hashlib.sha256(b"".join(Path(file).read_bytes() for file in paths)).hexdigest()
