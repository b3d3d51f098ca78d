"""What a release promises: the sentence that a report prints, and the values behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from discreet.errors import SpecError, shown
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.checks import exact_fields, known_fields, positive, probability_below_one, within
from discreet.privacy.conditions import checked_sentences, needed_codes
from discreet.privacy.curators import CuratorTerms
from discreet.privacy.unit import Neighbours, PrivacyUnit
from discreet.text import html_table

_FIELDS = ("epsilon", "delta", "unit", "conditions", "mu", "rho")
_GAP = "mu_gap"
_LARGEST_FLOAT = math.nextafter(math.inf, 0.0)
_ADVICE = "copy the guarantee from the release unchanged"


@dataclass(frozen=True, slots=True)
class Together:
    """What several fits of one process cost, taken to be on the same rows: an upper bound.

    Attributes
    ----------
    fits
        How many.
    epsilon, delta
        What all of them together keep.

    Examples
    --------
    >>> print(Together(11, 3.718, 1e-6))
    11 fits in this process: together epsilon 3.7 at delta 1e-06
    """

    fits: int
    epsilon: float
    delta: float

    def __str__(self) -> str:
        fits = "1 fit" if self.fits == 1 else f"{self.fits} fits"
        return f"{fits} in this process: together epsilon {self.epsilon:.2g} at delta {self.delta:g}"


@dataclass(frozen=True, slots=True, repr=False)
class Guarantee:
    """Budget, unit and conditions of one release.

    Parameters
    ----------
    epsilon : float
        At least 0 and finite.
    delta : float
        At least 0 and below 1.
    unit : PrivacyUnit
        Whose presence is hidden.
    conditions : tuple of str
        What must hold for the promise to hold, one plain clause each.
    mu, rho : float, optional
        What the noise keeps beyond (epsilon, delta), in Gaussian DP or zCDP, where that is proved.
    mu_gap : float, optional
        With `mu`: how far, in total variation, the published value may be from one of a mu-Gaussian mechanism, because
        the noise is discrete; far below delta.
    together : Together, optional
        Of an estimator's fit: what all fits of this process cost. Not part of this promise, nor of any file.

    Examples
    --------
    >>> Guarantee(1.0, 1e-6, PrivacyUnit(), ()).neighbours
    'add-remove'
    """

    epsilon: float
    delta: float
    unit: PrivacyUnit
    conditions: tuple[str, ...]
    mu: float | None = None
    rho: float | None = None
    mu_gap: float | None = None
    together: Together | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        # numpy scalars and ints become floats, so that equal guarantees write equal JSON
        epsilon = within("epsilon", self.epsilon, 0.0, _LARGEST_FLOAT, advice=_ADVICE)
        delta = probability_below_one("delta", self.delta, advice=_ADVICE)
        for name, value in (("epsilon", epsilon), ("delta", delta)):
            object.__setattr__(self, name, value)
        if not isinstance(self.unit, PrivacyUnit):
            raise SpecError(f"unit is {shown(self.unit)}; it must be a PrivacyUnit; write PrivacyUnit()")
        conditions: object = self.conditions
        if not (isinstance(conditions, tuple) and all(isinstance(line, str) for line in conditions)):
            raise SpecError(f"conditions are {shown(conditions)}; they must be a tuple of sentences; write () for none")
        for name in ("mu", "rho"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, positive(name, value, advice=_ADVICE))
        if self.mu_gap is not None:
            if self.mu is None:
                raise SpecError(f"got mu_gap without mu, which it belongs to; {_ADVICE}")
            object.__setattr__(self, "mu_gap", probability_below_one("mu_gap", self.mu_gap, advice=_ADVICE))

    @classmethod
    def promised(
        cls, unit: PrivacyUnit, budget: PrivacyBudget, *, tracked: bool = False, curators: CuratorTerms | None = None
    ) -> Guarantee:
        """The promise of any mechanism that keeps the budget, with the conditions it holds under.

        `tracked`: a ledger counts what else is released. `curators`: whose parts were merged, if there are several.

        Examples
        --------
        >>> Guarantee.promised(PrivacyUnit(), PrivacyBudget(1.0, 1e-6)).epsilon
        1.0
        """
        codes = needed_codes(unit, tracked=tracked, curators=curators)
        return cls(budget.epsilon, budget.delta, unit, checked_sentences(codes, unit, curators))

    @property
    def neighbours(self) -> Neighbours:
        """How neighbouring tables differ.

        Examples
        --------
        >>> Guarantee(1.0, 1e-6, PrivacyUnit(neighbours="replace"), ()).neighbours
        'replace'
        """
        return self.unit.neighbours

    def sentence(self) -> str:
        """Give the promise in plain words.

        Returns
        -------
        str
            Who is hidden, how neighbours differ, epsilon, delta and the conditions.

        Examples
        --------
        >>> print(Guarantee(1.0, 0.0, PrivacyUnit(), ("the declared bounds were chosen without looking",)).sentence())
        This release hides whether any single row is in the table, and therefore the exact row count; neighbouring \
