"""The privacy budget (epsilon, delta) and the privacy unit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, get_args

from discreet.errors import OptionError, UnsupportedError, written
from discreet.exact.rounding import down, root_down
from discreet.privacy import gaussian_dp
from discreet.privacy.checks import (
    check_flag,
    exact_fields,
    is_integer,
    known_fields,
    positive,
    probability_below_one,
)
from discreet.text import has_invisible_characters
from discreet.wording import Message, SetOption

# -- budget ------------------------------------------------------------------------------------------------------------
# An immutable amount of privacy loss that a release may spend, in one of three privacy measures.

Currency = Literal["approximate", "zcdp", "gdp"]

# delta at which a zCDP or Gaussian DP budget is converted to an (epsilon, delta) pair
REFERENCE_DELTA = 1e-6

_EPSILON_ADVICE = "choose an epsilon between 0.1 and 8"
_DELTA_ADVICE = "choose a delta well below one over the number of rows, such as 1e-6"
_FIELDS: dict[str, tuple[str, ...]] = {
    "approximate": ("currency", "epsilon", "delta"),
    "zcdp": ("currency", "rho"),
    "gdp": ("currency", "mu"),
}

_EPSILON_NOTICE, _EPSILON_REFUSED = 8.0, 20.0
_DELTA_NOTICE, _DELTA_REFUSED = 1e-5, 1e-3

# Shares as floats have rounding errors, so their sum may exceed 1 slightly. 2^-50 allows eight roundings per share. The
# shares are divided by their exact sum if it exceeds 1, so the tolerance costs no privacy.
_SHARES_TOLERANCE = Fraction(1, 2**50)


@dataclass(frozen=True, slots=True)
class PrivacyBudget:
    """Privacy budget in (epsilon, delta), in rho of zCDP, or in mu of Gaussian DP.

    For a zCDP or Gaussian DP budget, `epsilon` and `delta` hold the pair that it implies at delta = 1e-6. These two
    fields therefore always state a valid guarantee.

    Parameters
    ----------
    epsilon : float
        Finite and above 0.
    delta : float
        At least 0 and below 1. A delta of 0 means pure DP, which no Gaussian mechanism satisfies.

    Attributes
    ----------
    currency : {"approximate", "zcdp", "gdp"}
        Privacy measure of the budget. "approximate" stands for (epsilon, delta).
    rho, mu : float or None
        Value in zCDP or Gaussian DP, or None if the budget has another privacy measure.

    Examples
    --------
    >>> PrivacyBudget(1.0, 1e-6).currency
    'approximate'
    """

    epsilon: float
    delta: float = 0.0
    currency: Currency = field(default="approximate", init=False)
    rho: float | None = field(default=None, init=False)
    mu: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        _set(self, epsilon=positive("epsilon", self.epsilon, advice=_EPSILON_ADVICE))
        _set(self, delta=probability_below_one("delta", self.delta, advice=_DELTA_ADVICE))

    @classmethod
    def zcdp(cls, rho: float) -> PrivacyBudget:
        """Create a budget in zero-concentrated DP, with rho from 1e-25 to 1e10.

        Bun & Steinke 2016, Definition 1.1.

        >>> PrivacyBudget.zcdp(0.1).rho
        0.1
        """
        return _in_currency("zcdp", gaussian_dp.epsilon_from_rho(rho, REFERENCE_DELTA), rho=float(rho))

    @classmethod
    def gdp(cls, mu: float) -> PrivacyBudget:
        """Create a budget in Gaussian DP, with mu from 1e-12 to 1e5.

        Dong, Roth & Su 2022, Definition 2.6.

        >>> PrivacyBudget.gdp(0.5).mu
        0.5
        """
        return _in_currency("gdp", gaussian_dp.epsilon_from(mu, REFERENCE_DELTA), mu=float(mu))

    def gdp_mu(self) -> float:
        """Return the largest mu of a Gaussian mechanism within the budget, rounded down.

        Returns
        -------
        float
            mu of a Gaussian DP budget, sqrt(2 rho) of a zCDP budget [Bun & Steinke 2016, Proposition 1.6], or the exact
            mu of an (epsilon, delta) pair.

        Examples
        --------
        >>> PrivacyBudget.zcdp(0.5).gdp_mu()
        1.0
        >>> round(PrivacyBudget(1.0, 1e-6).gdp_mu(), 6)
        0.236704
        """
        if self.mu is not None:
            return self.mu
        if self.rho is not None:
            return root_down(2 * Fraction(self.rho))
        if self.delta == 0:
            raise OptionError(
                f"a Gaussian mechanism needs delta > 0, got epsilon = {self.epsilon:g} and delta = 0",
                code="delta-needed",
                option="delta",
                given=self.delta,
                allowed="a number above 0",
                remedy="set a delta such as 1e-6",
            )
        return gaussian_dp.mu_from(self.epsilon, self.delta)

    def epsilon_at(self, delta: float) -> float:
        """Return the smallest epsilon that the budget implies at this delta.

        Parameters
        ----------
        delta : float
            For an (epsilon, delta) budget, at least its delta. Otherwise from 1e-300 to 0.5.

        Examples
        --------
        >>> PrivacyBudget(1.0, 1e-6).epsilon_at(1e-5)
        1.0
        >>> round(PrivacyBudget.gdp(1.0).epsilon_at(1e-6), 4)
        4.8866
        """
        if self.mu is not None:
            return gaussian_dp.epsilon_from(self.mu, delta)
        if self.rho is not None:
            return gaussian_dp.epsilon_from_rho(self.rho, delta)
        if probability_below_one("delta", delta, advice=_DELTA_ADVICE) < self.delta:
            raise OptionError(
                f"expected a delta of at least the budget's own delta = {self.delta:g}, got {delta:g}",
                option="delta",
                given=delta,
                allowed=f"a number of at least {self.delta:g}",
                remedy=(f"pass a delta of {self.delta:g} or more", "create the budget with PrivacyBudget.gdp(mu)"),
            )
        return self.epsilon

    def split(self, *shares: float) -> tuple[PrivacyBudget, ...]:
        """Split the budget into parts whose composition satisfies the whole budget.

        Gaussian DP splits mu^2 and zCDP splits rho, both exactly. An (epsilon, delta) pair is split in proportion
        (basic composition). Each part is rounded down.

        Parameters
        ----------
        *shares : float
            Positive, with a sum of at most 1.

        Examples
        --------
        >>> [part.epsilon for part in PrivacyBudget(1.0, 1e-6).split(0.75, 0.25)]
        [0.75, 0.25]
        >>> [part.mu for part in PrivacyBudget.gdp(1.0).split(0.25, 0.25)]
        [0.5, 0.5]
        """
        if not shares:
            raise OptionError(
                "split() needs at least one share, got none", option="shares", remedy="write split(0.5, 0.5)"
            )
        exact = [Fraction(positive("share", share, advice="write split(0.5, 0.5)")) for share in shares]
        total = sum(exact, Fraction(0))
        if total > 1 + _SHARES_TOLERANCE:
            raise OptionError(
                f"expected shares with a sum of at most 1, got shares that sum to {float(total):.17g}",
                option="shares",
                allowed="a sum of at most 1",
                remedy="divide each share by the sum",
            )
        fair = max(total, Fraction(1))
        return tuple(self._part(share / fair) for share in exact)

    def _part(self, share: Fraction) -> PrivacyBudget:
        if self.mu is not None:
            return PrivacyBudget.gdp(root_down(share * Fraction(self.mu) ** 2))
        if self.rho is not None:
            return PrivacyBudget.zcdp(down(share * Fraction(self.rho)))
        return PrivacyBudget(down(share * Fraction(self.epsilon)), down(share * Fraction(self.delta)))

    def to_dict(self) -> dict[str, str | float]:
        """Return the budget as plain values for JSON, in its own privacy measure.

        Examples
        --------
        >>> PrivacyBudget.zcdp(0.1).to_dict()
        {'currency': 'zcdp', 'rho': 0.1}
        """
        return {name: getattr(self, name) for name in _FIELDS[self.currency]}

    @classmethod
    def from_dict(cls, mapping: Mapping[str, object]) -> PrivacyBudget:
        """Read a budget from plain values. Missing and unknown fields are rejected.

        Parameters
        ----------
        mapping : mapping
            `currency` and the fields of that privacy measure.

        Examples
        --------
        >>> PrivacyBudget.from_dict({"currency": "approximate", "epsilon": 1.0, "delta": 0.0}).epsilon
        1.0
        """
        everything = known_fields("budget", mapping, ("currency", "epsilon", "delta", "rho", "mu"))
        currency = everything.get("currency")
        if currency not in _FIELDS:
            raise OptionError.unknown_name("budget currency", currency, _FIELDS, option="currency")
        values = exact_fields(f"{currency} budget", mapping, _FIELDS[str(currency)])
        numbers = {
            name: probability_below_one(name, value, advice=_DELTA_ADVICE)
            if name == "delta"
            else positive(name, value, advice=_EPSILON_ADVICE)
            for name, value in values.items()
            if name != "currency"
        }
        if currency == "zcdp":
            return cls.zcdp(numbers["rho"])
        if currency == "gdp":
            return cls.gdp(numbers["mu"])
        return cls(numbers["epsilon"], numbers["delta"])


def as_pair(budget: PrivacyBudget, *, wanted: str = "epsilon and delta") -> tuple[float, float]:
    """Return epsilon and delta of a budget. Reject a budget in another privacy measure.

    `wanted` names the supported measure in the error message.
    """
    if budget.currency != "approximate":
        raise UnsupportedError(
            f"this mechanism needs a budget in {wanted}, got a budget in {budget.currency}",
            code="wrong-privacy-measure",
            option="budget",
        )
    return budget.epsilon, budget.delta


def check_strength(budget: PrivacyBudget, allow_weak_privacy: bool) -> tuple[str, ...]:
    """Return notices about a weak budget. Reject a budget that gives almost no protection.

    Parameters
    ----------
    budget : PrivacyBudget
        A zCDP or Gaussian DP budget is judged by its epsilon at delta = 1e-6.
    allow_weak_privacy : bool
        Whether to accept epsilon above 20 and delta above 1e-3, with a notice instead of an error.

    Returns
    -------
    tuple of str
        Notices, empty for an ordinary budget.

    Examples
    --------
    >>> check_strength(PrivacyBudget(1.0, 1e-6), allow_weak_privacy=False)
    ()
    >>> len(check_strength(PrivacyBudget(9.0, 1e-6), allow_weak_privacy=False))
    1
    """
    check_flag("allow_weak_privacy", allow_weak_privacy)
    notices: list[str] = []
    consent = Message("if that is intended, ", SetOption("allow_weak_privacy", True))
    if budget.epsilon > _EPSILON_REFUSED and not allow_weak_privacy:
        raise OptionError(
            f"expected an epsilon of at most {_EPSILON_REFUSED:g}, got {budget.epsilon:g}, which gives almost no "
            "protection",
            code="weak-privacy",
            option="epsilon",
            given=budget.epsilon,
            allowed=f"a number of at most {_EPSILON_REFUSED:g}",
            remedy=Message(_EPSILON_ADVICE, "; ", consent),
        )
    if budget.delta > _DELTA_REFUSED and not allow_weak_privacy:
        raise OptionError(
            f"expected a delta of at most {_DELTA_REFUSED:g}, got {budget.delta:g}, which allows a release to reveal "
            "whole rows by chance",
            code="weak-privacy",
            option="delta",
            given=budget.delta,
            allowed=f"a number of at most {_DELTA_REFUSED:g}",
            remedy=Message(_DELTA_ADVICE, "; ", consent),
        )
    if budget.epsilon > _EPSILON_NOTICE:
        # e^epsilon may exceed the float range
        factor = f"{math.exp(budget.epsilon):,.0f}" if budget.epsilon < _EPSILON_REFUSED else f"e^{budget.epsilon:g}"
        notices.append(
            f"WEAK PRIVACY: epsilon = {budget.epsilon:g} lets one row change the odds of any conclusion about it by a "
            f"factor of up to {factor}; {_EPSILON_ADVICE} for real protection."
        )
    if budget.delta > _DELTA_NOTICE:
        notices.append(
            f"delta = {budget.delta:g} is large, because it allows a mechanism to publish a row with this probability; "
            f"{_DELTA_ADVICE}."
        )
    return tuple(notices)


def _in_currency(
    currency: Currency, epsilon: float, *, rho: float | None = None, mu: float | None = None
) -> PrivacyBudget:
    """Create a budget in zCDP or Gaussian DP, bypassing the constructor, which takes only epsilon and delta."""
    budget = object.__new__(PrivacyBudget)
    _set(budget, epsilon=epsilon, delta=REFERENCE_DELTA, currency=currency, rho=rho, mu=mu)
    return budget


def _set(budget: PrivacyBudget, **values: float | str | None) -> None:
    # the class is frozen, so fields cannot be assigned directly
    for name, value in values.items():
        object.__setattr__(budget, name, value)


# -- unit --------------------------------------------------------------------------------------------------------------
# The privacy unit (who is protected) and the neighbouring relation.

Neighbours = Literal["add-remove", "replace"]

_SENTENCES: dict[str, str] = {
    "add-remove": (
        "This release hides whether any single row is in the table, and therefore the exact row count; "
        "neighbouring tables differ by one row added or removed."
    ),
    "replace": (
        "This release hides everything in any single row, but not the row count; "
        "neighbouring tables have the same public number of rows and differ in one of them."
    ),
}

_PERSON_SENTENCES: dict[str, str] = {
    "add-remove": (
        "This release hides whether {person} is in the table, and therefore the exact numbers of rows and people; "
        "neighbouring tables differ by all rows of one person added or removed."
    ),
    "replace": (
        "This release hides everything about {person}, but not the number of people; "
        "neighbouring tables have the same public number of people and differ in all rows of one of them."
    ),
}
_MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """Privacy unit and neighbouring relation: what may differ between neighbouring tables.

    Parameters
    ----------
    neighbours : {"add-remove", "replace"}
        Whether neighbouring tables differ by one unit added or removed, or by the contents of one unit.
    id : str, optional
        Column that identifies the person, for tables with several rows per person. If omitted, each row is a unit.
    max_rows : int
        Maximum number of rows used per id. If an id has more rows, those with the smallest keyed digests are used.

    Examples
    --------
    >>> PrivacyUnit().neighbours
    'add-remove'
    """

    neighbours: Neighbours = "add-remove"
    id: str | None = None
    max_rows: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.neighbours, str) or self.neighbours not in get_args(Neighbours):
            raise OptionError.unknown_name("neighbours", self.neighbours, get_args(Neighbours), option="neighbours")
        # values from a file may have any type
        name: object = self.id
        rows: object = self.max_rows
        if isinstance(name, str) and has_invisible_characters(name):
            raise OptionError(
                f"unit id: expected a column name without invisible characters, got {written(name)}",
                option="id",
                given=name,
                remedy="rename the column",
            )
        if name is not None and not (isinstance(name, str) and name and name == name.strip()):
            raise OptionError(
                f"unit id: expected the name of a column, without blanks at its ends, got {written(name)}",
                option="id",
                given=name,
                allowed="the name of a column",
                remedy="leave out id if the unit is one row",
            )
        if isinstance(rows, str) and not rows:
            raise OptionError(
                "max_rows is blank",
                option="max_rows",
                given=rows,
                allowed="an integer of at least 1",
                remedy="set the maximum number of rows used per person",
            )
        if not is_integer(rows) or rows < 1:
            raise OptionError(
                f"max_rows: expected an integer of at least 1, got {written(rows)}",
                option="max_rows",
                given=rows,
                allowed="an integer of at least 1",
            )
        if self.max_rows > 1 and self.id is None:
            raise OptionError(
                f"max_rows = {written(self.max_rows)} needs an id column, which says which rows belong to one person",
                option="id",
                remedy="set id to the name of that column",
            )
        if self.max_rows > _MOST_ROWS:
            raise OptionError(
                f"max_rows: expected an integer of at most {_MOST_ROWS}, got {written(self.max_rows)}",
                option="max_rows",
                given=self.max_rows,
                allowed=f"an integer of at most {_MOST_ROWS}",
                remedy="choose a smaller number, because the noise grows with max_rows",
            )

    @property
    def sentence(self) -> str:
        """Plain-English statement of what the release hides.

        Examples
        --------
        >>> print(PrivacyUnit(neighbours="replace").sentence[:52])
        This release hides everything in any single row, but
        """
        if self.id is None:
            return _SENTENCES[self.neighbours]
        rows = f"at most {self.max_rows} rows are used" if self.max_rows > 1 else "one row is used"
        return _PERSON_SENTENCES[self.neighbours].format(person=f"any single person ({self.id}; {rows})")

    @property
    def words(self) -> str:
        """Short description of the unit and the neighbouring relation.

        Examples
        --------
        >>> PrivacyUnit().words, PrivacyUnit(id="pid", max_rows=3).words
        ('one row (add-remove)', 'one person (pid, at most 3 rows; add-remove)')
        """
        if self.id is None:
            return f"one row ({self.neighbours})"
        rows = "one row" if self.max_rows == 1 else f"at most {self.max_rows} rows"
        return f"one person ({self.id}, {rows}; {self.neighbours})"

    def to_dict(self) -> dict[str, str | int | None]:
        """Return the unit as plain values for JSON.

        Examples
        --------
        >>> PrivacyUnit().to_dict()
        {'neighbours': 'add-remove', 'id': None, 'max_rows': 1}
        """
        return {"neighbours": self.neighbours, "id": self.id, "max_rows": self.max_rows}

    @classmethod
    def from_dict(cls, mapping: Mapping[str, object]) -> PrivacyUnit:
        """Read a unit from plain values. Missing fields get their defaults. Unknown fields are rejected.

        Parameters
        ----------
        mapping : mapping
            Any of `neighbours`, `id` and `max_rows`.

        Examples
        --------
        >>> PrivacyUnit.from_dict({"neighbours": "replace"})
        PrivacyUnit(neighbours='replace', id=None, max_rows=1)
        """
        fields = known_fields("unit", mapping, ("neighbours", "id", "max_rows"))
        # the constructor checks the type of every value
        return cls(**fields)  # type: ignore[arg-type]
