"""The release: the published value, and its canonical JSON."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from discreet.accounting.noise_distribution import CLIPPED, DISCOVERY, GUARD, NoiseDistribution, Settings
from discreet.design.columns import Numeric
from discreet.design.design import Design
from discreet.design.domain import model_text
from discreet.errors import OutputError, ReleaseFileError, UnsupportedError, shown
from discreet.exact.arrays import FloatArray
from discreet.exact.linear import symmetric
from discreet.files import of_several_curators, read_limited, write_bytes
from discreet.privacy.guarantee import CuratorTerms, Guarantee, codes_of
from discreet.releases.fields import (
    FORMAT,
    SCHEMA_VERSION,
    Bounds,
    Coefficients,
    DiscoveryPart,
    GuardPart,
    NoisyCount,
    ResidualPart,
    StagedPart,
    digest_of,
)
from discreet.text import html_table
from discreet.wording import Message, Option

if TYPE_CHECKING:
    from discreet.releases.description import Description

NOT_PRIVATE_SUFFIX: Final = ".NOT-PRIVATE.json"
_GUARDED: Final = {"fitting": "rows that fit the design", "other": "rows that its rules drop"}


@dataclass(frozen=True)
class Release:
    """The published value. The curator makes it, the analyst reads it, and nothing else crosses the trust boundary.

    Attributes
    ----------
    design
        Declarations of the released columns.
    guarantee
        Privacy guarantee. None for a release that is NOT PRIVATE.
    mechanism, mechanism_version
        Name and version of the mechanism that made the release.
    noise
        Noise distribution.
    totals
        Noisy sums of products on the integer grid: upper triangle of the moments of (1, x, y), row by row. None for an
        entry that is not released. Empty in a release of coefficients.
    units_public
        Number of privacy units in the table (rows or people), if the neighbouring relation makes it public.
    anchor
        Reference to the ledger event that recorded the spend, or `untracked` if there is no ledger.
    made_by
        Name and version of the software.
    residuals
        Sums for robust standard errors, if released.
    coefficients
        Model fitted by the mechanism, in a release of kind `coefficients`.
    scalars
        Additional noisy numbers by name, on the product grid.
    settings
        Public settings of the mechanism.
    numerics
        `exact`: noise and sums are integers, and the proof covers the published bits. `idealised`: the proof is for
        real numbers, and the published value is a floating-point solution.
    clipped
        Noisy counts of clipped rows by column, on the product grid, if released; see `clip_counts`.
    guard
        Noisy counts of the guard, if there was one; see `guard_counts`.
    discovery
        Noisy counts from which private bounds were computed, if any. The bounds are in the design; see `found_bounds`.
    staged
        In a release by `staged`, the released numbers that define its sums, which are not products of the declared
        columns.
    curators
        Terms of a release merged from the parts of several curators. None if there was one curator.
    signature
        Signature of the digest, if the release is signed; see `discreet.verify`.
    """

    design: Design
    guarantee: Guarantee | None
    mechanism: str
    mechanism_version: str
    noise: NoiseDistribution
    totals: tuple[int | None, ...]
    units_public: int | None
    anchor: str
    made_by: str
    residuals: ResidualPart | None = None
    coefficients: Coefficients | None = None
    scalars: Mapping[str, int] = field(default_factory=dict)
    settings: Settings = field(default_factory=dict)
    numerics: Literal["exact", "idealised"] = "exact"
    clipped: Mapping[str, int] = field(default_factory=dict)
    guard: GuardPart | None = None
    discovery: DiscoveryPart | None = None
    staged: StagedPart | None = None
    curators: CuratorTerms | None = None
    signature: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scalars", MappingProxyType(dict(self.scalars)))
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))
        object.__setattr__(self, "clipped", MappingProxyType(dict(self.clipped)))

    def __reduce__(self) -> tuple[object, ...]:
        # pickle the canonical text, so that loading checks the digest
        return Release.from_json, (self.to_json(),)

    @property
    def kind(self) -> Literal["moments", "coefficients"]:
        """`moments`, from which any model can be fitted, or `coefficients` of one model."""
        return "moments" if self.coefficients is None else "coefficients"

    @property
    def private(self) -> bool:
        """Whether the release has a privacy guarantee."""
        return self.guarantee is not None

    @property
    def weighted(self) -> bool:
        """Whether rows have declared weights."""
        return self.design.weights is not None

    @property
    def plain(self) -> bool:
        """Whether the sums are unweighted sums of products of the declared columns."""
        return not self.weighted and self.staged is None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the released columns: "1" first, the target last."""
        return self.design.released

    @cached_property
    def moments(self) -> FloatArray:
        """Noisy sums of products of the scaled columns, shape (p, p). Entries that are not released are NaN."""
        self._need_moments()
        unit = self.noise.unit
        entries = (math.nan if total is None else total / unit for total in self.totals)
        return _frozen(symmetric(entries, len(self.columns)))

    @cached_property
    def noise_sd(self) -> FloatArray:
        """Noise standard deviation of each entry of `moments`, shape (p, p). Entries that are not released are NaN."""
        self._need_moments()
        return _frozen(self.noise.entry_sd(len(self.columns)))

    def _need_moments(self) -> None:
        if self.kind != "moments":
            raise UnsupportedError(
                f"a release by the mechanism {self.mechanism!r} has the coefficients of one model and no moments",
                code="no-moments",
                remedy=(
                    "read release.coefficients or fit that model",
                    Message(
                        "release with ", Option("mechanism", "gaussian"), " or another mechanism of kind 'moments'"
                    ),
                ),
            )

    def describe(self) -> Description:
        """Return means, standard deviations, covariances and correlations of the columns, in original units.

        They describe values clipped to their bounds, and include the noise of the release. A number that cannot be
        estimated because of the noise, such as a negative variance, is replaced by the reason.

        >>> from discreet.testing import exact_release
        >>> design = Design("y", {"y": (0, 8), "x": (0, 2)})
        >>> release = exact_release({"x": [0, 1, 2, 1], "y": [2, 5, 6, 7]}, design)  # NOT PRIVATE
        >>> release.describe().mean["y"], release.describe().covariance["x"]["y"]
        (5.0, 1.3333333333333333)
        """
        from discreet.releases.description import described

        return described(self)

    def summary(self) -> str:
        """Summarise the content, guarantee and origin of the release in ten lines.

        >>> from discreet.testing import exact_release
        >>> design = Design("y", {"y": (0, 8), "x": (0, 2)})
        >>> release = exact_release({"x": [0, 1, 2, 1], "y": [2, 5, 6, 7]}, design)  # NOT PRIVATE
        >>> print(release.summary().splitlines()[3])
        Rows       4
        """
        from discreet.releases.release_summary import outline

        return "".join(f"{label:<11}{text}\n" for label, text in outline(self))

    @cached_property
    def residual_moments(self) -> FloatArray | None:
        """Noisy sum of squared residuals times products of scaled (1, x), shape (p-1, p-1), if released."""
        return None if self.residuals is None else self.residual_gram(self.residuals)

    def residual_gram(self, part: ResidualPart) -> FloatArray:
        """Return the noisy sum of squared residuals times products of scaled (1, features), shape (k, k)."""
        unit = self.noise.unit
        matrix = symmetric((total / unit for total in part.totals), len(part.coefficients))
        # the rows of a person were summed and divided by max_rows before squaring
        return _frozen(matrix * (part.bound * self.design.unit.max_rows) ** 2)

    @property
    def robust_models(self) -> tuple[str, ...]:
        """Formulas of the additional models with robust standard errors."""
        return tuple(model_text(self.design, columns) for columns in self.noise.models)

    @property
    def clip_counts(self) -> Mapping[str, NoisyCount] | None:
        """Noisy counts of rows in which the value of a column was clipped, by column, if released."""
        if not self.clipped:
            return None
        sd = self.noise.sd(CLIPPED)
        return {name: NoisyCount(total / self.noise.unit, sd) for name, total in self.clipped.items()}

    @property
    def counts(self) -> Mapping[str, NoisyCount]:
        """All noisy counts of rows that were released, by what they count."""
        from discreet.accounting.moment_queries import COUNTED

        singles = {label: block for block, label in COUNTED.items() if block in self.scalars}
        clipped, guard = self.clip_counts or {}, self.guard_counts or {}
        return {
            **{label: NoisyCount(self.scalars[block] / self.noise.unit, self.noise.sd(block))
               for label, block in singles.items()},
            **{f"rows with a clipped value of {name}": count for name, count in clipped.items()},
            **{_GUARDED[name]: count for name, count in guard.items()},
        }  # fmt: skip

    @property
    def full_noise(self) -> NoiseDistribution:
        """Distribution of all noise that the guarantee covers, including the noise of preliminary counts."""
        distribution = self.noise if self.guard is None else self.noise.with_before(GUARD, self.guard.sigma)
        return distribution if self.discovery is None else distribution.with_before(DISCOVERY, self.discovery.sigma)

    @property
    def found_bounds(self) -> Mapping[str, Bounds] | None:
        """Private bounds by column, or None if all bounds were declared."""
        if self.discovery is None:
            return None
        columns = {name: self.design.columns[name] for name in self.discovery.cells}
        return {name: column.bounds for name, column in columns.items() if isinstance(column, Numeric)}

    @property
    def guard_counts(self) -> Mapping[str, NoisyCount] | None:
        """Noisy counts of rows that fit the design (`fitting`) and rows that its rules drop (`other`), if released."""
        if self.guard is None:
            return None
        unit, sd = self.noise.unit, self.full_noise.sd(GUARD)
        return {
            "fitting": NoisyCount(self.guard.fitting / unit, sd),
            "other": NoisyCount(self.guard.other / unit, sd),
        }

    @cached_property
    def ratio_square(self) -> float | None:
        """Noisy sum of squares of residual^2 - ratio (target - mean)^2 in scaled units, if released."""
        part = None if self.residuals is None else self.residuals.ratio
        if part is None:
            return None
        return float(part.total / self.noise.unit) * (part.bound * self.design.unit.max_rows) ** 2

    @cached_property
    def digest(self) -> str:
        """SHA-256 digest of the published content."""
        return digest_of(self._body())

    def to_json(self) -> str:
        """Return the canonical text of the release file."""
        seals = {"digest": self.digest} | ({} if self.signature is None else {"signature": self.signature})
        return json.dumps(self._body() | seals, indent=1, sort_keys=True, ensure_ascii=True) + "\n"

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the release as JSON. An existing file is replaced only with `force`."""
        if not self.private and not str(path).endswith(NOT_PRIVATE_SUFFIX):
            raise OutputError(f"this release is NOT PRIVATE; its file name must end in {NOT_PRIVATE_SUFFIX!r}")
        write_bytes(path, self.to_json().encode(), force=force)

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Read a release file. Raise an error if it was changed, is truncated or has a newer format."""
        try:
            content = read_limited(path)
        except OSError as error:
            raise ReleaseFileError(f"cannot read {str(path)!r}: {error.strerror}") from None
        try:
            return cls.from_json(content.decode())
        except (UnicodeDecodeError, ReleaseFileError) as error:
            what = of_several_curators(content)
            if what:
                raise ReleaseFileError(
                    Message(f"{str(path)!r} is not a release: it ", what), code="not-a-release"
                ) from None
            if isinstance(error, ReleaseFileError):
                raise ReleaseFileError(Message(f"{str(path)!r}: ", error), code=error.code) from None
            raise ReleaseFileError(f"{str(path)!r} is not a release file: it is not UTF-8 text") from None

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Read a release from the text of its file."""
        if not isinstance(text, str):
            raise ReleaseFileError(f"expected the text of a release file, got {type(text).__name__}")
        from discreet.releases.reading import parsed, release_fields, unknown_fields

        body = parsed(text)
        if body.get("digest") != digest_of(body):
            raise ReleaseFileError("the digest does not match the content: the file was edited or damaged")
        for key in unknown_fields(body):
            warnings.warn(f"the release file has an unknown field {shown(key)}, which is ignored", stacklevel=2)
        release = cls(**release_fields(body))
        if release.signature is not None and release.digest != body["digest"]:
            raise ReleaseFileError(
                "the release is signed and has content unknown to this version, so its signature cannot be "
                "checked; update discreet"
            )
        return release

    def _body(self) -> dict[str, object]:
        body: dict[str, object] = {
            "format": FORMAT,
            "schema": SCHEMA_VERSION,
            "kind": self.kind,
            "private": self.private,
            "design": self.design.to_dict() | {"order": list(self.design.columns)},
            "guarantee": None if self.guarantee is None else self._promise(self.guarantee),
            "mechanism": {
                "name": self.mechanism,
                "version": self.mechanism_version,
                "numerics": self.numerics,
                "settings": dict(self.settings),
            },
            "columns": list(self.columns),
            "noise": self.noise.to_dict(),
            "totals": [None if total is None else str(total) for total in self._listed()],
            "units_public": None if self.units_public is None else str(self.units_public),
            "anchor": self.anchor,
            "made_by": self.made_by,
        }
        if self.residuals is not None:
            body["residuals"] = self.residuals.to_dict()
        if self.coefficients is not None:
            fitted = self.coefficients
            coefficients = {"values": list(fitted.values), "trace": [list(step) for step in fitted.trace]}
            if fitted.ranges:
                coefficients["ranges"] = [list(ends) for ends in fitted.ranges]
            body["coefficients"] = coefficients
        if self.scalars:
            body["scalars"] = {name: str(value) for name, value in self.scalars.items()}
        if self.guard is not None:
            first = self.guard
            body["guard"] = {"sigma": str(first.sigma), "fitting": str(first.fitting), "other": str(first.other)}
        if self.discovery is not None:
            searched = self.discovery
            body["discovery"] = {
                "sigma": str(searched.sigma),
                "rows": str(searched.rows),
                "cells": {name: [str(count) for count in counts] for name, counts in searched.cells.items()},
            }
        if self.staged is not None:
            body["staged"] = self.staged.to_dict()
        if self.curators is not None:
            body["curators"] = self.curators.to_dict()
        if self.clipped:
            body["clip_counts"] = {name: str(value) for name, value in self.clipped.items()}
        return body

    def _listed(self) -> Sequence[int | None]:
        """Return the totals without products that are 0 in every row."""
        return self.noise.without_zeros(self.totals, len(self.columns)) if self.totals else self.totals

    def _promise(self, guarantee: Guarantee) -> dict[str, object]:
        """Return the guarantee with its conditions as codes."""
        return guarantee.to_dict() | {"conditions": codes_of(guarantee.conditions, guarantee.unit, self.curators)}

    def __repr__(self) -> str:
        promise = (
            "NOT PRIVATE"
            if self.guarantee is None
            else (f"epsilon={self.guarantee.epsilon:g}, delta={self.guarantee.delta:g}, {self.guarantee.neighbours}")
        )
        return f"<Release of {', '.join(self.columns[1:])}: {self.mechanism}, {promise}>"

    def _repr_html_(self) -> str:
        from discreet.releases.release_summary import describe_ledger

        promise = "NOT PRIVATE: this release has no guarantee." if self.guarantee is None else self.guarantee.sentence()
        source = f"Mechanism {self.mechanism}; ledger: {describe_ledger(self.anchor)}."
        if self.coefficients is not None:
            names = ("Intercept", *self.columns[1:-1])
            cells = [[name, f"{value:.4g}"] for name, value in zip(names, self.coefficients.values, strict=True)]
            notes = (promise, f"{source} Coefficients of the scaled columns.")
            return html_table(
                f"Release of a model of {self.columns[-1]}", ["coefficient", "scaled value"], cells, notes
            )
        rows = [
            [name, _cell(self.moments[0, index]), _cell(self.noise_sd[0, index])]
            for index, name in enumerate(self.columns)
        ]
        notes = (promise, f"{source} Sums are of the scaled columns.")
        return html_table(f"Release of {', '.join(self.columns[1:])}", ["column", "noisy sum", "noise sd"], rows, notes)


def _cell(value: float) -> str:
    return "not released" if math.isnan(value) else f"{value:,.1f}"


def _frozen(matrix: FloatArray) -> FloatArray:
    matrix.flags.writeable = False
    return matrix
