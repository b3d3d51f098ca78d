"""The release: the published value, and its canonical JSON.

A release holds noisy sums of products of the scaled columns, the law of their noise, the design and the guarantee.
It holds no exact sum, no seed and no exact number of rows unless that number is public under its neighbouring relation.
The module is called `releases` because `discreet.release` is the public function that makes one.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from discreet.design.domain import MAX_GRID_BITS
from discreet.design.model import Design
from discreet.errors import OutputError, ReleaseFileError, SpecError
from discreet.markup import html_table
from discreet.output import write_bytes
from discreet.privacy.guarantee import Guarantee

FloatArray: TypeAlias = npt.NDArray[np.float64]

FORMAT: Final = "discreet-release"
SCHEMA_VERSION: Final = 1
NOT_PRIVATE_SUFFIX: Final = ".NOT-PRIVATE.json"

Block = Literal[
    "count", "sum_x", "gram_diagonal", "gram_off_diagonal", "sum_y", "cross", "target_square",
    "residual_diagonal", "residual_off_diagonal",
]  # fmt: skip
BLOCKS: Final[tuple[Block, ...]] = (
    "count", "sum_x", "gram_diagonal", "gram_off_diagonal", "sum_y", "cross", "target_square",
)  # fmt: skip
RESIDUAL_BLOCKS: Final[tuple[Block, ...]] = ("residual_diagonal", "residual_off_diagonal")
Calibration = Literal["gaussian", "discrete-zcdp", "none"]
_CALIBRATIONS: Final = ("gaussian", "discrete-zcdp", "none")


@dataclass(frozen=True)
class NoiseLaw:
    """Independent discrete Gaussian noise on the product grid, one parameter for each block of the moments.

    Attributes
    ----------
    grid_bits
        A scaled value is `2**grid_bits` steps, a product `4**grid_bits`.
    sigma
        Standard-deviation parameter of each block in steps of the product grid, as whole numbers; 0 only for a count
        that is public, or where the noise is switched off.
    calibration
        `gaussian`: exact Gaussian accounting with the lattice gap paid in delta; `discrete-zcdp`: the discrete law's
        own concentrated privacy; `none`: not private.
    """

    grid_bits: int
    sigma: Mapping[Block, int]
    calibration: Calibration

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", MappingProxyType(dict(self.sigma)))

    def steps(self, size: int) -> list[int]:
        """Noise parameter of every entry of the upper triangle, row by row, for `size` released columns."""
        return [self.sigma[block_of(i, j, size)] for i in range(size) for j in range(i, size)]

    def entry_sd(self, size: int) -> FloatArray:
        """Standard deviation of every entry in scaled units, shape (size, size)."""
        return symmetric(self.steps(size), size, 4**self.grid_bits)


def block_of(i: int, j: int, size: int) -> Block:
    """Block of the entry (i, j), i <= j, of the moments of (1, x, y).

    >>> block_of(0, 0, 4), block_of(1, 2, 4), block_of(1, 3, 4)
    ('count', 'gram_off_diagonal', 'cross')
    """
    last = size - 1
    if j == last:
        return "sum_y" if i == 0 else "target_square" if i == last else "cross"
    if i == 0:
        return "count" if j == 0 else "sum_x"
    return "gram_diagonal" if i == j else "gram_off_diagonal"


def symmetric(upper: list[int] | tuple[int, ...], size: int, divisor: int) -> FloatArray:
    """A symmetric matrix from whole numbers of its upper triangle, row by row, each divided and rounded once."""
    out = np.empty((size, size))
    entries = iter(upper)
    for i in range(size):
        for j in range(i, size):
            out[i, j] = out[j, i] = next(entries) / divisor
    return out


@dataclass(frozen=True)
class ResidualPart:
    """What robust standard errors need: a noisy sum of squared residuals times products of (1, x).

    Attributes
    ----------
    coefficients
        Scaled coefficients of (1, x), read off the noisy moments, at which the residuals were taken.
    bound
        Public bound at which residuals were clipped, in scaled units of the target.
    totals
        Upper triangle of the noisy sum of v v', v = (residual / bound) * (1, x), row by row, on the product grid.
    """

    coefficients: tuple[float, ...]
    bound: float
    totals: tuple[int, ...]


@dataclass(frozen=True)
class Release:
    """What the curator publishes and the analyst reads; nothing else crosses the wall.

    Attributes
    ----------
    design
        The declarations the release was made under.
    guarantee
        The privacy promise; none for a release that is NOT PRIVATE.
    mechanism, mechanism_version
        Which mechanism made it.
    noise
        Law of the noise.
    totals
        Noisy sums of products on the integer grid: upper triangle of the moments of (1, x, y), row by row.
    units_public
        The number of privacy units in the table (rows, or persons) where the neighbouring relation makes it public.
    anchor
        Where the spend is recorded; `untracked` without a ledger.
    made_by
        Name and version of the software.
    residuals
        For robust standard errors, if they were paid for.
    """

    design: Design
    guarantee: Guarantee | None
    mechanism: str
    mechanism_version: str
    noise: NoiseLaw
    totals: tuple[int, ...]
    units_public: int | None
    anchor: str
    made_by: str
    residuals: ResidualPart | None = None

    kind = "moments"

    @property
    def private(self) -> bool:
        """Whether a mechanism with a budget made this release."""
        return self.guarantee is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the released columns: "1" first, the target last."""
        return self.design.released

    @cached_property
    def moments(self) -> FloatArray:
        """Noisy sums of products of the scaled columns, shape (p, p)."""
        return _frozen(symmetric(self.totals, len(self.columns), 4**self.noise.grid_bits))

    @cached_property
    def noise_sd(self) -> FloatArray:
        """Standard deviation of the noise in each entry of `moments`, shape (p, p)."""
        return _frozen(self.noise.entry_sd(len(self.columns)))

    @cached_property
    def residual_moments(self) -> FloatArray | None:
        """Noisy sum of squared residuals times products of the scaled (1, x), shape (p-1, p-1), if it was released."""
        if self.residuals is None:
            return None
        unit = symmetric(self.residuals.totals, len(self.columns) - 1, 4**self.noise.grid_bits)
        # rows of one person were averaged over as many as count, before they were squared
        return _frozen(unit * (self.residuals.bound * self.design.unit.max_rows) ** 2)

    @cached_property
    def digest(self) -> str:
        """Fingerprint of everything published."""
        return _digest(self._body())

    def to_json(self) -> str:
        """The canonical text of the release file."""
        return json.dumps({**self._body(), "digest": self.digest}, indent=1, sort_keys=True, ensure_ascii=True) + "\n"

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the release as JSON; an existing file is left alone unless `force`."""
        if not self.private and not str(path).endswith(NOT_PRIVATE_SUFFIX):
            raise OutputError(f"this release is NOT PRIVATE; its file name must end in {NOT_PRIVATE_SUFFIX!r}")
        write_bytes(path, self.to_json().encode(), force=force)

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Read a release file; a changed, cut or newer file is refused."""
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise ReleaseFileError(f"cannot read {str(path)!r}: {error.strerror}") from None
        try:
            return cls.from_json(content.decode())
        except UnicodeDecodeError:
            raise ReleaseFileError(f"{str(path)!r} is not a release file: it is not UTF-8 text") from None
        except ReleaseFileError as error:
            raise ReleaseFileError(f"{str(path)!r}: {error}") from None

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Read a release from the text of its file."""
        body = _parsed(text)
        digest = body.pop("digest", None)
        if digest != _digest(body):
            raise ReleaseFileError("the digest does not match the content: the file was edited or damaged")
        for key in sorted(set(body) - _FIELDS - {"residuals"}):
            warnings.warn(f"the release file has a field {key!r} that this version does not know", stacklevel=2)
        return _from_body(body)

    def _body(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "schema": SCHEMA_VERSION,
            "kind": self.kind,
            "private": self.private,
            "design": self.design.to_dict() | {"order": list(self.design.columns)},
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "mechanism": {"name": self.mechanism, "version": self.mechanism_version},
            "columns": list(self.columns),
            "noise": {
                "family": "discrete-gaussian",
                "calibration": self.noise.calibration,
                "grid_bits": self.noise.grid_bits,
                "sigma": {block: str(sigma) for block, sigma in self.noise.sigma.items()},
            },
            "totals": [str(total) for total in self.totals],
            "units_public": None if self.units_public is None else str(self.units_public),
            "anchor": self.anchor,
            "made_by": self.made_by,
            **({} if self.residuals is None else {"residuals": _residual_body(self.residuals)}),
        }

    def __repr__(self) -> str:
        promise = (
            "NOT PRIVATE"
            if self.guarantee is None
            else (f"epsilon={self.guarantee.epsilon:g}, delta={self.guarantee.delta:g}, {self.guarantee.neighbours}")
        )
        return f"<Release of {', '.join(self.columns[1:])}: {self.mechanism}, {promise}>"

    def _repr_html_(self) -> str:
        promise = (
            "NOT PRIVATE: this release carries no guarantee." if self.guarantee is None else self.guarantee.sentence()
        )
        rows = [
            [name, f"{self.moments[0, place]:,.1f}", f"{self.noise_sd[0, place]:,.1f}"]
            for place, name in enumerate(self.columns)
        ]
        notes = (promise, f"Mechanism {self.mechanism}; spend recorded: {self.anchor}. Sums are of the scaled columns.")
        return html_table(f"Release of {', '.join(self.columns[1:])}", ["column", "noisy sum", "noise sd"], rows, notes)


_FIELDS: Final = frozenset((
    "format", "schema", "kind", "private", "design", "guarantee", "mechanism", "columns", "noise", "totals",
    "units_public", "anchor", "made_by",
))  # fmt: skip


def _frozen(matrix: FloatArray) -> FloatArray:
    matrix.flags.writeable = False
    return matrix


def _digest(body: Mapping[str, object]) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def _parsed(text: str) -> dict[str, object]:
    def refuse(name: str) -> float:
        raise ReleaseFileError(f"the number {name} is not allowed in a release file")

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        table = dict(pairs)
        if len(table) != len(pairs):
            raise ReleaseFileError("a key stands twice in the release file")
        return table

    try:
        body = json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    except (json.JSONDecodeError, RecursionError):
        raise ReleaseFileError("this is not a release file: it is cut or not JSON") from None
    except ValueError:
        raise ReleaseFileError("a number in the release file is too long") from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise ReleaseFileError(f"this is not a release file: its format is not {FORMAT!r}")
    schema = body.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise ReleaseFileError("the release file has no schema version")
    if schema > SCHEMA_VERSION:
        raise ReleaseFileError(
            f"the release file has schema {schema}, this version reads up to {SCHEMA_VERSION}; update discreet"
        )
    return body


def _from_body(body: Mapping[str, object]) -> Release:
    missing = sorted(_FIELDS - set(body))
    if missing:
        raise ReleaseFileError(f"the release file has no field {missing[0]!r}")
    if body["kind"] != "moments":
        raise ReleaseFileError(f"a release of kind {body['kind']!r} is not known to this version; update discreet")
    private = body["guarantee"] is not None
    try:
        design = Design.from_dict(_ordered(_table(body["design"], "design")))
        guarantee = Guarantee.from_dict(_table(body["guarantee"], "guarantee")) if private else None
    except SpecError as error:
        raise ReleaseFileError(f"the release file does not hold together: {error}") from None
    if body["private"] is not private or (guarantee is not None and guarantee.unit != design.unit):
        raise ReleaseFileError("guarantee, design and the mark 'private' contradict each other")
    if body["columns"] != list(design.released):
        raise ReleaseFileError("the released columns are not those of the design")
    mechanism = _table(body["mechanism"], "mechanism")
    size = len(design.released)
    totals = body["totals"]
    if not isinstance(totals, list) or len(totals) != size * (size + 1) // 2:
        raise ReleaseFileError(f"'totals' is not the upper triangle of a {size} x {size} matrix")
    residuals = _residual_part(_table(body["residuals"], "residuals"), size - 1) if "residuals" in body else None
    blocks = BLOCKS if residuals is None else (*BLOCKS, *RESIDUAL_BLOCKS)
    noise = _noise_law(_table(body["noise"], "noise"), blocks, private=private)
    if private and (noise.sigma["count"] == 0) != design.count_public:
        raise ReleaseFileError("the noise of the count contradicts the neighbouring relation")
    units = None if body["units_public"] is None else _whole(body["units_public"], "units_public")
    if private and (units is None) == (design.unit.neighbours == "replace"):
        raise ReleaseFileError("the public number of units contradicts the neighbouring relation")
    return Release(
        design=design,
        guarantee=guarantee,
        mechanism=_text(mechanism.get("name"), "mechanism.name"),
        mechanism_version=_text(mechanism.get("version"), "mechanism.version"),
        noise=noise,
        totals=tuple(_whole(total, "totals") for total in totals),
        units_public=units,
        anchor=_text(body["anchor"], "anchor"),
        made_by=_text(body["made_by"], "made_by"),
        residuals=residuals,
    )


def _residual_body(part: ResidualPart) -> dict[str, object]:
    return {"coefficients": list(part.coefficients), "bound": part.bound, "totals": [str(t) for t in part.totals]}


def _residual_part(table: Mapping[str, object], size: int) -> ResidualPart:
    coefficients, bound, totals = table.get("coefficients"), table.get("bound"), table.get("totals")
    if not isinstance(coefficients, list) or len(coefficients) != size or not all(map(_is_float, coefficients)):
        raise ReleaseFileError(f"residuals.coefficients must be {size} numbers")
    if not _is_float(bound) or not cast("float", bound) > 0:
        raise ReleaseFileError("residuals.bound must be a positive number")
    if not isinstance(totals, list) or len(totals) != size * (size + 1) // 2:
        raise ReleaseFileError(f"residuals.totals is not the upper triangle of a {size} x {size} matrix")
    whole = tuple(_whole(total, "residuals.totals") for total in totals)
    return ResidualPart(tuple(coefficients), cast("float", bound), whole)


def _is_float(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _ordered(table: Mapping[str, object]) -> dict[str, object]:
    """The design's table with its columns in their declared order, which sorted keys do not keep."""
    columns, order = _table(table.get("columns"), "design.columns"), table.get("order")
    if not isinstance(order, list) or sorted(columns) != sorted(map(str, order)):
        raise ReleaseFileError("design.order does not list the declared columns")
    rest = {key: value for key, value in table.items() if key != "order"}
    return rest | {"columns": {name: columns[name] for name in order}}


