"""Tables with everything that a cell can be, made up, and the designs that they are released under."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa

import discreet

ROWS = 700
LEVELS = [f"level {index}" for index in range(12)]
FIRST = datetime.date(2001, 1, 1)


def odd_table() -> pa.Table:
    """Doubles with NaN, infinities and gaps, decimals, floats, integers, booleans, dates, times and text."""
    rng = np.random.default_rng(18)
    doubles = rng.normal(0, 2, ROWS).tolist()
    for at, cell in zip(
        range(0, ROWS, 7), [float("nan"), float("inf"), float("-inf"), None, 1e300] * ROWS, strict=False
    ):
        doubles[at] = cell
    days = rng.integers(0, 9_000, ROWS).tolist()
    gaps = rng.random(ROWS) < 0.1
    columns = {
        "y": pa.array(doubles, pa.float64()),
        "float": pa.array(rng.normal(0, 1, ROWS).astype(np.float32)),
        "decimal": pa.array(
            [Decimal(int(cell)).scaleb(-3) for cell in rng.integers(-9_999, 9_999, ROWS)], pa.decimal128(12, 3)
        ),
        "integer": pa.array(rng.integers(-(2**62), 2**62, ROWS)),
        "flag": pa.array(
            [None if gap else bool(flag) for gap, flag in zip(gaps, rng.integers(0, 2, ROWS), strict=True)]
        ),
        "day": pa.array([FIRST + datetime.timedelta(days=day) for day in days], pa.date32()),
        "time": pa.array(
            [
                None if gap else datetime.datetime(2001, 1, 1) + datetime.timedelta(hours=7 * day)
                for gap, day in zip(gaps, days, strict=True)
            ],
            pa.timestamp("us"),
        ),
        "group": pa.array([LEVELS[code] if code < len(LEVELS) else "unknown" for code in rng.integers(0, 13, ROWS)]),
        "code": pa.array(rng.integers(1, 5, ROWS).astype(np.int32)),
        "w": pa.array(rng.random(ROWS) * 3),
        "who": pa.array([f"p{index}" for index in rng.integers(0, ROWS // 4, ROWS)]),
        "name`.x": pa.array(rng.random(ROWS).round(1)),
    }
    return pa.table(columns)


COLUMNS = {
    "y": {"bounds": [-3, 3], "missing": "drop"},
    "float": {"bounds": [-2, 2]},
    "decimal": {"bounds": [-9, 9]},
    "integer": {"bounds": [-(2**61), 2**61]},
    "flag": {"dtype": "bool", "missing": {"fill": True}},
    "day": {"bounds": ["2001-01-01", "2020-01-01"]},
    "time": {"bounds": ["2001-01-01", "2006-01-01"], "missing": {"fill": "2003-01-01"}},
    "group": {"levels": LEVELS, "missing": "drop"},
    "code": {"levels": [1, 2, 3, 4]},
    "name`.x": {"bounds": [0, 1]},
}
PLAIN = {"y": {"bounds": [-3, 3], "missing": "drop"}, "float": {"bounds": [-2, 2]}, "name`.x": {"bounds": [0, 1]}}
PERSON = {"id": "who", "max_rows": 2}
SEEDED = {"seed": 5, "epsilon": 1.0, "delta": 1e-6}

DESIGN = discreet.Design("y", COLUMNS)
WEIGHTED = discreet.Design("y", {**PLAIN, "w": {"bounds": [0, 3]}}, weights="w")
PERSONS = discreet.Design("y", COLUMNS, unit=PERSON)
FEW = discreet.Design("y", PLAIN)
FEW_PERSONS = discreet.Design("y", PLAIN, unit=PERSON)
SEARCHED = discreet.Design("y", {**PLAIN, "float": "private"})
SEARCHING = {**SEEDED, "epsilon": 10.0}
SLOW = discreet.Design("y", {"y": (0, 1), "float": (0, 1), "other": (0, 1)})
