"""The guarantee of a release, and the conditions under which it holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, cast, get_args

from discreet.errors import OptionError, shown
from discreet.privacy.budget import Neighbours, PrivacyBudget, PrivacyUnit
from discreet.privacy.checks import exact_fields, is_integer, known_fields, positive, probability_below_one, within
from discreet.text import html_table
from discreet.wording import LeaveOut

# -- curators ----------------------------------------------------------------------------------------------------------
# Terms of a joint release by several curators who do not pool their rows.

# noise is drawn by each curator ("shares"), or by whoever merges the parts ("merger")
NoiseMode = Literal["shares", "merger"]
NOISE_MODES: Final[tuple[str, ...]] = get_args(NoiseMode)
# with two parts, each curator could subtract its sums from the merged sums
FEWEST_PARTS: Final = 3
MOST_PARTS: Final = 1000
_FIELDS: Final = ("parts", "honest", "parts_per_person", "noise", "session")
_HEX: Final = frozenset("0123456789abcdef")
_FINGERPRINT: Final = 64


@dataclass(frozen=True, slots=True)
class CuratorTerms:
    """Number of curators of a joint release, and how many of them must be honest.

    Parameters
    ----------
    parts : int
        Number of curators. Each holds a part of the rows.
    honest : int
        Minimum number of honest curators. The noise of their shares alone satisfies the guarantee. 0 if the merger
        draws the noise.
    parts_per_person : int
        Maximum number of parts that hold rows of the same person.
    noise : {"shares", "merger"}
        Who draws the noise: each curator a share, or the merger.
    session : str
        Fingerprint of the session, 64 hexadecimal digits.

    Examples
    --------
    >>> CuratorTerms(3, 2, 1, "shares", "0" * 64).honest
    2
    """

    parts: int
    honest: int
    parts_per_person: int
    noise: NoiseMode
    session: str

    def __post_init__(self) -> None:
        _check_integer("parts", self.parts, FEWEST_PARTS, MOST_PARTS)
        if self.noise not in NOISE_MODES:
            raise OptionError.unknown_name("noise of a session", self.noise, NOISE_MODES, option="noise")
        if self.noise == "shares":
            # a curator can subtract its own share, so at most all other shares protect people from it
            _check_integer("honest", self.honest, 1, self.parts - 1)
        elif not is_integer(self.honest) or self.honest != 0:
            raise OptionError(
                f"honest: expected 0, because the merger draws the noise; got {shown(self.honest)}",
                option="honest",
                given=self.honest,
                allowed="0",
                remedy=LeaveOut("honest"),
            )
        _check_integer("parts_per_person", self.parts_per_person, 1, self.parts)
        text: object = self.session
        if not (isinstance(text, str) and len(text) == _FINGERPRINT and set(text) <= _HEX):
            raise OptionError(
                f"session: expected a fingerprint of 64 hexadecimal digits, got {shown(text)}",
                option="session",
                given=text,
                allowed="64 hexadecimal digits",
            )

    @property
    def shares(self) -> int:
        """Number of independent noise shares that are added to each released number."""
        return self.parts if self.noise == "shares" else 1

    @property
    def counted(self) -> int:
        """Number of shares on which the guarantee relies."""
        return self.honest if self.noise == "shares" else 1

    def to_dict(self) -> dict[str, object]:
        """Return the terms as plain values for JSON."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_dict(cls, mapping: object) -> CuratorTerms:
        """Read terms from plain values. Missing fields, unknown fields and wrong values are rejected."""
        fields = cast("Mapping[str, int]", exact_fields("curators", mapping, _FIELDS))
        return cls(**fields)  # type: ignore[arg-type]


def _check_integer(name: str, value: object, low: int, high: int) -> None:
    if not is_integer(value) or not low <= value <= high:
        raise OptionError(
            f"{name} of a session: expected an integer from {low} to {high}, got {shown(value)}",
            option=name,
            given=value,
            allowed=f"an integer from {low} to {high}",
        )