def _noise_law(table: Mapping[str, object], blocks: tuple[Block, ...], *, private: bool) -> NoiseLaw:
    bits, calibration = table.get("grid_bits"), table.get("calibration")
    if table.get("family") != "discrete-gaussian" or calibration not in _CALIBRATIONS:
        raise ReleaseFileError("the law of the noise is not known to this version")
    if not isinstance(bits, int) or isinstance(bits, bool) or not 0 < bits <= MAX_GRID_BITS:
        raise ReleaseFileError("noise.grid_bits is out of range")
    sigmas = _table(table.get("sigma"), "noise.sigma")
    if set(sigmas) != set(blocks):
        raise ReleaseFileError(f"noise.sigma must give the blocks {', '.join(blocks)}")
    sigma = {block: _whole(sigmas[block], f"noise.sigma.{block}") for block in blocks}
    if any(value < (1 if private and block != "count" else 0) for block, value in sigma.items()):
        raise ReleaseFileError("noise.sigma must be positive")
    return NoiseLaw(grid_bits=bits, sigma=sigma, calibration=calibration)


def _table(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ReleaseFileError(f"the field {name!r} is not a table")
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise ReleaseFileError(f"the field {name!r} is not text")
    return value


def _whole(value: object, name: str) -> int:
    digits = value.removeprefix("-") if isinstance(value, str) else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 100):
        raise ReleaseFileError(f"the field {name!r} must hold whole numbers as decimal text")
    return int(cast("str", value))
