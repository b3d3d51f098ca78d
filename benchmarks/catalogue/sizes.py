"""Define the sizes of the tables in a run, by profile."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows, columns and repeats of a profile."""

    repeats: int
    large: int
    middle: int
    rows: tuple[int, ...]
    copies: tuple[int, ...]  # number of copies of the large file in one folder
    columns: tuple[tuple[int, int], ...]  # columns and rows
    gram_rows: tuple[tuple[int, int], ...]
    levels: tuple[int, ...]
    level_rows: int
    csv_rows: int
    persons_rows: int
    noise: tuple[int, ...]
    pass_rows: int
    mechanism_rows: int
    staged_rows: int
    objective: int
    analysis: tuple[int, ...]


PROFILES = {
    "full": Sizes(
        repeats=5, large=10_000_000, middle=2_100_000, rows=(10_000, 100_000, 1_000_000), copies=(3,),
        columns=((5, 1_000_000), (20, 1_000_000), (100, 200_000), (300, 100_000), (1000, 30_000)),
        gram_rows=((100, 300_000), (300, 100_000)), levels=(10, 100, 1000, 5000, 10_000), level_rows=1_000_000,
        csv_rows=1_000_000, persons_rows=1_000_000, noise=(5, 20, 100, 300, 1000), pass_rows=300_000,
        mechanism_rows=100_000, staged_rows=1_000_000, objective=300, analysis=(20, 50, 100, 300),
    ),
    "quick": Sizes(
        repeats=3, large=1_000_000, middle=300_000, rows=(10_000, 100_000), copies=(3,),
        columns=((5, 200_000), (20, 200_000), (100, 50_000), (300, 20_000)), gram_rows=((100, 50_000), (300, 20_000)),
        levels=(10, 100, 1000), level_rows=100_000, csv_rows=200_000, persons_rows=200_000, noise=(5, 20, 100, 300),
        pass_rows=50_000, mechanism_rows=20_000, staged_rows=300_000, objective=100, analysis=(20, 50, 100),
    ),
    "tiny": Sizes(
        repeats=2, large=200_000, middle=50_000, rows=(10_000,), copies=(2,), columns=((5, 10_000), (20, 10_000)),
        gram_rows=((100, 10_000), (300, 5_000)), levels=(10, 50), level_rows=10_000, csv_rows=20_000,
        persons_rows=20_000, noise=(5, 20), pass_rows=10_000, mechanism_rows=5_000, staged_rows=10_000, objective=20,
        analysis=(10, 20),
    ),
}  # fmt: skip
D = 20


def counted(number: int) -> str:
    """Format a number for a title.

    >>> counted(10_000_000), counted(2_100_000)
    ('10,000,000', '2,100,000')
    """
    return f"{number:,}"
