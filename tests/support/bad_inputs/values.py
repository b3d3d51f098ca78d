"""Numbers 35 to 54: cells, levels, persons and weights."""

from __future__ import annotations

import datetime as dt
from typing import Final

import numpy as np
import pyarrow as pa

from support.bad_inputs.case import PEOPLE, TABLE, Case, csv, designed, frame_of, parquet, python, twin
from support.bad_inputs.files import LENIENT
from support.cli_folder import DESIGN, HEADER, ROWS, SECRET

SIZE: Final = len(TABLE["age"])
FEW: Final = "income,age,region,who\n" + "".join(f"{i},{20 + i},north,{SECRET}{i % 3}\n" for i in range(9))
PERSONS: Final = DESIGN + '[unit]\nid = "who"\nmax_rows = 2\n'
WIDE: Final = DESIGN + "".join(f"[columns.x{i}]\nbounds = [0, 1]\n" for i in range(9))


def income(text: str) -> str:
    return PEOPLE + f"{text},44,south,{SECRET}\n"


def column(values: object, kind: pa.DataType) -> pa.Array:
    return pa.array(values, kind)


DATED: Final = DESIGN.replace("bounds = [18, 90]", "bounds = [2019-01-01, 2024-12-31]")
CODED: Final = DESIGN.replace("1000000]", "1000000]\nmissing_codes = [-9]", 1)
CROSSED: Final = DESIGN + '[columns.ar]\nformula = "age:region"\n'
AGES: Final = [int(age) for age in TABLE["age"]]
CASES: Final = [
    *(Case(35, f"{text} in a used column", csv(income(text)), 2, "'income'") for text in ("nan", "NaN", "-nan")),
    Case(35, "NaN where the rule drops", csv(income("nan"), design=LENIENT), 0, "Published", twin(design=LENIENT)),
    Case(
        35,
        "NaN where the rule fills",
        csv(income("nan"), design=DESIGN.replace("1000000]", "1000000]\nmissing = {fill = 5}", 1)),
        0,
        "Published",
        twin(income("5")),
    ),
    Case(35, "a code where the rule is error", csv(income("-9"), design=CODED), 2, "'income'"),
    Case(
        35,
        "a code where the rule fills",
        csv(income("-9"), design=CODED.replace("[-9]", "[-9]\nmissing = {fill = 5}")),
        0,
        "Published",
        twin(income("5")),
    ),
    *(
        Case(38, f"{text} in a column of dates", csv(HEADER + f"1,{text},south,x\n", design=DATED), 2, "not a date")
        for text in (SECRET, "2020-02-30", "1.3.2020", "2020-01-01T00:00Z")
    ),
    Case(
        38,
        "times with a zone in Parquet",
        parquet(age=column([dt.datetime(2020, 1, 1)] * SIZE, pa.timestamp("us", tz="UTC")), design=DATED),
        2,
        "must contain dates, as declared",
    ),
    Case(38, "numbers in a column of dates", parquet(design=DATED), 2, "must contain dates, as declared"),
    Case(
        41,
        "interaction of two numbers",
        designed(CROSSED.replace("age:region", "age:income")),
        2,
        "write the product of two numbers with *",
    ),
    Case(
        41, "interaction of nothing", designed(CROSSED.replace("age:region", "age:reigon")), 2, "Did you mean 'region'"
    ),
    Case(
        41, "level that is not declared", designed(CROSSED.replace("age:region", "region == 'x'")), 2, "allowed: north"
    ),
    Case(41, "month of a number", designed(CROSSED.replace("age:region", "month(age)")), 2, "unknown column of dates"),
    Case(
        41,
        "interaction with a number for dpme",
        csv(PEOPLE, "--mechanism", "dpme", design=CROSSED),
        2,
        "cannot be divided into cells",
    ),
    *(Case(36, f"{text} in a used column", csv(income(text)), 2, "'income'") for text in ("inf", "-inf", "1e999")),
    Case(36, "1e999 where the rule drops", csv(income("1e999"), design=LENIENT), 0, "", twin(design=LENIENT)),
    Case(36, "infinity in Parquet", parquet(age=[float("inf"), *TABLE["age"][1:]]), 2, "'age'"),
    Case(37, "empty cell", csv(income("")), 2, "'income'"),
    Case(37, "null in Parquet", parquet(age=[None, *TABLE["age"][1:]]), 2, "'age'"),
    Case(37, "quoted empty cell", csv(income('""')), 2, "'income'"),
    Case(38, "text in a number", csv(income(SECRET)), 2, "'income'"),
    Case(
        38,
        "text column in Parquet",
        parquet(age=[SECRET] * SIZE),
        2,
        "'age' must contain numbers, as declared, but has type",
    ),
    Case(
        38, "word in a boolean", csv(PEOPLE, design=DESIGN.replace("bounds = [18, 90]", 'dtype = "bool"')), 2, "'age'"
    ),
    *(
        Case(39, f"integer {name}", csv(HEADER + f"{text},44,south,x\n"), 0, "", twin(HEADER + "1000000,44,south,x\n"))
        for name, text in (("above 2^53", "9007199254740993"), ("above 2^63", "9223372036854775809"))
    ),
    Case(
        39,
        "uint64 above 2^63 in Parquet",
        parquet(age=column([2**64 - 1] * SIZE, pa.uint64())),
        0,
        "",
        twin(
            HEADER + "".join(f"{a},90,{g},x\n" for a, g in zip(TABLE["income"], TABLE["region"], strict=True)),
            data="bad.parquet",
        ),
    ),
    *(
        Case(40, f"{kind} in Parquet", parquet(age=column(AGES, kind)), 0, "", twin(data="bad.parquet"))
        for kind in (pa.decimal128(10, 2), pa.uint64(), pa.int8(), pa.float32())
    ),
    Case(
        40,
        "float16 in Parquet",
        parquet(age=pa.array(np.array(AGES, np.float16), pa.float16())),
        0,
        "",
        twin(data="bad.parquet"),
    ),
    Case(
        40,
        "dates in Parquet",
        parquet(age=[dt.date(2020, 1, 1)] * SIZE),
        2,
        "'age' must contain numbers, as declared, but has type",
    ),
    Case(
        40,
        "times in Parquet",
        parquet(age=[dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * SIZE),
        2,
        "'age' must contain numbers, as declared, but has type",
    ),
    Case(
        40,
        "durations in Parquet",
        parquet(age=[dt.timedelta(1)] * SIZE),
        2,
        "'age' must contain numbers, as declared, but has type",
    ),
    Case(
        41, "lists in Parquet", parquet(age=[[1.0]] * SIZE), 2, "'age' must contain numbers, as declared, but has type"
    ),
    Case(
        41,
        "structs in Parquet",
        parquet(age=[{"a": 1.0}] * SIZE),
        2,
        "'age' must contain numbers, as declared, but has type",
    ),
    Case(
        41,
        "bytes in Parquet",
        parquet(age=[SECRET.encode()] * SIZE),
        2,
        "'age' must contain numbers, as declared, but has type",
    ),
    Case(
        42, "mixed objects in pandas", python(lambda: frame_of(age=[SECRET, *TABLE["age"][1:]])), 2, "'age'", api=True
    ),
    Case(
        43,
        "subnormal and negative zero",
        csv(HEADER + "5e-324,44,south,x\n-0.0,44,south,x\n"),
        0,
        "",
        twin(HEADER + "0,44,south,x\n0,44,south,x\n"),
    ),
    Case(44, "constant column", csv(HEADER + "".join(f"{i},44,south,x\n" for i in range(30))), 0, "Published"),
    Case(
        45,
        "collinear columns",
        csv(
            "income,age,again,region\n" + "".join(f"{i},{20 + i},{20 + i},south\n" for i in range(30)),
            design=DESIGN + "[columns.again]\nbounds = [18, 90]\n",
        ),
        0,
        "Published",
    ),
    Case(46, "all rows the same", csv(HEADER + ROWS[0] * 30), 0, "Published"),
    Case(46, "all cells zero", csv(HEADER + "0,0,north,0\n" * 30), 0, "Published"),
    Case(
        47,
        "more columns than rows",
        csv(
            "income,age,region," + ",".join(f"x{i}" for i in range(9)) + "\n1,20,north" + ",0.5" * 9 + "\n", design=WIDE
        ),
        0,
        "Published",
    ),
    Case(
        48,
        "all values outside their bounds",
        csv(HEADER + "9e9,1e300,south,x\n" * 5),
        0,
        "",
        twin(HEADER + "1000000,90,south,x\n" * 5),
    ),
    Case(
        49, "empty level", designed(DESIGN.replace('["north", "south"]', '["north", ""]')), 2, "the level '' is blank"
    ),
    Case(49, "level that is not declared", csv(PEOPLE + f"1,44,{SECRET},x\n"), 2, "'region'"),
    Case(
        49,
        "level that is not declared, filled",
        csv(PEOPLE + f"1,44,{SECRET},x\n", design=DESIGN + 'missing = {fill = "south"}\n'),
        0,
        "",
        twin(PEOPLE + "1,44,south,x\n"),
    ),
    Case(50, "no levels", designed(DESIGN.replace('["north", "south"]', "[]")), 2, "levels are blank"),
    Case(
        51,
        "10,000 levels",
        designed(DESIGN.replace('["north", "south"]', str([f"l{i}" for i in range(10_000)]).replace("'", '"'))),
        2,
        "10002 released columns need about",
    ),
    Case(52, "more rows of a person than count", csv(FEW, "--dataset", "persons", design=PERSONS), 0, "Published"),
    Case(52, "persons in a data set of rows", csv(FEW, design=PERSONS), 2, "different privacy units"),
    Case(52, "a cap without an id", designed(DESIGN + "[unit]\nmax_rows = 3\n"), 2, "needs an id"),
    Case(53, "null id", csv(FEW + "1,20,north,\n", "--dataset", "persons", design=PERSONS), 2, "'who' has a cell"),
    Case(53, "id column missing", csv(PEOPLE, "--dataset", "persons", design=PERSONS), 2, "no column 'who'"),
    Case(54, "weights of no column", designed('weights = "w"\n' + DESIGN), 2, "unknown weights 'w'"),
]
