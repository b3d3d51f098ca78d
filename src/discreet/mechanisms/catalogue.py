"""The mechanism table: what each mechanism is and costs, read off the mechanisms themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, get_args

from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.losses.settings import Setting, checked_settings
from discreet.mechanisms.choice import predicted_error
from discreet.mechanisms.interface.protocol import Mechanism
from discreet.mechanisms.registry import mechanism_named, mechanisms
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.unit import Neighbours, PrivacyUnit
from discreet.releases import NoiseLaw

SIZES: Final = (5, 20)
_BUDGETS: Final = {
    "pure": PrivacyBudget(1.0),
    "approximate": PrivacyBudget(1.0, 1e-6),
    "both": PrivacyBudget(1.0, 1e-6),
}


@dataclass(frozen=True, slots=True)
class TableRow:
    """One mechanism as the table shows it.

    Attributes
    ----------
    name, kind, summary, document, notion, domain, needs, numerics, references, settings
        As the mechanism's card says.
    status
        Of the guarantee: what is proved, and for which arithmetic.
    neighbours
        Relations it is proved for.
    persons
        Whether a unit may have several rows.
    clip_counts
        Whether it can also count clipped rows.
    noise
        By number of regressors: standard deviation of the noise of each statistic in scaled units at epsilon = 1
        (delta = 1e-6 unless pure), for numbers in a box under `add-remove`; `equation` is what the noise does to one
        normal equation. Text where the mechanism refuses such a design.
    main
        The statistic whose noise a table shows: `equation` for moments, for coefficients the one that moves them most.
    """

    name: str
    kind: str
    summary: str
    document: str
    notion: str
    domain: str
    needs: tuple[str, ...]
    numerics: str
    status: str
    neighbours: tuple[str, ...]
    persons: bool
    clip_counts: bool
    noise: Mapping[int, Mapping[str, float] | str]
    references: tuple[str, ...]
    settings: Mapping[str, Setting]
    main: str

    def main_noise(self, size: int) -> float | None:
        """The figure that a table shows for so many regressors; none where the mechanism refuses them."""
        noise = self.noise[size]
        if isinstance(noise, str):
            return None
        return noise[self.main]

    def to_dict(self) -> dict[str, object]:
        """The row as plain values for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "summary": self.summary,
            "document": self.document,
            "notion": self.notion,
            "domain": self.domain,
            "needs": list(self.needs),
            "numerics": self.numerics,
            "status": self.status,
            "neighbours": list(self.neighbours),
            "persons": self.persons,
            "clip_counts": self.clip_counts,
            "noise": {
                str(size): {"refused": noise} if isinstance(noise, str) else dict(noise)
                for size, noise in self.noise.items()
            },
            "main": self.main,
            "references": list(self.references),
            "settings": [
                {
                    "name": name,
                    "default": setting.default,
                    "about": setting.about,
                    "low": setting.low if math.isfinite(setting.low) else None,
                    "high": setting.high if math.isfinite(setting.high) else None,
                    "choices": list(setting.choices),
                    "only_with": None if setting.only_with is None else dict([setting.only_with]),
                }
                for name, setting in self.settings.items()
            ],
        }


def mechanism_table() -> tuple[TableRow, ...]:
    """A row for every mechanism of this version.

    >>> [row.kind for row in mechanism_table() if row.name == "gaussian"]
    ['moments']
    """
    return tuple(table_row(name) for name in mechanisms())


def table_row(name: str) -> TableRow:
    """The row of one mechanism."""
    mechanism = mechanism_named(name)
    info = mechanism.info
    several = PrivacyUnit(id="person", max_rows=2)
    return TableRow(
        name=mechanism.name,
        kind=mechanism.kind,
        summary=info.summary,
        document=info.document,
        notion=info.notion,
        domain=info.domain,
        needs=info.needs,
        numerics=info.numerics,
        status="proved" if info.numerics == "exact" else "proved for real numbers, floating point not covered",
        neighbours=tuple(
            relation
            for relation in get_args(Neighbours)
            if _noise(mechanism, 3, PrivacyUnit(neighbours=relation)) is not None
        ),
        persons=_noise(mechanism, 3, several) is not None,
        clip_counts=info.clip_counts,
        noise={size: _cost(mechanism, size) for size in SIZES},
        references=info.references,
        settings=info.settings,
        main="equation" if mechanism.kind == "moments" else info.main or _only_statistic(mechanism),
    )


def _standard(size: int, unit: PrivacyUnit) -> Design:
    return Design("y", {**{f"x{j}": (-1, 1) for j in range(size)}, "y": (-1, 1)}, unit=unit)


def _law(mechanism: Mechanism, size: int, unit: PrivacyUnit) -> NoiseLaw:
    design = _standard(size, unit)
    settings = checked_settings(mechanism.name, mechanism.info.settings, None)
    return mechanism.noise_model(design, RowDomain.of(design), _BUDGETS[mechanism.info.notion], settings)


def _noise(mechanism: Mechanism, size: int, unit: PrivacyUnit) -> NoiseLaw | None:
    try:
        return _law(mechanism, size, unit)
    except SpecError:
        return None


def _only_statistic(mechanism: Mechanism) -> str:
    (statistic,) = _law(mechanism, 3, PrivacyUnit()).sigma
    return statistic


def _cost(mechanism: Mechanism, size: int) -> Mapping[str, float] | str:
    try:
        law = _law(mechanism, size, PrivacyUnit())
    except SpecError as refusal:
        return str(refusal)
    by_statistic = {statistic: law.sd(statistic) for statistic in law.sigma}
    if mechanism.kind == "moments":
        by_statistic["equation"] = math.sqrt(predicted_error(law, size + 2))
    return by_statistic
