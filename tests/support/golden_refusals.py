"""A catalogue of bad inputs, tried through the public path."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet
from discreet import primitives
from discreet.planning import second_release, smallest_epsilon, smallest_rows
from discreet.testing.not_private import exact_release
from support import golden_cases
from support.golden_commands import HEADER, PEOPLE, TAKEN, TOML, commands, prepare, told

NAN, INF = float("nan"), float("inf")
LONG = "n" * 300
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
COLUMNS = {"y": (0, 10), "x": (-1, 1), "b": bool, "g": ["a", "b", "c"]}
DESIGN = discreet.Design("y", COLUMNS)
ROW = {"y": [1.0, 2.0], "x": [0.5, 0.25], "b": [True, False], "g": ["a", "c"]}
Case = tuple[str, Callable[[], Any]]

COLUMN_FAULTS: list[Any] = [
    (3, 2), (2, 2), (0, INF), (NAN, 1), (-1.7e308, 1.7e308), (1e12, 1e12 + 1), (0, 1e-260), (0, True), (0,), (), 7,
    None, "text", [1.5, 2.5, 3.5], ["a"], ["a", "a"], ["a", "b\x07"], float, np.float64,
    {"levels": [1, 2**53]}, {"levels": ["a", 1]}, {"levels": [True, False]}, {"levels": "ab"}, {"levels": []},
    {"levels": ["a", "b"], "reference": "c"}, {"levels": ["a", "b"], "reference": True},
    {"bounds": [0, 1], "reference": "a"}, {"bounds": [0, 1, 2]}, {"bounds": 3}, {"bounds": ["0", 1]},
    {"bounds": ["", ""]}, {"bounds": [0, ""]}, {}, {"bounds": [0, 1], "dtype": "bool"}, {"dtype": "float"},
    {"bounds": [0, 1], "missing": "ignore"}, {"bounds": [0, 1], "missing": {"fill": [1]}},
    {"bounds": [0, 1], "missing": {"fill": 2}}, {"bounds": [0, 1], "missing": {"fill": "x"}},
    {"bounds": [0, 1], "missing": {"fill": NAN}}, {"dtype": "bool", "missing": {"fill": 2}},
    {"levels": ["a", "b"], "missing": {"fill": "c"}}, {"bound": [0, 1]}, {"bounds": [0, 1], "missing": "x" * 200},
    {"bounds": [0, 1], "release": "no"}, {"levels": ["a", "b"], "release": False}, {"bounds": [0, 1], "release": False},
]  # fmt: skip
DESIGN_FAULTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("y", {"y": (0, 1)}), {}), (("z", COLUMNS), {}), (("y", {}), {}), ((None, COLUMNS), {}), (("", COLUMNS), {}),
    (("g", COLUMNS), {}), (("y", [("y", (0, 1))]), {}), (("y", {**COLUMNS, "": (0, 1)}), {}),
    (("y", {**COLUMNS, " x": (0, 1)}), {}), (("y", {**COLUMNS, 3: (0, 1)}), {}),
    (("y", {**COLUMNS, "a\u202eb": (0, 1)}), {}), (("y", {**COLUMNS, "1": (0, 1)}), {}),
    (("y", {**COLUMNS, "Intercept": (0, 1)}), {}), (("y", {**COLUMNS, "g[b]": (0, 1)}), {}),
    (("y", COLUMNS), {"weights": "w"}), (("y", COLUMNS), {"intercept": "yes"}), (("y", COLUMNS), {"radius": 0.0}),
    (("y", COLUMNS), {"radius": NAN}), (("y", COLUMNS), {"radius": "1"}), (("y", COLUMNS), {"radius": True}),
    (("y", COLUMNS), {"unit": {"neighbours": "swap"}}), (("y", COLUMNS), {"unit": {"neighbors": "replace"}}),
    (("y", COLUMNS), {"unit": {"max_rows": 3}}), (("y", COLUMNS), {"unit": {"id": "x"}}),
    (("y", COLUMNS), {"unit": {"id": ""}}), (("y", COLUMNS), {"unit": {"id": "p", "max_rows": 0}}),
    (("y", COLUMNS), {"unit": {"id": "p", "max_rows": 1.5}}),
    (("y", COLUMNS), {"unit": {"id": "p", "max_rows": 10_001}}),
    (("y", COLUMNS), {"unit": 3}),
    (("y", {**COLUMNS, "y": {"bounds": [0, 1], "release": False}, "z": {"formula": "y + x"}}), {}),
]  # fmt: skip
FORMULAS: list[Any] = [
    5, "", " ", "zz + 1", "b.real", "g + 1", "x ** 2 ** 2", "log(x)", "x * 0", "x / x", "x / (x - 1)", "sqrt(x)",
    "1 / b", "exec(x)", "lgo(x)", "x[0]", "{x}", "'x'", "x = 1", "x := 1", "lambda: 0", "lambda", "x if x else x",
    "True", "x; x", "x # more", "x % 2", "x ^ 2", "x & b", "x | b", "~x", "!x", "x // b", "x @ b", "x\0", "x + 😀",
    "x²", "x +", "(x", "x)", "x x", "log()", "log(x, 2)", "x *** 2", "x ** b", "x ** 1000", "x > 0 > 1", "cut(x)",
    "cut(x, 1, 0)", "cut(x, 0) + 1", "cut(x, 5)", "spline(x)", "spline(x, 0, 0)", "spline(x, 0, degree=9)",
    "spline(x, 5)", "spline(x, 0) + 1", "clip(x, 1, 0)", "min(x)", "1 + 2", "x + 1e400", "x > 5", "not x", "x and b",
    "`x", "exp(exp(exp(exp(x * 10))))", "(" * 200 + "x" + ")" * 200, "x" + " + x" * 400, "x" * 5000,
]  # fmt: skip
FORMULA_COLUMNS: list[dict[str, Any]] = [
    {"a": {"formula": "z + 1"}, "z": {"formula": "a + 1"}},
    {"z": {"formula": "x ** 2", "bounds": [0, 9]}}, {"z": {"formula": "x ** 2", "bounds": [30, 50]}},
    {"z": {"formula": "x > 0", "bounds": [0, 1]}}, {"z": {"formula": "x + 1", "reference": "a"}},
    {"z": {"formula": "cut(x, 0)", "reference": "a"}}, {"z": {"formula": "x + 1", "missing": "drop"}},
    {"z": {"formula": "x + 1", "bounds": [1]}}, {"h": {"bounds": [0, 1], "release": False}},
]  # fmt: skip


class Late:
    """Options that are made where they are used, as making them may be refused."""

    def __init__(self, kind: str, **given: Any) -> None:
        self._kind, self._given = kind, given

    def __repr__(self) -> str:
        return f"{self._kind}({', '.join(f'{name}={value!r}' for name, value in self._given.items())})"

    def made(self) -> Any:
        return getattr(discreet, self._kind)(**self._given)


def made_now(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value.made() if isinstance(value, Late) else value for name, value in given.items()}


REQUESTS: list[dict[str, Any]] = [
    {"epsilon": 0}, {"epsilon": -1.0}, {"epsilon": NAN}, {"epsilon": INF}, {"epsilon": "1"}, {"epsilon": True},
    {"epsilon": None}, {"epsilon": 21.0}, {"epsilon": 1e-12}, {"epsilon": 1e-12, "delta": 0.0}, {"delta": -1e-6},
    {"delta": NAN}, {"delta": 1.0}, {"delta": 2.0}, {"delta": "tiny"}, {"delta": 0.01}, {"mechanism": "laplce"},
    {"mechanism": []}, {"mechanism": "posterior"}, {"settings": "bins=4"}, {"settings": {"bins": 3}},
    {"grid_bits": 40}, {"grid_bits": 7}, {"grid_bits": 16.0}, {"grid_bits": True}, {"robust": "sturdy"},
    {"robust": Late("RobustErrors", residual_bound=-1.0)},
    {"robust": Late("RobustErrors", residual_bound="1")},
    {"robust": Late("RobustErrors", residual_bound=1e9)}, {"robust": Late("RobustErrors", residual_bound=True)},
    {"robust": True, "delta": 0.0}, {"robust": True, "mechanism": "laplace"},
    {"robust": Late("RobustErrors", models="y ~ 1")},
    {"robust": Late("RobustErrors", models=["y ~ q"])}, {"robust": Late("RobustErrors", models=["y ~ ."])},
    {"robust": Late("RobustErrors", models=["y ~ 1", "y ~ 1"])},
    {"robust": Late("RobustErrors", models=["y ~ 1"] * 11)},
    {"robust": Late("RobustErrors", models=[3])}, {"robust": Late("RobustErrors", models=["y ~ x - 1"])},
    {"reading": Late("ReadOptions", encoding="klingon")}, {"reading": Late("ReadOptions", encoding=3)},
    {"reading": Late("ReadOptions", delimiter="::")}, {"reading": Late("ReadOptions", delimiter="a")},
    {"reading": Late("ReadOptions", delimiter="ä")}, {"reading": Late("ReadOptions", encoding="utf-7")},
    {"reading": Late("ReadOptions", encoding="unicode_escape")}, {"reading": "utf-8"}, {"clip_counts": "yes"},
    {"clip_counts": True, "mechanism": "ssp"}, {"spend": lambda request: None},
]  # fmt: skip
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("gaussian", {"bins": 3}), ("laplace", {"x": 1}), ("wishart", {"degrees": 5}), ("wishart", {"degrees": 10.5}),
    ("wishart", {"degrees": 200_000}), ("wishart", {"debiased": 1}), ("wishart", {"fewest": "yes"}),
    ("wishart", {"degrees": 10, "fewest": True}), ("functional", {"target_square": "perhaps"}),
    ("ssp", {"target_squares": True}), ("adassp", {"eigenvalue_share": 0.0}), ("adassp", {"eigenvalue_share": NAN}),
    ("adassp", {"eigenvalue_share": "half"}), ("dpme", {"bins": 1}), ("dpme", {"bins": 2.5}),
    ("dpme", {"bins": 99_999}),
    ("dpme", {"bins": 4, "expected_rows": 50}), ("dpme", {"noise": "gausian"}), ("dpme", {"threshold": 0.1}),
    ("dpme", {"loss": 3}), ("frank-wolfe", {"iterations": 0}), ("frank-wolfe", {"iterations": 10**400}),
    ("frank-wolfe", {"radius_l1": -1}), ("frank-wolfe", {"residual_bound": INF}), ("irls", {"form": "scores"}),
    ("irls", {"power": 3}), ("irls", {"threshold": 0}), ("irls", {"iterations": -1}), ("irls", {"composition": "rdp"}),
    ("irls", {"average": 1}), ("irls", {"noise": "wishart"}), ("irls", {"noise": "laplace", "form": "moment"}),
    ("gradient", {"step": 1.5}), ("gradient", {"step": 2.0, "momentum": False}),
    ("gradient", {"clip": 5}), ("gradient", {"iterations": "many"}), ("output", {"strength": 0}),
    ("output", {"bound": 1e9}), ("objective", {"bound": 2.0}), ("objective", {"loss": "squared", "threshold": 0.2}),
    ("objective", {"strength": 1e-6}), ("objective", {"strength": 0.5}), ("objective", {"threshold": None}),
]  # fmt: skip
NO_DELTA = ("gaussian", "wishart", "ssp", "adassp", "gradient", "output", "objective")
MODELS: list[dict[str, Any]] = [
    {"target": "wgae"}, {"target": "nobody"}, {"target": "region"}, {"target": 3}, {"features": ["hour"]},
    {"features": ["region[south]"]}, {"features": [["hours"]]}, {"features": "hours"}, {"features": 7},
    {"features": ["hours", "hours"]}, {"features": ["wage"]}, {"features": [], "intercept": False},
    {"intercept": "yes"}, {"intercept": 1}, {"penalty": "rigde"}, {"penalty": 3}, {"penalty": "ridge"},
    {"penalty": "ridge", "strength": -1}, {"penalty": "ridge", "strength": NAN},
    {"penalty": "ridge", "strength": "much"},
    {"penalty": "ridge", "strength": True}, {"strength": 1.0}, {"strength": "criterion"}, {"l1_ratio": 0.5},
    {"penalty": "elastic-net", "strength": 1.0}, {"penalty": "elastic-net", "strength": 1.0, "l1_ratio": 1.5},
    {"penalty": "elastic-net", "strength": 1.0, "l1_ratio": "x"},
    {"penalty": "lasso", "strength": 1.0, "l1_ratio": 1.0},
    {"penalty": "adaptive", "strength": 1.0}, {"formula": "wage ~ hours", "target": "wage"},
]  # fmt: skip
MODEL_FORMULAS: list[Any] = [
    3, "", "wage", "wage ~ hours ~ member", "~ hours", "wage ~", "wage ~ hours member", "wage ~ hours +",
    "wage ~ log(hours)", "wage ~ hours*member", "wage ~ hours:member", "wage ~ huors", "wage ~ . - hours",
    "wag ~ hours",
    "region ~ hours", "wage ~ hours + hours", "wage ~ wage", "wage ~ __import__('os')", "wage ~ 2", "wage ~ hours - 0",
    "wage ~ `hours", "wage ~ hours[0]", "wage ~ hours ^ 2",
]  # fmt: skip
HYPOTHESES: list[Any] = [
    "hours", "hours = 1 = 2", "huors = 0", "hours = ", "hours 2 = 0", "hours * member = 0", "2 * = 0", "1 = 2",
    "hours = hours", {"huors": 0}, {}, {"hours": "old"}, {"hours": NAN}, [1, 2], np.zeros((0, 5)), None, [[1, 2], [3]],
    [0, INF, 0, 0, 0], "hours = 0, hours = 1", "", 5,
]  # fmt: skip
PLANS: list[dict[str, Any]] = [
    {"rows": 0}, {"rows": NAN}, {"rows": "many"}, {"rows": True}, {"rows": 1e15}, {"rsquared": 1.0}, {"rsquared": -0.1},
    {"rsquared": None}, {"spread": 0}, {"spread": 2.0}, {"target_spread": NAN}, {"level": 0}, {"level": 1.0},
    {"level": "high"}, {"epsilon": 0}, {"epsilon": 25.0}, {"delta": 1.0}, {"mechanism": "gausian"},
    {"robust": "sturdy"}, {"settings": {"bins": 3}}, {"mechanism": "laplace", "robust": True},
]  # fmt: skip
FRAMES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "number": lambda: 3.5,
    "list": lambda: [1.0],
    "generator": lambda: iter([1.0]),
    "mapping of other lengths": lambda: {**ROW, "x": [0.5]},
    "mapping of generators": lambda: {name: iter([1]) for name in ROW},
    "mapping of scalars": lambda: dict.fromkeys(ROW, 3.5),
    "mapping without a column": lambda: {name: ROW[name] for name in ("x", "y", "b")},
    "mapping of no rows": lambda: {name: [] for name in ROW},
    "mixed cells": lambda: {**ROW, "x": [0.1, "SECRET"]},
    "missing cell": lambda: {**ROW, "x": [0.1, None]},
    "infinite cell": lambda: {**ROW, "x": [0.1, INF]},
    "NaN cell": lambda: {**ROW, "x": [0.1, NAN]},
    "unknown level": lambda: {**ROW, "g": ["a", "SECRET"]},
    "missing level": lambda: {**ROW, "g": ["a", None]},
    "number in a boolean": lambda: {**ROW, "b": [True, 3]},
    "text in a boolean": lambda: {**ROW, "b": ["yes", "no"]},
    "complex": lambda: {**ROW, "x": np.array([1j, 2j])},
    "two dimensions": lambda: {**ROW, "x": np.zeros((2, 2))},
    "array of one dimension": lambda: np.full(5, 0.5),
    "array of other width": lambda: np.zeros((5, 3)),
    "array of complex": lambda: np.zeros((5, 4), complex),
    "structured without a column": lambda: np.zeros(3, [("x", "f8")]),
    "arrow struct": lambda: pa.table({**ROW, "x": pa.array([{"a": 1}, {"a": 2}])}),
    "arrow binary": lambda: pa.table({**ROW, "x": pa.array([b"SECRET", b""])}),
    "arrow dates": lambda: pa.table({**ROW, "x": pa.array([1, 2], pa.timestamp("s"))}),
    "arrow durations": lambda: pa.table({**ROW, "x": pa.array([1, 2], pa.duration("s"))}),
    "arrow lists": lambda: pa.table({**ROW, "x": pa.array([[1.0], [2.0]])}),
    "arrow numbers as levels": lambda: pa.table({**ROW, "g": pa.array([1.5, 2.5])}),
    "arrow name twice": lambda: pa.Table.from_arrays([pa.array([1.0])] * 5, names=[*ROW, "x"]),
    "names alike": lambda: {**ROW, "X": [1, 2]},
    "a chunked array": lambda: pa.chunked_array([["SECRET"]]),
}
CSV: dict[str, str | bytes] = {
    "empty": "",
    "only blank lines": "\n\r\n\n",
    "only a byte order mark": b"\xef\xbb\xbf",
    "header only": HEADER,
    "short row": HEADER + "1,20,south\n1,20\n",
    "long row": HEADER + "1,20,south,x\n",
    "blanks alone on a line": HEADER + "   \n",
    "comment line": HEADER + "# SECRET\n1,20,south\n",
    "comment line before the header": "# SECRET\n" + HEADER,
    "decimal comma": HEADER + "1,5,20,south\n",
    "unclosed quote": HEADER + '1,20,"south\n1,20,north\n',
    "quote inside a cell": HEADER + '1,20,so"uth\n',
    "text behind a closing quote": HEADER + '1,20,"so"uth\n',
    "line end inside quotes": HEADER + '1,20,"so\nuth"\n',
    "quote in the header": 'income,a"ge,region\n',
    "NUL byte": HEADER + "1,20,so\0uth\n",
    "not UTF-8": HEADER.encode() + b"1,20,s\xe9\n",
    "UTF-16": (HEADER + "1,20,south\n").encode("utf-16"),
    "UTF-32": (HEADER + "1,20,south\n").encode("utf-32"),
    "no header": "1,20,south\n2,30,north\n",
    "name missing": "income,age\n1,20\n",
    "name twice": "income,age,region,age\n",
    "name twice up to case": "income,age,region,AGE\n",
    "name with a blank": "income, age,region\n",
    "other delimiter": "income;age;region\n1;20;south\n",
    "a line that does not end": HEADER + "x" * 1_200_000,
    "a name that is too long": "a" * 140_000 + "," + HEADER,
    "text in a number": HEADER + "SECRET,20,south\n",
    "blank beside a number": HEADER + " 1,20,south\n",
    "thousands": HEADER + '"1,000",20,south\n',
    "NaN": HEADER + "nan,20,south\n",
    "infinity": HEADER + "inf,20,south\n",
    "empty cell": HEADER + ",20,south\n",
    "unknown level": HEADER + "1,20,SECRET\n",
    "empty level": HEADER + "1,20,\n",
}
FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "empty parquet": ("t.parquet", lambda: b""),
    "csv named parquet": ("t.parquet", lambda: PEOPLE.encode()),
    "csv named arrow": ("t.arrow", lambda: PEOPLE.encode()),
    "parquet named csv": ("t.csv", lambda: parquet()),
    "gzip named csv": ("t.csv", lambda: b"\x1f\x8b\x08\0"),
    "old feather": ("t.feather", lambda: b"FEA1....FEA1"),
    "cut parquet": ("t.parquet", lambda: parquet()[:-10]),
    "encrypted parquet": ("t.parquet", lambda: b"PARE" + bytes(20) + b"PARE"),
    "parquet of marks only": ("t.parquet", lambda: b"PAR1" + bytes(50) + b"PAR1"),
    "arrow of marks only": ("t.arrow", lambda: b"ARROW1\0\0" + bytes(50) + b"ARROW1"),
    "parquet without a column": ("t.parquet", lambda: parquet("age")),
    "text": ("t.txt", lambda: PEOPLE.encode()),
    "no ending": ("t", lambda: PEOPLE.encode()),
    "compressed": ("t.csv.gz", lambda: PEOPLE.encode()),
    "spreadsheet": ("t.xlsx", lambda: b"PK"),
}
PATHS = ["nowhere.csv", "", "a\0b.csv", "https://example.org/t.csv", "s3://bucket/t.parquet", "file:///t.csv", "*.none",
         LONG + ".csv", "/dev/null", ".", "empty folder"]  # fmt: skip
DESIGN_FILES: dict[str, bytes] = {
    "not TOML": b"target = = 3",
    "not text": b"\xff\xfe\x00",
    "unknown key": b'traget = "x"\n' + TOML.encode(),
    "no target": b"[columns]\ny = {bounds = [0, 1]}\n",
    "no columns": b'target = "y"\n',
    "key twice": b'target = "y"\ntarget = "x"\n',
    "infinite bound": b'target = "y"\n[columns]\ny = {bounds = [0, inf]}\nx = {dtype = "bool"}\n',
    "weights": b'weights = "w"\n' + TOML.encode(),
}
DELETE = object()
RELEASE_FIELDS: dict[str, dict[str, Any]] = {
    "format": {"format": "other"},
    "schema": {"schema": 99},
    "schema text": {"schema": "1"},
    "kind": {"kind": "rows"},
    "no design": {"design": DELETE},
    "bad design": {"design.target": "nobody"},
    "bad column": {"columns": ["1", "x"]},
    "no totals": {"totals": DELETE},
    "short totals": {"totals": ["1"]},
    "totals of doubles": {"totals": [1.5] * 15},
    "family": {"noise.family": "cauchy"},
    "calibration": {"noise.calibration": "guess"},
    "grid": {"noise.grid_bits": 99},
    "block missing": {"noise.sigma.cross": DELETE},
    "no noise": {"noise.sigma.cross": "0"},
    "negative noise": {"noise.sigma.count": "-1"},
    "mechanism": {"mechanism.name": ""},
    "count without noise": {"noise.sigma.count": "0"},
    "public where hidden": {"units_public": "2"},
    "private without an account": {"noise.calibration": "none"},
    "no delta over Gaussian noise": {"guarantee.delta": 0.0},
    "epsilon": {"guarantee.epsilon": -1.0},
    "scalar called like a block": {"scalars": {"count": "5"}},
    "anchor": {"anchor": 3},
    "made by": {"made_by": None},
}
PRIMITIVES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("laplace", ([1.0], []), {"epsilon": 1.0}),
    ("laplace", ([1.0], [[1.0]]), {"epsilon": -1.0}),
    ("laplace", ([1.0], [[1.0]]), {}),
    ("laplace", ([NAN], [[1.0]]), {"epsilon": 1.0}),
    ("discrete_laplace", ([1.5], 1, 1.0), {}),
    ("discrete_laplace", ([1], 0, 1.0), {}),
    ("discrete_laplace", ([1], 1, 30.0), {}),
    ("gaussian", ([1.0], 1.0, 1.0, 0.0), {}),
    ("gaussian", ([1.0], 1.0, 1.0, 1e-6), {"calibration": "guess"}),
    ("gaussian", ([1.0], 1.0, 2.0, 1e-6), {"calibration": "classical"}),
    ("counting_queries", ([-1], 1.0), {}),
    ("counting_queries", ([1.5], 1.0), {}),
    ("private_mean", ([0.5], (1, 0), 1.0), {}),
    ("private_mean", ([[0.5]], (0, 1), 1.0), {}),
    ("private_mean", ([0.5], (0, 1), 1.0), {"method": "guess"}),
    ("randomised_response", ([2],), {"epsilon": 1.0}),
    ("randomised_response", ([],), {"epsilon": 1.0}),
    ("randomised_response", ([True],), {}),
    ("report_noisy_max", ([], 1.0, 1.0), {}),
    ("report_noisy_max", ([1.0], 1.0, 1.0), {"neighbours": "swap"}),
    ("exponential_mechanism", (["a"], [1.0, 2.0], 1.0, 1.0), {}),
    ("exponential_mechanism", (["a"], [1.0], -1.0, 1.0), {}),
]


def parquet(*without: str) -> bytes:
    """Two rows as a Parquet file."""
    columns = {"income": [1.0, 2.0], "age": [20.0, 30.0], "region": ["north", "south"]}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({name: values for name, values in columns.items() if name not in without}), sink)
    return sink.getvalue().to_pybytes()


def edited(made: discreet.Release, changes: dict[str, Any]) -> str:
    """The text of a release file with fields changed and a digest that fits them."""
    from discreet.releases.fields import digest_of

    body = json.loads(made.to_json())
    del body["digest"]
    for path, value in changes.items():
        *folders, last = path.split(".")
        inner = body
        for folder in folders:
            inner = inner[folder]
        if value is DELETE:
            del inner[last]
        else:
            inner[last] = value
    return json.dumps({**body, "digest": digest_of(body)})


def cases() -> Iterator[Case]:
    """Every bad input with a name of its own."""
    good, poor = golden_cases.released(rows=400), golden_cases.released("persons", rows=60, epsilon=0.05)
    inside = golden_cases.released(variant="output", rows=400)
    for what in COLUMN_FAULTS:
        yield f"column {what!r}", lambda what=what: discreet.Design("y", {**COLUMNS, "w": what})
    for given, more in DESIGN_FAULTS:
        yield f"design {given!r} {more!r}", lambda given=given, more=more: discreet.Design(*given, **more)
    for text in FORMULAS:
        columns = {**COLUMNS, "z": {"formula": text}}
        yield f"formula {text!r}", lambda columns=columns: discreet.Design("y", columns)
    for more in FORMULA_COLUMNS:
        yield f"formula in {more!r}", lambda more=more: discreet.Design("y", {**COLUMNS, **more})
    for name, content in DESIGN_FILES.items():
        yield f"design file: {name}", lambda content=content: discreet.Design.load(written("d.toml", content))
    yield "design file: none", lambda: discreet.Design.load("none.toml")
    for request in REQUESTS:
        shown = {name: "no receipt" if name == "spend" else value for name, value in request.items()}
        yield f"release {shown!r}", lambda request=request: release(ROW, **{**BUDGET, **made_now(request)})
    for name, settings in SETTINGS:
        more = {"mechanism": name, "settings": settings}
        yield f"settings of {name} {settings!r}"[:100], lambda more=more: release(ROW, **BUDGET, **more)
    for name in NO_DELTA:
        yield f"{name} without delta", lambda name=name: release(ROW, epsilon=1.0, mechanism=name)
    yield "no design", lambda: discreet.release(ROW, {"target": "y"}, **BUDGET)
    for name, make in FRAMES.items():
        yield f"table: {name}", lambda make=make: release(make(), **BUDGET)
    for name, content in CSV.items():
        yield f"csv: {name}", lambda content=content: people(written("t.csv", content))
    for name, (path, make) in FILES.items():
        yield f"file: {name}", lambda path=path, make=make: people(written(path, make()))
    for path in PATHS:
        yield f"path {path!r}", lambda path=path: people(path)
    for model in MODELS:
        yield f"fit {model!r}", lambda model=model: discreet.fit(good, **model)
    for text in MODEL_FORMULAS:
        yield f"fit formula {text!r}", lambda text=text: discreet.fit(good, text)
    for claim in HYPOTHESES:
        yield f"hypothesis {claim!r}", lambda claim=claim: discreet.fit(good).f_test(claim)
    yield from of_the_analyst(good, poor, inside)
    for options in PLANS:
        call = {"rows": 1000, **BUDGET, **options}
        yield f"plan {options!r}", lambda call=call: discreet.plan(DESIGN, **call)
    for name, changes in RELEASE_FIELDS.items():
        yield f"release file: {name}", lambda changes=changes: discreet.Release.from_json(edited(good, changes))
    for name, given, more in PRIMITIVES:
        call = partial(getattr(primitives, name), *given, **more)
        yield f"primitives.{name} {given!r} {more!r}", call
    for words in commands():
        yield f"discreet {' '.join(words)}", lambda words=words: told(words)


def of_the_analyst(good: discreet.Release, poor: discreet.Release, inside: discreet.Release) -> Iterator[Case]:
    """What a fit, a path, a prediction or a plan for a second release refuses."""
    yield "fit of a path", lambda: discreet.fit("release.json")
    yield "fit where noise outweighs signal", lambda: discreet.fit(poor)
    yield (
        "ridge where noise outweighs signal",
        lambda: discreet.fit(poor, penalty="ridge", strength=0.1).f_test("hours = 0"),
    )
    yield "other model of coefficients", lambda: discreet.fit(inside, features=["hours"])
    yield "penalty of coefficients", lambda: discreet.fit(inside, penalty="ridge", strength=1.0)
    yield "path of coefficients", lambda: discreet.path(inside)
    yield "path without penalty", lambda: discreet.path(good, penalty="none")
    yield "path of elastic net without ratio", lambda: discreet.path(good, penalty="elastic-net")
    yield "moments of coefficients", lambda: inside.moments
    yield "robust without its part", lambda: discreet.fit(good).robust()
    for level in (0, 1, NAN, "high", True):
        yield f"level {level!r}", lambda level=level: discreet.fit(good).conf_int(level)
    yield "simultaneous", lambda: discreet.fit(good).conf_int(simultaneous="scheffe")
    for name, frame in {
        "no column": {"hours": [1.0]},
        "unknown level": {"hours": [1.0], "region": ["SECRET"], "member": [True]},
        "missing": {"hours": [None], "region": ["north"], "member": [True]},
        "array": np.zeros((2, 9)),
        "number": 3,
    }.items():
        yield f"predict: {name}", lambda frame=frame: discreet.fit(good).predict(frame)
    yield "second release of none", lambda: second_release(exact_release(ROW, DESIGN), **BUDGET)
    yield "second release of coefficients", lambda: second_release(inside, **BUDGET)
    yield "second release by output", lambda: second_release(good, **BUDGET, mechanism="output")
    yield "smallest epsilon, width", lambda: smallest_epsilon(DESIGN, "x", -1.0, rows=1000, delta=1e-6)
    yield "smallest rows, name", lambda: smallest_rows(DESIGN, "zz", 1.0, **BUDGET)
    yield "smallest rows by ssp", lambda: smallest_rows(DESIGN, "x", 1.0, **BUDGET, mechanism="ssp")
    yield "save without the marks", lambda: exact_release(ROW, DESIGN).save("r.json")
    yield "save over a file", lambda: good.save(written("there.json", b"precious"))
    yield "save into no folder", lambda: good.save("none/r.json")
    yield "save under a long name", lambda: good.save(LONG)
    yield "load nothing", lambda: discreet.Release.load("none.json")
    for name, content in {"cut": good.to_json().encode()[:300], "binary": b"\x80\x04", "list": b"[]", "empty": b"",
                          "NaN": b'{"format": "discreet-release", "x": NaN}', "deep": b"[" * 100_000,
                          "tampered": good.to_json().replace('"private": true', '"private": false').encode(),
                          }.items():  # fmt: skip
        yield f"load: {name}", lambda content=content: discreet.Release.load(written("r.json", content))


def written(name: str, content: str | bytes) -> str:
    """The name of a file that was just made with that content."""
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def release(data: object, **options: Any) -> discreet.Release:
    return discreet.release(data, DESIGN, **options)


def people(path: str) -> discreet.Release:
    return discreet.release(path, discreet.Design.from_toml(TOML), **BUDGET)


def messages(folder: Path) -> str:
    """What is said of every bad input, one line for the input and one for the answer."""
    prepare(folder)
    lines, seen = [], set()
    with chdir(folder):
        for name, call in cases():
            label = name.encode("unicode_escape").decode()
            label = label if len(label) <= 160 else f"{label[:150]}... ({len(label)} characters)"
            while label in seen:
                label += " again"
            seen.add(label)
            answer, notices = golden_cases.outcome(call)
            text = answer if isinstance(answer, str) else TAKEN
            lines += [f"## {label}", text, *(f"notice: {notice}" for notice in notices), ""]
        assert not os.path.exists("out.json")
    return "\n".join(lines)
