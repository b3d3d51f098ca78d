"""Declarations of the columns of a matrix, in the forms that a caller without a design gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from discreet.design.columns import PRIVATE
from discreet.errors import SpecError, shown
from discreet.privacy.checks import listed

HOW_TO_DECLARE: Final = "they are never read from the data; declare them from what is known without it, such as"


def declared_bounds(bounds: Any, names: Sequence[str]) -> dict[str, object]:  # noqa: ANN401  # checked here
    """One declaration for each column, in column order, from any of the forms of `bounds`.

    >>> declared_bounds((0, 1), ["a", "b"])
    {'a': (0.0, 1.0), 'b': (0.0, 1.0)}
    >>> declared_bounds("private", ["a", "b"])
    {'a': 'private', 'b': 'private'}
    """
    if bounds is None:
        raise SpecError(
            f"bounds are missing; {HOW_TO_DECLARE} bounds={{{names[0]!r}: (18, 90)}}, or (low, high) for all"
        )
    if isinstance(bounds, Mapping):
        unknown, silent = [name for name in bounds if name not in names], [name for name in names if name not in bounds]
        if unknown or silent:
            found = f"in bounds but not in X: {shown(unknown)}; in X but not in bounds: {shown(silent)}"
            raise SpecError(
                f"bounds and X differ in their columns; {found}. Declare every column of X and no other, such as "
                "bounds={'age': (18, 90), 'ward': ['icu', 'surgery'], 'urgent': bool}"
            )
        return {name: bounds[name] for name in names}
    if isinstance(bounds, str) and bounds == PRIVATE:
        return dict.fromkeys(names, PRIVATE)
    if len(names) == 2 and _is_two_pairs(bounds):
        table = ", ".join(f"{name!r}: (low, high)" for name in names)
        raise SpecError(
            "bounds are two plain pairs, which may be (lows, highs) or a pair for each of the two columns; write a "
            f"table, bounds={{{table}}}, or two NumPy arrays, bounds=(np.array(lows), np.array(highs))"
        )
    try:
        sides = [np.asarray(side, dtype=np.float64) for side in listed(bounds) or ()]
    except (TypeError, ValueError):
        sides = []
    if len(sides) != 2 or any(side.shape not in ((), (len(names),)) for side in sides):
        arrays = f"two arrays (lows, highs) of {len(names)} numbers"
        forms = f"a mapping from names to declarations, a pair (low, high), or {arrays}"
        raise SpecError(f"bounds: expected {forms}, got another {type(bounds).__name__}; prefer the mapping")
    lows, highs = (np.broadcast_to(side, len(names)).tolist() for side in sides)
    return dict(zip(names, zip(lows, highs, strict=True), strict=True))


def _is_two_pairs(bounds: object) -> bool:
    pairs = bounds if isinstance(bounds, list | tuple) else ()
    return len(pairs) == 2 and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs)