# -- conditions --------------------------------------------------------------------------------------------------------
# Conditions of a guarantee. Files hold a code for each condition, and readers see its sentence.

_QUERY: Final = {
    "query-rows": "the result of the query",
    "stream-rows": "the stream, perhaps the result of a query,",
}
# for files whose cells may hold line breaks, so that quotes separate the rows
_QUOTED: Final = "quoted-cells"
# for Spark, which may evaluate parts of a plan more than once
_SPARK: Final = "spark-rows"
# conditions that follow from the source of the rows; at most one applies to a table
ORIGINS: Final = (*_QUERY, _QUOTED, _SPARK)
# replaces `only-release` if a ledger records the spend
LEDGER: Final = "ledger-budget"
# replaces `only-release` if every curator of a joint release has a ledger
LEDGERS: Final = "ledger-budgets"


def needed_codes(unit: PrivacyUnit, *, tracked: bool = False, curators: CuratorTerms | None = None) -> tuple[str, ...]:
    """Return the codes of the conditions that apply to every release with this unit.

    `tracked` means that a ledger records the release. `curators` are the terms of a joint release.

    >>> needed_codes(PrivacyUnit(neighbours="replace"))
    ('one-row', 'blind-choices', 'only-release', 'public-rows')
    >>> needed_codes(PrivacyUnit(), tracked=True)
    ('one-row', 'blind-choices', 'ledger-budget')
    """
    one_row = unit.id is None
    public = ("public-rows" if one_row else "public-persons",) if unit.neighbours == "replace" else ()
    if curators is not None:
        who = "honest-parts" if curators.noise == "shares" else "trusted-merger"
        ledgers = LEDGERS if tracked else "only-release"
        return ("part-row" if one_row else "part-id", "blind-choices", ledgers, *public, who)
    return ("one-row" if one_row else "one-id", "blind-choices", LEDGER if tracked else "only-release", *public)


def sentence_of(code: str, unit: PrivacyUnit, curators: CuratorTerms | None = None) -> str:
    """Return the sentence that states a condition, given its code.

    >>> sentence_of("one-row", PrivacyUnit())
    'each person appears in at most one row'
    """
    sentences = {
        "one-row": "each person appears in at most one row",
        "one-id": f"each person has one value of {unit.id!r}",
        "blind-choices": "bounds, levels, rules and settings were chosen without looking at the data",
        "only-release": "no other release is made from the same table (privacy losses add up)",
        LEDGER: "every other release about the same people is charged to the same data set of the same ledger, whose "
        "budget holds for all of them together (privacy losses add up)",
        "public-rows": "the number of rows in the table is public",
        "public-persons": "the number of persons in the table is public",
        _QUOTED: "every cell of the file is quoted correctly",
        _SPARK: f"{_origin_sentence('the plan of Spark', unit)}, and the plan gives the same rows however often a part "
        "of it is evaluated (rand, a limit without an order, or a table that changes meanwhile may break this)",
        **{origin: _origin_sentence(read, unit) for origin, read in _QUERY.items()},
        **({} if curators is None else _curator_sentences(unit, curators)),
    }
    if code not in sentences:
        raise OptionError.unknown_name("condition", code, sentences, option="conditions")
    return sentences[code]


def codes_of(conditions: Sequence[str], unit: PrivacyUnit, curators: CuratorTerms | None = None) -> list[str]:
    """Return the codes of conditions given as sentences. A sentence without a code is returned unchanged."""
    codes = (*needed_codes(unit, curators=curators), LEDGER if curators is None else LEDGERS, *ORIGINS)
    by_sentence = {sentence_of(code, unit, curators): code for code in codes}
    return [by_sentence.get(sentence, sentence) for sentence in conditions]


