"""Bounded rows in fewer numbers: a category of many levels as one number, its level.

The sums over them are the same integers; what they cost does not grow with the number of levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeGuard

from discreet.curator.rows import GridRows
from discreet.curator.sums.gram import ExactGram
from discreet.curator.sums.level_gram import CodedCategory, Coding, LevelGram
from discreet.curator.sums.protocol import Sums
from discreet.design.columns import Categorical, Column
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.exact.arrays import FloatArray
from discreet.tables.encoder import write_scaled

# indicators of a category of fewer levels are cheap beside a sum by level of every other column
_CODED_FROM: Final = 9


class CodedRows(GridRows):
    """The same rows with the levels of large categories in place of their indicators, as a coding says.

    >>> import numpy as np
    >>> design = Design("y", {"y": (-1, 1), "g": [f"g{level}" for level in range(9)]})
    >>> domain = RowDomain.of(design, 8)
    >>> rows = CodedRows(design, domain, coding_of(design, domain), 4)
    >>> rows.encoded([np.array([0.0, 7.0]), np.array([0.5, -1.0])]).tolist()
    [[256.0, 256.0], [128.0, -256.0], [0.0, 7.0]]
    """

    def __init__(self, design: Design, domain: RowDomain, coding: Coding, chunk_rows: int) -> None:
        super().__init__(design, domain, chunk_rows, coding.width)
        names = list(self._columns)
        self._levels = [place for place, name in enumerate(names) if _is_coded(design.columns[name])]
        self._plain = [place for place in range(len(names)) if place not in self._levels]
        self._written = {names[place]: self._columns[names[place]] for place in self._plain}

    def _write(self, arrays: Sequence[FloatArray], block: FloatArray) -> None:
        levels = len(block) - len(self._levels)
        plain = [arrays[place] for place in self._plain]
        write_scaled(self._written, plain, block[1:levels], unit=float(self._domain.unit), integers=True)
        for place, row in zip(self._levels, block[levels:], strict=True):
            row[:] = arrays[place]  # [P:level-of-a-row]


def by_level(sums: Sums, design: Design, domain: RowDomain) -> Sums:
    """The sums of the same products over coded rows, where they are sums of products and rows can be coded.

    Parameters
    ----------
    sums
        Without rows.
    design, domain
        Of the rows that will be summed.

    Examples
    --------
    >>> design = Design("y", {"y": (-1, 1), "g": list(range(9))})
    >>> domain = RowDomain.of(design, 8)
    >>> type(by_level(ExactGram(10, 8), design, domain)).__name__
    'LevelGram'
    """
    coding = coding_of(design, domain) if isinstance(sums, ExactGram) else None
    return sums if coding is None else LevelGram(coding, domain.grid_bits)


def coding_of(design: Design, domain: RowDomain) -> Coding | None:
    """How rows are written with levels in place of indicators; none where no category is large or a ball shrinks rows.

    >>> design = Design("y", {"y": (-1, 1), "x": (0, 1), "g": list(range(9)), "h": ["u", "v"]})
    >>> coding = coding_of(design, RowDomain.of(design))
    >>> coding.plain, coding.categories[0].first
    ((0, 1, 10, 11), 2)
    """
    if domain.shrinks or design.searched or design.weights is not None:
        # what is summed of an indicator depends on the other cells of the row
        return None
    categories, plain, next_one = [], [0], 1
    for name in (*design.regressors, design.target):
        column = design.columns[name]
        first, next_one = next_one, next_one + len(column.released(name))
        if _is_coded(column):
            categories.append(CodedCategory(len(column.levels), first, column.indicator_codes))
        else:
            plain += range(first, next_one)
    return Coding(next_one, tuple(plain), tuple(categories)) if categories else None


def _is_coded(column: Column) -> TypeGuard[Categorical]:
    """Whether a column has so many levels that sums by level cost less than products of indicators."""
    return isinstance(column, Categorical) and len(column.levels) >= _CODED_FROM
