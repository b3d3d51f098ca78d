"""Linear hypotheses about coefficients, from text, names or weights."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray

HypothesisSpec: TypeAlias = str | Mapping[str, float] | Sequence[float] | Sequence[Sequence[float]] | FloatArray

_NUMBER: Final = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_HELP: Final = "write it like 'age = 0', 'age = height' or '2*age + height = 1, region[south] = 0'"


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Claims weights'coefficients = values, m of them about k coefficients.

    A label for each as it is shown, weights of shape (m, k) and values of shape (m,).
    """

    labels: tuple[str, ...]
    weights: FloatArray
    values: FloatArray


def hypotheses(spec: object, names: Sequence[str]) -> Hypotheses:
    """Read hypotheses about the named coefficients.

    Parameters
    ----------
    spec
        Text with one equation or several parted by commas; a mapping of names to the values they are held against; or
        one row of weights, or several, whose combinations are held against 0.
    names
        Of the coefficients.

    Examples
    --------
    >>> hypotheses("age = 2*height + 1", ["Intercept", "age", "height"]).weights
    array([[ 0.,  1., -2.]])
    """
    if isinstance(spec, str):
        made = _from_text(spec, names)
    elif isinstance(spec, Mapping):
        made = _from_mapping(spec, names)
    else:
        made = _from_weights(spec, names)
    if not (np.isfinite(made.weights).all() and np.isfinite(made.values).all()):
        raise SpecError("a hypothesis holds a number that is not finite; use finite weights and values")
    if not made.weights.any(axis=1).all():
        raise SpecError(f"a hypothesis names no coefficient; {_HELP}")
    return made


def _from_mapping(spec: Mapping[str, float], names: Sequence[str]) -> Hypotheses:
    for name in spec:
        if name not in names:
            raise SpecError.unknown_name("coefficient", name, names)
    if not spec:
        raise SpecError("got no hypothesis; name a coefficient and the value it is tested against, as in {'age': 0}")
    weights = np.array([[float(name == other) for other in names] for name in spec])
    values = _numbers(list(spec.values()))
    if values.ndim != 1:
        raise SpecError(f"the hypothesis {shown(dict(spec))} is not understood; {_HELP}")
    labels = [f"{name} = {value:g}" for name, value in zip(spec, values, strict=True)]
    return Hypotheses(tuple(labels), weights, values)


def _from_weights(spec: object, names: Sequence[str]) -> Hypotheses:
    weights = np.atleast_2d(_numbers(spec))
    if weights.ndim != 2 or weights.shape[1] != len(names) or len(weights) == 0:
        raise SpecError(
            f"got weights of shape {np.shape(weights)}; each row needs one weight for each of: {', '.join(names)}"
        )
    labels = [_label(row, names) for row in weights.tolist()]
    return Hypotheses(tuple(labels), weights, np.zeros(len(weights)))


def _numbers(spec: object) -> FloatArray:
    try:
        return np.array(spec, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise SpecError(f"the hypothesis {shown(spec)} is not understood; {_HELP}") from None


def _label(row: Sequence[float], names: Sequence[str]) -> str:
    parts = [(weight, name) for weight, name in zip(row, names, strict=True) if weight]
    shown = [("" if weight == 1 else "-" if weight == -1 else f"{weight:g}*") + name for weight, name in parts]
    return " + ".join(shown).replace("+ -", "- ") + " = 0"


def _from_text(text: str, names: Sequence[str]) -> Hypotheses:
    tokens = _tokens(text, names)
    claims: list[list[str | float | _Name]] = [[]]
    for token in tokens:
        if token == ",":
            claims.append([])
        else:
            claims[-1].append(token)
    weights, values, labels = [], [], []
    for claim in claims:
        if claim.count("=") != 1:
            raise SpecError(f"{shown(text)} needs one '=' in each hypothesis; {_HELP}")
        middle = claim.index("=")
        left, right = _side(claim[:middle], text, names), _side(claim[middle + 1 :], text, names)
        weights.append(left[0] - right[0])
        values.append(right[1] - left[1])
        labels.append(" ".join(f"{token:g}" if isinstance(token, float) else str(token) for token in claim))
    return Hypotheses(tuple(labels), np.array(weights), np.array(values))


@dataclass(frozen=True, slots=True)
class _Name:
    name: str

    def __str__(self) -> str:
        return self.name


def _tokens(text: str, names: Sequence[str]) -> list[str | float | _Name]:
    # a level may hold any character, so known names are looked for first, the longest of them before its beginnings
    known = sorted(names, key=len, reverse=True)
    out: list[str | float | _Name] = []
    index = 0
    while index < len(text):
        rest = text[index:]
        name = next((name for name in known if rest.startswith(name)), None)
        number = _NUMBER.match(rest)
        if rest[0].isspace():
            index += 1
        elif name is not None:
            out.append(_Name(name))
            index += len(name)
        elif number is not None:
            out.append(float(number.group()))
            index += number.end()
        elif rest[0] in "+-*=,":
            out.append(rest[0])
            index += 1
        else:
            raise SpecError.unknown_name("coefficient", rest.split()[0], names)
    return out


def _side(tokens: Sequence[str | float | _Name], text: str, names: Sequence[str]) -> tuple[FloatArray, float]:
    """Weights and constant of one side of an equation: signed terms `number`, `name` or `number*name`."""
    weights, constant = np.zeros(len(names)), 0.0
    rest = list(tokens)
    first = True
    while rest or first:
        sign = 1.0
        if rest and rest[0] in ("+", "-"):
            sign = -1.0 if rest.pop(0) == "-" else 1.0
        elif not first:
            break
        first = False
        match rest:
            case [float(factor), "*", _Name(name), *rest]:
                weights[names.index(name)] += sign * factor
            case [_Name(name), "*", float(factor), *rest]:
                weights[names.index(name)] += sign * factor
            case [_Name(name), *rest]:
                weights[names.index(name)] += sign
            case [float(number), *rest]:
                constant += sign * number
            case _:
                break
    else:
        return weights, constant
    raise SpecError(f"{shown(text)} is not understood; {_HELP}")