def checked_sentences(
    codes: Sequence[object], unit: PrivacyUnit, curators: CuratorTerms | None = None
) -> tuple[str, ...]:
    """Return the sentences of a release's conditions, after checking that these are the conditions of its unit.

    One more condition may follow from the source of the rows, or several in a joint release.
    """
    given = list(codes)
    needed = needed_codes(unit, tracked=LEDGER in given or LEDGERS in given, curators=curators)
    origins = given[len(needed) :]
    most = 1 if curators is None else len(ORIGINS)
    allowed = [origin for origin in ORIGINS if origin in origins]
    if given[: len(needed)] != list(needed) or len(origins) > most or origins != allowed:
        raise OptionError(
            f"conditions: expected {', '.join(needed)}, and at most {'one' if most == 1 else 'one each'} of "
            f"{', '.join(ORIGINS)}; got {shown(given)}",
            option="conditions",
            given=given,
            remedy="copy the conditions from the release unchanged",
        )
    return tuple(sentence_of(str(code), unit, curators) for code in given)


def _curator_sentences(unit: PrivacyUnit, curators: CuratorTerms) -> dict[str, str]:
    """Return the condition sentences of a joint release."""
    most, parts = curators.parts_per_person, curators.parts
    where = "is in one part" if most == 1 else f"is in at most {most} of the {parts} parts"
    others = "one" if parts - curators.honest == 1 else str(parts - curators.honest)
    compared = "and the curators compared the fingerprint of their session over a separate channel"
    return {
        "part-row": f"each person {where} and appears there in at most one row"
        if most == 1
        else f"each person {where} and appears in at most one row of each",
        "part-id": f"each person {where} and has one value of {unit.id!r} there"
        if most == 1
        else f"each person {where} and has one value of {unit.id!r} in each",
        LEDGERS: "every other release about the same people is charged to the ledgers of their curators, each of whose "
        "budgets holds for all of them together (privacy losses add up)",
        "honest-parts": f"at least {curators.honest} of the {parts} curators drew their shares of the noise as agreed "
        f"and keep them, their sums and their keys to themselves, whatever the other {others} and the merger tell each "
        f"other; {compared}",
        "trusted-merger": f"whoever merged the {parts} parts, who saw the exact pooled sums and drew the noise, drew "
        f"it as agreed and publishes nothing else; {compared}",
    }


def _origin_sentence(read: str, unit: PrivacyUnit) -> str:
    apart = (
        "each row stands for one person, each person has at most one row, and whether that row is there and what it "
        "holds depends on that person alone"
        if unit.id is None
        else f"each row stands for the one person whose {unit.id!r} it holds, and whether it is there and what it "
        "holds depends on that person alone"
    )
    return (
        f"in {read} from which the table was read {apart} (a join, a window, an aggregate, a limit, a sample or a "
        "subquery may break this)"
    )


# -- guarantee ---------------------------------------------------------------------------------------------------------
# The guarantee of a release, and its statement in reports.

_GUARANTEE_FIELDS = ("epsilon", "delta", "unit", "conditions", "mu", "rho")
_GAP = "mu_gap"
_LARGEST_FLOAT = math.nextafter(math.inf, 0.0)
_ADVICE = "copy the guarantee from the release unchanged"


