"""Cells that somebody may put into a column of numbers: of every type, and objects that do harm when they are asked."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd

MARK = "SECRETCELL"


class Evil:
    """Fails, and quotes a cell, whatever it is asked for."""

    def _fail(self, *_arguments: object) -> object:
        raise RuntimeError(MARK)

    __float__ = __int__ = __index__ = __complex__ = __array__ = __len__ = __iter__ = __getitem__ = _fail
    __eq__ = __hash__ = __bool__ = __str__ = __repr__ = __format__ = _fail
    __class__ = property(_fail)


class EvilFloat(float):
    def __float__(self) -> float:
        raise RuntimeError(MARK)


class QuittingFloat(float):
    """Would end the program."""

    def __float__(self) -> float:
        raise SystemExit(MARK)


class ClosingInt(int):
    def __float__(self) -> float:
        raise GeneratorExit(MARK)

    __int__ = __index__ = __float__


class OwnEnd(BaseException):
    """What no handler of errors expects."""


class EndingFloat(float):
    def __float__(self) -> float:
        raise OwnEnd(MARK)


class EvilText(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError(MARK)

    def encode(self, *_arguments: object) -> bytes:
        raise RuntimeError(MARK)


class EvilList(list):
    def __len__(self) -> int:
        raise RuntimeError(MARK)

    def __iter__(self):
        raise RuntimeError(MARK)


ODD_CELLS: dict[str, object] = {
    "text": MARK,
    "text of a number": "5",
    "empty text": "",
    "broken text": "\ud800",
    "NumPy text": np.str_(MARK),
    "a text of somebody's own": EvilText("0.5"),
    "bytes": b"5",
    "NumPy bytes": np.bytes_(b"5"),
    "None": None,
    "pd.NA": pd.NA,
    "pd.NaT": pd.NaT,
    "NaN": float("nan"),
    "float32 NaN": np.float32("nan"),
    "infinity": float("-inf"),
    "True": True,
    "NumPy true": np.True_,
    "integer": 1,
    "small integer": np.int8(1),
    "float16": np.float16(0.1),
    "float32": np.float32(0.1),
    "longdouble": np.longdouble("0.1"),
    "huge longdouble": np.longdouble("1e400"),
    "beyond 2**63": 2**63 + 1,
    "huge integer": 10**400,
    "longest double": 1.7e308,
    "Decimal": Decimal("0.1"),
    "huge Decimal": Decimal("1e400"),
    "signalling Decimal": Decimal("sNaN"),
    "Fraction": Fraction(1, 3),
    "huge Fraction": Fraction(10**400, 3),
    "complex": 1 + 2j,
    "NumPy complex": np.complex64(0.5),
    "list of a number": [1],
    "list of numbers": [0.25, 0.5],
    "list of text": [MARK],
    "list of a list": [[1]],
    "empty list": [],
    "tuple": (1, 2),
    "array": np.array([0.25, 0.5]),
    "array without dimensions": np.array(0.5),
    "masked": np.ma.masked,
    "dict": {},
    "dict of text": {"foo": MARK},
    "set": frozenset(),
    "date": datetime.date(2020, 1, 1),
    "datetime": datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
    "timedelta": datetime.timedelta(1),
    "NumPy date": np.datetime64("2020-01-01"),
    "NumPy duration": np.timedelta64(1, "s"),
    "pandas date": pd.Timestamp("2020-01-01"),
    "void": np.void(b"5"),
    "object": object(),
    "evil object": Evil(),
    "evil float": EvilFloat(0.5),
    "evil list": EvilList([0.5]),
    "quitting float": QuittingFloat(0.5),
    "closing integer": ClosingInt(1),
    "ending float": EndingFloat(0.5),
}
