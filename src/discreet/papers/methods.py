"""A reader's own method, drawn on the axes of a figure."""

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
    """What `--with module:factory` names, unless that is an object with `fit` and `predict`."""

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


def is_regressor(thing: object) -> bool:
    """Whether an object, not a class, can learn and predict as it is.

    >>> is_regressor(1), is_regressor(Regressor)
    (False, False)
    """
    able = callable(getattr(thing, "fit", None)) and callable(getattr(thing, "predict", None))
    return able and not isinstance(thing, type)


def reader_method(text: str) -> Factory | Regressor:
    """What `module:factory` names: a factory, or an object with `fit` and `predict`.

    Modules of the working directory are found too.

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
        # a module of the reader's own may fail in any way while it is imported
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
    """A reader's method, trained on copies of rows, or a refusal that names what failed.

    Parameters
    ----------
    method
        As `module:factory`, or what that would name. An object with `fit` and `predict` is copied, and is not given the
        budget or the bounds.
    x, y
        Rows within the bounds.
    epsilon, delta, bounds, target_bounds
        What a factory is given; bounds are -1 and 1 for every column unless given.
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
        raise SpecError(f"--with: the factory {named} failed ({type(error).__name__}: {error})") from error
    if not is_regressor(model):
        raise SpecError(f"--with: expected an object with fit and predict, got one of type {type(model).__name__}")
    try:
        # a method may centre its rows in place; those of the other lines stay as they are
        model.fit(x.copy(), y.copy())
    except Exception as error:
        raise SpecError(f"--with: fit failed ({type(error).__name__}: {error})") from error
    return model


def reader_predictions(model: Regressor, x: FloatArray) -> FloatArray:
    """What a reader's method predicts, or a refusal unless it is one finite number for each row."""
    try:
        predicted = np.asarray(model.predict(x.copy()), dtype=float)
    except (TypeError, ValueError) as error:
        raise SpecError(f"--with: predict failed or gave no numbers ({error})") from error
    if predicted.shape != (len(x),):
        raise SpecError(f"--with: expected predictions of shape {(len(x),)}, got {predicted.shape}")
    if bad := int((~np.isfinite(predicted)).sum()):
        raise SpecError(f"--with: expected finite predictions, got {bad} of {len(x)} that are not")
    return predicted


def source_digest(text: str) -> str:
    """A digest of the module of a method, so that finished parts are run again after it was edited."""
    home = getattr(reader_method(text), "__module__", None)
    path = getattr(sys.modules.get(home or ""), "__file__", None)
    named = getattr(sys.modules.get(text.partition(":")[0]), "__file__", None)
    found = sorted({one for one in (path, named) if one is not None})
    return hashlib.sha256(b"".join(Path(one).read_bytes() for one in found)).hexdigest()
