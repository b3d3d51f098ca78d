"""A user's method, drawn on the axes of a figure."""

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
    """The result of a factory: an object that learns from rows and predicts."""

    def fit(self, X: FloatArray, y: FloatArray) -> object:
        """Learn from rows."""
        ...

    def predict(self, X: FloatArray) -> FloatArray:
        """Predict the target of rows."""
        ...


class Factory(Protocol):
    """What `module:factory` names, unless that is an object with `fit` and `predict`."""

    def __call__(
        self,
        *,
        epsilon: float,
        delta: float,
        bounds: Sequence[tuple[float, float]],
        target_bounds: tuple[float, float],
    ) -> Regressor:
        """Return a new regressor for a budget and declared bounds, one pair for each column."""
        ...


def is_regressor(thing: object) -> bool:
    """Return whether an object, not a class, has `fit` and `predict`.

    >>> is_regressor(1), is_regressor(Regressor)
    (False, False)
    """
    able = callable(getattr(thing, "fit", None)) and callable(getattr(thing, "predict", None))
    return able and not isinstance(thing, type)


def reader_method(text: str) -> Factory | Regressor:
    """Import `module:factory`: a factory, or an object with `fit` and `predict`.

    Modules in the working directory are also found.

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
        raise SpecError(f"cannot import the module of the method {text!r}: {what}") from error
    if not (callable(factory) or is_regressor(factory)):
        raise SpecError(f"the module {module_name!r} has no function {name!r}; expected a method as module:factory")
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
    """Train a user's method on copies of rows. On failure, raise an error that says which step failed.

    Parameters
    ----------
    method
        `module:factory`, or the object it names. An object with `fit` and `predict` is copied and gets neither budget
        nor bounds.
    x, y
        Rows within the bounds.
    epsilon, delta, bounds, target_bounds
        Arguments of a factory. By default, bounds are -1 and 1 for every column.
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
            f"the method: the factory {named} failed ({type(error).__name__}: {error})", option="with"
        ) from error
    if not is_regressor(model):
        raise OptionError(
            f"the method: expected an object with fit and predict, got one of type {type(model).__name__}",
            option="with",
        )
    try:
        # copies, because a method may centre its rows in place
        model.fit(x.copy(), y.copy())
    except Exception as error:
        raise OptionError(f"the method: fit failed ({type(error).__name__}: {error})", option="with") from error
    return model


def reader_predictions(model: Regressor, x: FloatArray) -> FloatArray:
    """Return the predictions of a user's method, and refuse all but one finite number for each row."""
    try:
        predicted = np.asarray(model.predict(x.copy()), dtype=float)
    except (TypeError, ValueError) as error:
        raise OptionError(f"the method: predict failed or gave no numbers ({error})", option="with") from error
    if predicted.shape != (len(x),):
        raise OptionError(
            f"the method: expected predictions of shape {(len(x),)}, got {predicted.shape}", option="with"
        )
    if bad := int((~np.isfinite(predicted)).sum()):
        raise OptionError(f"the method: expected finite predictions, got {bad} of {len(x)} that are not", option="with")
    return predicted


def source_digest(text: str) -> str:
    """Return a digest of the module of a method, so that an edit invalidates finished cells."""
    home = getattr(reader_method(text), "__module__", None)
    path = getattr(sys.modules.get(home or ""), "__file__", None)
    named = getattr(sys.modules.get(text.partition(":")[0]), "__file__", None)
    found = sorted({one for one in (path, named) if one is not None})
    return hashlib.sha256(b"".join(Path(one).read_bytes() for one in found)).hexdigest()
