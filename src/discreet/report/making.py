"""How a release was made, as plain values: mechanism, noise by block and declarations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from discreet.design.columns import Categorical, Column, Fill, Missing, Numeric, SplineBasis
from discreet.design.model import Design
from discreet.releases import Block, Calibration, Release

_CALIBRATIONS: Final[dict[Calibration, str]] = {
    "gaussian": "exact Gaussian accounting; the step to whole numbers is paid from delta",
    "discrete-zcdp": "concentrated privacy of the discrete Gaussian law itself",
    "none": "none: NOT PRIVATE",
}
_BLOCKS: Final[dict[Block, str]] = {
    "count": "number of rows",
    "sum_x": "sums of regressors",
    "gram_diagonal": "squares of regressors",
    "gram_off_diagonal": "products of regressors",
    "sum_y": "sum of the target",
    "cross": "regressors times target",
    "target_square": "square of the target",
}


@dataclass(frozen=True, slots=True)
class NoiseLine:
    """Noise of one block: its standard deviation in scaled units, and the same over the number of rows."""

    block: str
    sd: float
    per_row: float | None


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """One declared column in words."""

    name: str
    role: str
    kind: str
    declared: str
    missing: str


@dataclass(frozen=True, slots=True)
class Making:
    """Everything that was fixed before or while the release was made.

    Attributes
    ----------
    grid_bits
        A scaled value is a whole number of steps of 2**-grid_bits.
    anchor
        Where the spend is recorded; `untracked` without a ledger.
    radius
        Ball to which rows were shrunk, if any.
    units_public
        Number of rows or persons, where it is public.
    """

    mechanism: str
    version: str
    calibration: str
    grid_bits: int
    anchor: str
    made_by: str
    digest: str
    target: str
    intercept: bool
    radius: float | None
    units_public: int | None
    noise: tuple[NoiseLine, ...]
    columns: tuple[DeclaredColumn, ...]


def making(release: Release) -> Making:
    """Read from a release how it was made."""
    design = release.design
    return Making(
        mechanism=release.mechanism,
        version=release.mechanism_version,
        calibration=_CALIBRATIONS[release.noise.calibration],
        grid_bits=release.noise.grid_bits,
        anchor=release.anchor,
        made_by=release.made_by,
        digest=release.digest,
        target=design.target,
        intercept=design.intercept,
        radius=design.radius,
        units_public=release.units_public,
        noise=_noise_lines(release),
        columns=tuple(_declared(design, name) for name in design.columns),
    )


def _noise_lines(release: Release) -> tuple[NoiseLine, ...]:
    rows = float(release.moments[0, 0])
    step = 4**release.noise.grid_bits
    return tuple(
        NoiseLine(
            label, release.noise.sigma[block] / step, release.noise.sigma[block] / step / rows if rows > 0 else None
        )
        for block, label in _BLOCKS.items()
    )


def _declared(design: Design, name: str) -> DeclaredColumn:
    column = design.columns[name]
    role = "target" if name == design.target else "regressor" if name in design.offered else "not released"
    return DeclaredColumn(name, role, _kind(column), _range(column), _missing(column))


def _kind(column: Column) -> str:
    formula = "" if column.formula is None else f", by the formula {column.formula.text}"
    if isinstance(column, SplineBasis):
        return f"spline{formula}"
    if isinstance(column, Numeric):
        return f"number{formula}"
    return f"levels{formula}" if isinstance(column, Categorical) else f"yes or no{formula}"


def _range(column: Column) -> str:
    if isinstance(column, Numeric):
        return f"{column.bounds[0]:g} to {column.bounds[1]:g}"
    if isinstance(column, Categorical):
        rest = ", ".join(str(level) for level in column.levels if level != column.reference)
        return f"{column.reference} (reference), {rest}"
    return "0 or 1" if not isinstance(column, SplineBasis) else f"{column.formula.width} basis functions"


def _missing(column: Column) -> str:
    if isinstance(column, SplineBasis) or column.formula is not None:
        return "follows the columns it uses"
    rule: Missing = column.missing
    if isinstance(rule, Fill):
        return f"filled with {rule.value}"
    return "row dropped" if rule == "drop" else "table refused"
