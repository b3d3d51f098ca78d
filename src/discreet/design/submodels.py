"""Models that are declared before a release, as released columns: their names, and the domain of their rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from discreet.design.columns import Boolean, Numeric
from discreet.design.domain import RowDomain, kind_of
from discreet.design.model import Design
from discreet.privacy.checks import is_integer

# a name that a formula takes without back quotes
_PLAIN: Final = re.compile(r"[^\W\d]\w*(\[[^\[\]`]*\])?")


def full_columns(design: Design) -> tuple[int, ...]:
    """Columns of the full model of a design.

    >>> full_columns(Design("y", {"y": (0, 1), "x": (0, 1), "b": bool}))
    (1, 2, 3)
    """
    return tuple(range(1, len(design.released)))


def model_names(design: Design, columns: Sequence[int]) -> tuple[str, tuple[str, ...]]:
    """Target and features of a model by name; a category with all its indicators has its declared name.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "g": ["a", "b", "c"]})
    >>> model_names(design, (1, 2, 3, 4)), model_names(design, (3, 1))
    (('y', ('x', 'g')), ('x', ('g[c]',)))
    """
    *features, target = columns
    names: list[str] = []
    for name, span in _spans(design).items():
        inside = [at for at in span if at in features]
        names += [name] if len(inside) == len(span) else [design.released[at] for at in inside]
    return design.released[target], tuple(names)


def model_text(design: Design, columns: Sequence[int]) -> str:
    """A model as a formula.

    >>> model_text(Design("y", {"y": (0, 1), "x": (0, 1), "net pay": (0, 1)}), (1, 2, 3))
    'y ~ x + `net pay`'
    """
    target, features = model_names(design, columns)
    return f"{formula_name(target)} ~ {' + '.join(map(formula_name, features)) or '1'}"


def formula_name(name: str) -> str:
    """Give a declared name, or that of an indicator, as a formula has it: in back quotes where it is no plain word.

    >>> formula_name("age"), formula_name("region[south]"), formula_name("years of school")
    ('age', 'region[south]', '`years of school`')
    """
    return name if _PLAIN.fullmatch(name) else f"`{name}`"


def is_model(design: Design, columns: Sequence[object]) -> bool:
    """Whether these are the columns of a model that can be declared beside the full one, read from a file or not.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "g": ["a", "b", "c"]})
    >>> [is_model(design, columns) for columns in [(1, 4), (4,), (1, 2, 3, 4), (2, 1, 4), (1, 3), (1, 1), ("y",), ()]]
    [True, True, False, False, False, False, False, False]
    """
    whole = [column for column in columns if is_integer(column)]
    if not whole or len(whole) < len(columns):
        return False
    *features, target = whole
    spans = {span[0]: design.columns[name] for name, span in _spans(design).items()}
    known = isinstance(spans.get(target), Numeric | Boolean) and set(features) <= set(range(1, len(design.released)))
    ordered = features == sorted(set(features)) and target not in features
    if not known or not ordered or tuple(whole) == full_columns(design):
        return False
    # of blocks that are no categories there is the whole or nothing
    return set(model_names(design, whole)[1]) <= set(design.parts)


def model_domain(design: Design, domain: RowDomain, columns: Sequence[int]) -> RowDomain:
    """The domain of the rows of one model: its features as x, its target as y.

    A part of a block counts as the whole block. The declared ball is one for all regressors of the design together, so
    any of them are inside it; where the target of the design is a feature, the box alone counts.

    Parameters
    ----------
    design
        What was declared.
    domain
        That of the design, with its grid and the bits of its weights.
    columns
        Those of the model.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "b": bool, "g": ["a", "b", "c"]})
    >>> model_domain(design, RowDomain.of(design), (1, 4, 5)).norm2_bound == 2 * 2**32
    True
    """
    *features, target = columns
    used = [name for name, span in _spans(design).items() if not set(features).isdisjoint(span)]
    kinds = Counter(kind_of(design.columns[name]) for name in used)  # [P:model-domain]
    return replace(
        domain,
        numeric=kinds["numeric"],
        boolean=kinds["boolean"],
        blocks=kinds["block"],
        signed_blocks=kinds["signed block"],
        radius=None if design.target in used else domain.radius,  # [P:model-ball]
        target_nonnegative=isinstance(design.columns[design.released[target]], Boolean),
    )


def _spans(design: Design) -> Mapping[str, range]:
    """Positions of the released columns of every regressor, and of the target last."""
    found, next_one = {}, 1
    for name in (*design.regressors, design.target):
        first, next_one = next_one, next_one + len(design.columns[name].released(name))
        found[name] = range(first, next_one)
    return found