@dataclass(frozen=True, slots=True)
class Together:
    """Upper bound on the privacy loss of several fits in one process, as if all used the same rows.

    Attributes
    ----------
    fits
        Number of fits.
    epsilon, delta
        Guarantee of all fits together.

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
    """Privacy guarantee of one release: epsilon, delta, unit and conditions.

    Parameters
    ----------
    epsilon : float
        At least 0 and finite.
    delta : float
        At least 0 and below 1.
    unit : PrivacyUnit
        Who is protected.
    conditions : tuple of str
        Conditions under which the guarantee holds, one clause each.
    mu, rho : float, optional
        Guarantee in Gaussian DP or zCDP, if it is proved for the noise.
    mu_gap : float, optional
        Bound on the total variation distance between the published value and the output of a mu-Gaussian mechanism. It
        is due to discrete noise, is far below delta, and needs `mu`.
    together : Together, optional
        Privacy loss of all fits of an estimator in this process. It is not part of this guarantee and not written to
        files.

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
        # converted to floats, so that equal guarantees have equal JSON
        epsilon = within("epsilon", self.epsilon, 0.0, _LARGEST_FLOAT, advice=_ADVICE)
        delta = probability_below_one("delta", self.delta, advice=_ADVICE)
        for name, value in (("epsilon", epsilon), ("delta", delta)):
            object.__setattr__(self, name, value)
        if not isinstance(self.unit, PrivacyUnit):
            raise OptionError(
                f"unit: expected a PrivacyUnit, got {shown(self.unit)}",
                option="unit",
                given=self.unit,
                allowed="a PrivacyUnit",
                remedy="write PrivacyUnit()",
            )
        conditions: object = self.conditions
        if not (isinstance(conditions, tuple) and all(isinstance(line, str) for line in conditions)):
            raise OptionError(
                f"conditions: expected a tuple of sentences, got {shown(conditions)}",
                option="conditions",
                given=conditions,
                allowed="a tuple of sentences",
                remedy="write () for none",
            )
        for name in ("mu", "rho"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, positive(name, value, advice=_ADVICE))
        if self.mu_gap is not None:
            if self.mu is None:
                raise OptionError("mu_gap needs mu, but mu is missing", option="mu_gap", remedy=_ADVICE)
            object.__setattr__(self, "mu_gap", probability_below_one("mu_gap", self.mu_gap, advice=_ADVICE))

    @classmethod
    def promised(
        cls, unit: PrivacyUnit, budget: PrivacyBudget, *, tracked: bool = False, curators: CuratorTerms | None = None
    ) -> Guarantee:
        """Return the guarantee of any mechanism that satisfies the budget, with its conditions.

        `tracked` means that a ledger records the release. `curators` are the terms of a joint release.

        >>> Guarantee.promised(PrivacyUnit(), PrivacyBudget(1.0, 1e-6)).epsilon
        1.0
        """
        codes = needed_codes(unit, tracked=tracked, curators=curators)
        return cls(budget.epsilon, budget.delta, unit, checked_sentences(codes, unit, curators))

    @property
    def neighbours(self) -> Neighbours:
        """Neighbouring relation.

        Examples
        --------
        >>> Guarantee(1.0, 1e-6, PrivacyUnit(neighbours="replace"), ()).neighbours
        'replace'
        """
        return self.unit.neighbours

    def sentence(self) -> str:
        """Return the guarantee in plain English.

        Returns
        -------
        str
            Who is hidden, how neighbouring tables differ, epsilon, delta and the conditions.

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
        """Return the guarantee as plain values for JSON.

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
        # the key is absent if there is no gap
        return plain if self.mu_gap is None else plain | {"mu_gap": self.mu_gap}

    @classmethod
    def from_dict(cls, mapping: Mapping[str, object]) -> Guarantee:
        """Read a guarantee from plain values. Missing fields, unknown fields and wrong types are rejected.

        Parameters
        ----------
        mapping : mapping
            Fields as returned by `to_dict`. Only `mu_gap` is optional.

        Examples
        --------
        >>> promise = Guarantee(1.0, 1e-6, PrivacyUnit(), ("the bounds are public",))
        >>> Guarantee.from_dict(promise.to_dict()) == promise
        True
        """
        known = known_fields("guarantee", mapping, (*_GUARANTEE_FIELDS, _GAP))
        fields = exact_fields("guarantee", {name: known[name] for name in known if name != _GAP}, _GUARANTEE_FIELDS)
        conditions = fields["conditions"]
        if not isinstance(conditions, list):
            raise OptionError(
                f"conditions: expected a list of sentences, got {shown(conditions)}",
                option="conditions",
                given=conditions,
                allowed="a list of sentences",
                remedy="write [] for none",
            )
        # the constructors check numbers and unit
        return cls(
            epsilon=cast("float", fields["epsilon"]),
            delta=cast("float", fields["delta"]),
            unit=PrivacyUnit.from_dict(cast("Mapping[str, object]", fields["unit"])),
            conditions=tuple(conditions),
            mu=cast("float | None", fields["mu"]),
            rho=cast("float | None", fields["rho"]),
            mu_gap=cast("float | None", known.get(_GAP)),
        )