tables differ by one row added or removed. Every event has at most exp(1) times the probability that it has for a \
neighbouring table (epsilon = 1, delta = 0, add-remove neighbours). This holds if the declared bounds were chosen \
without looking.
        """
        more = f", plus {self.delta:g}" if self.delta > 0 else ""
        promise = (
            f"Every event has at most exp({self.epsilon:g}) times the probability that it has for a neighbouring table"
            f"{more} (epsilon = {self.epsilon:g}, delta = {self.delta:g}, {self.neighbours} neighbours)."
        )
        condition = f" This holds if {'; and if '.join(self.conditions)}." if self.conditions else ""
        return f"{self.unit.sentence} {promise}{condition}"

    def __repr__(self) -> str:
        count = len(self.conditions)
        return (
            f"<Guarantee: epsilon={self.epsilon:g}, delta={self.delta:g}, unit {self.unit.words}, "
            f"{count} condition{'' if count == 1 else 's'}>"
        )

    def _repr_html_(self) -> str:
        rows = [["epsilon", f"{self.epsilon:g}"], ["delta", f"{self.delta:g}"], ["unit", self.unit.words]]
        more = [[name, f"{value:g}"] for name, value in (("mu", self.mu), ("rho", self.rho)) if value is not None]
        return html_table("Privacy guarantee", ["", ""], [*rows, *more], [self.sentence()])

    def to_dict(self) -> dict[str, object]:
        """Give the guarantee as plain values for JSON.

        Examples
        --------
        >>> sorted(Guarantee(1.0, 1e-6, PrivacyUnit(), ()).to_dict())
        ['conditions', 'delta', 'epsilon', 'mu', 'rho', 'unit']
        """
        plain: dict[str, object] = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "unit": self.unit.to_dict(),
            "conditions": list(self.conditions),
            "mu": self.mu,
            "rho": self.rho,
        }
        # left out where there is none, so that files of earlier versions keep their text
        return plain if self.mu_gap is None else plain | {"mu_gap": self.mu_gap}

    @classmethod
    def from_dict(cls, mapping: Mapping[str, object]) -> Guarantee:
        """Read a guarantee back; missing or unknown fields and wrong types are refused.

        Parameters
        ----------
        mapping : mapping
            The fields that `to_dict` writes; `mu_gap` may be left out.

        Examples
        --------
        >>> promise = Guarantee(1.0, 1e-6, PrivacyUnit(), ("the bounds are public",))
        >>> Guarantee.from_dict(promise.to_dict()) == promise
        True
        """
        known = known_fields("guarantee", mapping, (*_FIELDS, _GAP))
        fields = exact_fields("guarantee", {name: known[name] for name in known if name != _GAP}, _FIELDS)
        conditions = fields["conditions"]
        if not isinstance(conditions, list):
            raise SpecError(f"conditions are {shown(conditions)}; they must be a list of sentences; write [] for none")
        # the constructor checks the numbers, the unit checks its own fields
        return cls(
            epsilon=cast("float", fields["epsilon"]),
            delta=cast("float", fields["delta"]),
            unit=PrivacyUnit.from_dict(cast("Mapping[str, object]", fields["unit"])),
            conditions=tuple(conditions),
            mu=cast("float | None", fields["mu"]),
            rho=cast("float | None", fields["rho"]),
            mu_gap=cast("float | None", known.get(_GAP)),
        )
