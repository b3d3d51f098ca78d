"""Data and certified coefficients of the NIST Statistical Reference Datasets for linear regression (public domain).

Decimal numbers are kept as text or whole tenths, so that the tests can read them exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Table:
    """Rows as exact numbers, and the certified coefficients, intercept first."""

    name: str
    target: str
    columns: dict[str, list[Fraction]]
    certified: tuple[str, ...]

    @property
    def features(self) -> list[str]:
        """Every column but the target."""
        return [name for name in self.columns if name != self.target]


def _tenths(numbers: list[int]) -> list[Fraction]:
    return [Fraction(number, 10) for number in numbers]


NORRIS = Table(
    "norris",
    "y",
    {
        "y": _tenths([
            1, 3388, 1181, 8880, 92, 2281, 6685, 9985, 4491, 7789, 5592, 3, 1, 7781, 6688, 3393, 4489, 108,
            5577, 2283, 9980, 8888, 1196, 3, 6, 5576, 3393, 8880, 9985, 7789, 102, 1176, 2289, 6684, 4492, 2,
        ]),
        "x": _tenths([
            2, 3374, 1182, 8846, 101, 2265, 6663, 9963, 4486, 7770, 5582, 4, 6, 7755, 6669, 3380, 4475, 116,
            5560, 2281, 9958, 8876, 1202, 3, 3, 5568, 3391, 8872, 9990, 7790, 111, 1183, 2292, 6691, 4489, 5,
        ]),
    },
    ("-0.262323073774029", "1.00211681802045"),
)  # fmt: skip


def _integer(numbers: list[int]) -> list[Fraction]:
    return [Fraction(number) for number in numbers]


LONGLEY = Table(
    "longley",
    "employed",
    {
        "employed": _integer([
            60323, 61122, 60171, 61187, 63221, 63639, 64989, 63761,
            66019, 67857, 68169, 66513, 68655, 69564, 69331, 70551,
        ]),
        "deflator": _tenths([
            830, 885, 882, 895, 962, 981, 990, 1000, 1012, 1046, 1084, 1108, 1126, 1142, 1157, 1169,
        ]),
        "product": _integer([
            234289, 259426, 258054, 284599, 328975, 346999, 365385, 363112,
            397469, 419180, 442769, 444546, 482704, 502601, 518173, 554894,
        ]),
        "unemployed": _integer([
            2356, 2325, 3682, 3351, 2099, 1932, 1870, 3578, 2904, 2822, 2936, 4681, 3813, 3931, 4806, 4007,
        ]),
        "armed": _integer([
            1590, 1456, 1616, 1650, 3099, 3594, 3547, 3350, 3048, 2857, 2798, 2637, 2552, 2514, 2572, 2827,
        ]),
        "population": _integer([
            107608, 108632, 109773, 110929, 112075, 113270, 115094, 116219,
            117388, 118734, 120445, 121950, 123366, 125368, 127852, 130081,
        ]),
        "year": _integer(list(range(1947, 1963))),
    },
    (
        "-3482258.63459582", "15.0618722713733", "-0.0358191792925910", "-2.02022980381683",
        "-1.03322686717359", "-0.0511041056535807", "1829.15146461355",
    ),
)  # fmt: skip


_ERRORS = [
    759, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 1838, -2048, 2048,
    -2048, 1838, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 759,
]  # fmt: skip


def _wampler(number: int, base: Fraction, error: int) -> Table:
    rows = range(21)
    y = [sum(((base * x) ** k for k in range(1, 6)), Fraction(1)) + error * _ERRORS[x] for x in rows]
    powers = {f"x{k}": [Fraction(x**k) for x in rows] for k in range(1, 6)}
    certified = tuple(str(float(base**k)) for k in range(6))
    return Table(f"wampler{number}", "y", {"y": y, **powers}, certified)


WAMPLER = [
    _wampler(1, Fraction(1), 0),
    _wampler(2, Fraction(1, 10), 0),
    _wampler(3, Fraction(1), 1),
    _wampler(4, Fraction(1), 100),
    _wampler(5, Fraction(1), 10_000),
]

# the last and the first rows as printed, against slips in the construction above
WAMPLER_ENDS = {
    "wampler1": ("1", "3368421"),
    "wampler2": ("1", "63"),
    "wampler3": ("760", "3369180"),
    "wampler4": ("75901", "3444321"),
    "wampler5": ("7590001", "10958421"),
}
