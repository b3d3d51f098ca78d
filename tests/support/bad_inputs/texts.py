"""Numbers 17 to 34: CSV text."""

from __future__ import annotations

from typing import Final

from support.bad_inputs.case import PEOPLE, Case, csv, designed, twin
from support.cli_folder import CANARY, DESIGN, HEADER, ROWS, SECRET

BAD = f"{CANARY},44,south,{SECRET}\n"
NOT_NUMBERS: Final = ("0x10", "1_000", "１２", "1d5", "--5", "$5", "5%", '"1,000"', "1'000", "NA", "null", "5 ")


def cell(text: str) -> str:
    """The table with one more row that has this text as its income."""
    return PEOPLE + f"{text},44,south,{SECRET}\n"


CASES: Final = [
    Case(17, "short row", csv(PEOPLE + f"{CANARY},44\n"), 2, "line 63"),
    Case(18, "long row", csv(PEOPLE + BAD.replace("\n", ",x\n")), 2, "line 63"),
    Case(19, "every row longer", csv(HEADER + "".join(row.replace("\n", ",1\n") for row in ROWS)), 2, "line 2"),
    Case(20, "unclosed quote", csv(PEOPLE + f'"{CANARY},44,south,{SECRET}\n'), 2, "line 63"),
    Case(20, "line end inside quotes", csv(PEOPLE + f'1,44,"so\nuth",{SECRET}\n'), 2, "line 63"),
    Case(21, "name twice", csv(PEOPLE.replace("remark", "age", 1)), 2, "more than one column 'age'"),
    Case(22, "names alike in case", csv(PEOPLE.replace("remark", "AGE", 1)), 2, "case, blanks or Unicode"),
    Case(22, "names alike in Unicode form", csv(PEOPLE.replace("remark", "ａge", 1)), 2, "case, blanks or Unicode"),
    Case(
        22,
        "declared names alike in Unicode form",
        designed(f'{DESIGN}[columns."caf\u00e9"]\nbounds = [0, 1]\n[columns."cafe\u0301"]\nbounds = [0, 1]\n'),
        2,
        "differ in their Unicode form",
    ),
    Case(22, "name with a blank", csv(PEOPLE.replace("age", " age", 1)), 2, "no column 'age'"),
    Case(23, "empty name that is not used", csv(PEOPLE.replace("remark", "", 1)), 0, "Published", twin()),
    Case(
        23,
        "control characters in a name that is not used",
        csv(PEOPLE.replace("remark", "\x1b[31m\u202e", 1)),
        0,
        "Published",
        twin(),
    ),
    Case(
        23,
        "control characters in a declared name",
        designed(DESIGN.replace("[columns.age]", '[columns."a\\u001bge"]')),
        2,
        "invisible characters",
    ),
    Case(24, "no header", csv("".join(ROWS)), 2, "no column 'income'"),
    Case(25, "byte order mark", csv(b"\xef\xbb\xbf" + PEOPLE.encode()), 0, "Published", twin()),
    Case(26, "UTF-16", csv(PEOPLE.encode("utf-16")), 2, "--encoding"),
    Case(26, "UTF-32", csv(PEOPLE.encode("utf-32")), 2, "UTF-32"),
    Case(26, "latin-1", csv(PEOPLE.encode() + f"1,44,südost,{SECRET}\n".encode("latin-1")), 2, "--encoding"),
    Case(26, "UTF-16, named", csv(PEOPLE.encode("utf-16"), "--encoding", "utf-16"), 0, "Published"),
    Case(27, "NUL byte", csv(PEOPLE + f"1,44,so\0uth,{SECRET}\n"), 2, "NUL"),
    Case(28, "CRLF", csv(PEOPLE.replace("\n", "\r\n")), 0, "Published", twin()),
    Case(28, "lone CR", csv(PEOPLE.replace("\n", "\r")), 0, "Published", twin()),
    Case(28, "no line end at the end", csv(PEOPLE.rstrip("\n")), 0, "Published", twin()),
    Case(29, "blank lines", csv("\n" + PEOPLE.replace("\n", "\n\n") + "\n\n"), 0, "Published", twin()),
    Case(30, "semicolons", csv(PEOPLE.replace(",", ";")), 2, "--delimiter"),
    Case(30, "semicolons, named", csv(PEOPLE.replace(",", ";"), "--delimiter", ";"), 0, "Published"),
    Case(30, "decimal comma", csv(PEOPLE + f"918273,5,44,south,{SECRET}\n"), 2, "line 63"),
    Case(
        30,
        "decimal comma among semicolons",
        csv(PEOPLE.replace(",", ";").replace("918273.5", "918273,5"), "--delimiter", ";"),
        2,
        "'income'",
    ),
    Case(32, "comment line", csv(PEOPLE + f"# {SECRET}\n"), 2, "line 63"),
    Case(32, "comment before the header", csv(f"# {SECRET}\n{PEOPLE}"), 2, "comment lines"),
    *(
        Case(31 if text[0] in '$5"' or "'" in text else 33, f"cell {text}", csv(cell(text)), 2, "'income'")
        for text in NOT_NUMBERS
    ),
    Case(34, "line without end", csv(HEADER + SECRET * 200_000), 2, "longer than"),
    Case(34, "cell of 2 MB", csv(PEOPLE + f'"{SECRET * 200_000}",44,south,x\n'), 2, "longer than"),
]
