"""Sufficient statistics with a smallest eigenvalue that is paid for. Proof: adassp.proof.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final, Literal

from discreet.curator.sums.gram import ExactGram
from discreet.design.columns import Numeric
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.mechanisms.calibration.blocks import Beside, noise_law
from discreet.exact.eigenvalue import smallest_eigenvalue
from discreet.mechanisms.interface.promise import promise
from discreet.mechanisms.registry import Card, Job, NeighbourPair, NoisyMoments, Passes, Table
from discreet.mechanisms.calibration.l2_sensitivity import Blocks, norm2
from discreet.mechanisms.interface.settings import Setting
from discreet.mechanisms.moments.ssp import TARGET_SQUARE, released_shares, with_noise
from discreet.audit.pairs.corners import corner_pairs
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.guarantee import Guarantee
from discreet.releases import NoiseLaw, Settings

EIGENVALUE: Final = "smallest_eigenvalue"
# elimination in whole numbers takes a second or two for 100 columns and grows with the fifth power
_MOST_COLUMNS: Final = 100


class AdaptiveSufficientStatistics:
    """Adds discrete Gaussian noise to X'X, X'y and the smallest eigenvalue of X'X, calibrated jointly."""

    name: ClassVar[str] = "adassp"
    version: ClassVar[str] = "1"
    kind: ClassVar[Literal["moments"]] = "moments"
    card: ClassVar[Card] = Card(
        summary="X'X, X'y and the smallest eigenvalue of X'X, which sets the ridge of an adaptive fit.",
        document="thesis of Kalaja, Algorithms 2 and 3",
        notion="approximate",
        domain="box or ball",
        needs=(f"at most {_MOST_COLUMNS} columns of (1, x)",),
        numerics="exact",
        references=("Wang 2018", "Balle & Wang 2018", "Dong, Roth & Su 2022"),
        settings={
            "eigenvalue_share": Setting(
                1 / 3, "of mu^2 for the smallest eigenvalue; the sums get the rest", 0.005, 0.9
            ),
            "target_square": TARGET_SQUARE,
        },
    )

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of the noise: design and budget in, no data."""
        size = len(design.released)
        if size - 1 > _MOST_COLUMNS:
            raise SpecError(
                f"{size - 1} columns of (1, x) came; the exact smallest eigenvalue is for at most {_MOST_COLUMNS}. "
                "Use the mechanism 'ssp' or 'gaussian', whose adaptive fit needs no eigenvalue"
            )
        return noise_law(
            domain,
            design.unit.neighbours,
            size,
            budget,
            count_public=design.count_public,
            rows_per_unit=design.unit.max_rows,
            shares=equal_parts(design, target_square=bool(settings["target_square"])),
            beside=Beside(EIGENVALUE, eigenvalue_reach(design, domain), float(settings["eigenvalue_share"])),  # [P4]
        )

    def guarantee(self, design: Design, budget: PrivacyBudget) -> Guarantee:
        """The promise in the currency of the budget, with the conditions it stands on."""
        return promise(design, budget)

    def worst_pairs(self, design: Design) -> tuple[NeighbourPair, ...]:
        """Corner rows, and a corner row beside rows at right angles to it, which leave the eigenvalue to that row."""
        return (*corner_pairs(design), *_right_angles(design))

    def passes(self, job: Job) -> Passes:
        """One pass: exact moments, the eigenvalue of their Gram, then noise on all of it."""
        moments = yield ExactGram(len(job.design.released), job.domain.grid_bits)
        exact = smallest_eigenvalue(regressor_gram(moments.totals, constant=job.design.needs_sums))
        totals = with_noise(moments.totals, job.law, job.sampler)
        (noise,) = job.sampler.draw([job.law.sigma[EIGENVALUE]])
        return NoisyMoments(totals, {EIGENVALUE: exact + noise})  # [P5]


def equal_parts(design: Design, *, target_square: bool) -> Blocks:
    """Shares of the sums: X'X and X'y in equal parts, the split within each as `ssp` has it."""
    shares = released_shares(design, target_square=target_square)
    if design.count_public:
        shares = replace(shares, count=0.0)
    products, cross = shares.count + shares.sum_x + shares.gram, shares.sum_y + shares.cross
    return Blocks(
        count=shares.count / products,
        sum_x=shares.sum_x / products,
        gram=shares.gram / products,
        sum_y=shares.sum_y / cross,
        cross=shares.cross / cross,
        target_square=2 * shares.target_square / (products + cross),
    )


def eigenvalue_reach(design: Design, domain: RowDomain) -> float:
    """Largest change of the smallest eigenvalue between neighbouring tables, in scaled units.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "z": (0, 1)})
    >>> eigenvalue_reach(design, RowDomain.of(design))
    3.0
    """
    longest = norm2(domain) + (1.0 if design.needs_sums else 0.0)
    return longest * design.unit.max_rows  # [P6]


def regressor_gram(totals: Sequence[int], *, constant: bool) -> list[list[int]]:
    """Gram of (1, x), or of x alone, from the upper triangle of the moments of (1, x, y).

    >>> regressor_gram([2, 3, 4, 5, 6, 7], constant=True), regressor_gram([2, 3, 4, 5, 6, 7], constant=False)
    ([[2, 3], [3, 5]], [[5]])
    """
    size = int((8 * len(totals) + 1) ** 0.5) // 2
    columns = range(0 if constant else 1, size - 1)
    place = {(i, j): i * size - i * (i - 1) // 2 + j - i for i in range(size) for j in range(i, size)}
    return [[totals[place[min(i, j), max(i, j)]] for j in columns] for i in columns]


def _right_angles(design: Design) -> tuple[NeighbourPair, ...]:
    """Pairs on which the eigenvalue moves as far as it can; for designs of numbers in their box."""
    numbers = {name: design.columns[name] for name in design.regressors}
    if design.radius is not None or not all(isinstance(column, Numeric) for column in numbers.values()):
        return ()
    if set(design.table_columns) != {*numbers, design.target}:
        return ()
    constant = design.needs_sums
    names = list(numbers)
    first = {} if constant else {names[0]: 1}
    # rows w with c.w = 0 for the corner row c, often enough that the direction of c is left to one row
    orthogonal = [first | {name: -1} for name in (names if constant else names[1:])]
    if not orthogonal:
        return ()
    others = _table(design, [row for row in orthogonal for _ in range(4 * (len(names) + constant))])
    corner, turned = ({**dict.fromkeys(names, 1), design.target: 1}, {**orthogonal[0], design.target: -1})
    if design.unit.neighbours == "add-remove":
        rows = [("corner row", _table(design, [corner]), _table(design, []))]
    else:
        rows = [("corner row turned", _table(design, [corner]), _table(design, [turned]))]
        rows += [(pair.name, pair.table, pair.neighbour) for pair in corner_pairs(design)]
    return tuple(
        NeighbourPair(f"{name} at right angles to the rest", _joined(others, one), _joined(others, other))
        for name, one, other in rows
    )


def _joined(one: Table, other: Table) -> dict[str, list[object]]:
    return {name: [*values, *other[name]] for name, values in one.items()}


def _table(design: Design, rows: Sequence[dict[str, int]]) -> Table:
    """Declared values of scaled rows of -1, 0 and 1; a boolean target is true at 1."""
    table: dict[str, list[object]] = {}
    for name, column in design.table_columns.items():
        scaled = [row.get(name, 0) for row in rows]
        if isinstance(column, Numeric):
            low, high = column.bounds
            values = {-1: low, 0: column.mid, 1: high}
            table[name] = [values[value] for value in scaled]
        else:
            table[name] = [value == 1 for value in scaled]
    return table
