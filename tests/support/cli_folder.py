"""What stands in the folder on which the command line is tried."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from click.testing import Result

# no public number of the tests has these signs
CANARY = "918273.5"
SECRET = "SECRETCELL"

DESIGN = """\
target = "income"
[columns.income]
bounds = [0, 1000000]
[columns.age]
bounds = [18, 90]
[columns.region]
levels = ["north", "south"]
"""
HEADER = "income,age,region,remark\n"
ROWS = [f"{20_000 + 700 * i},{18 + i},{'north' if i % 3 else 'south'},{SECRET}\n" for i in range(60)]
PEOPLE = HEADER + "".join(ROWS) + f"{CANARY},44,south,{SECRET}\n"
NEW = "region,age\n" + "".join(f"{'north' if i % 2 else 'south'},{20 + i}\n" for i in range(10))

Call = Callable[..., Result]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
