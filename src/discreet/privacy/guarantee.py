"""State the guarantee of a release and the conditions under which it holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, cast, get_args

from discreet.errors import SpecError, shown
from discreet.privacy.budget import Neighbours, PrivacyBudget, PrivacyUnit
from discreet.privacy.checks import exact_fields, is_integer, known_fields, positive, probability_below_one, within
from discreet.text import html_table

# -- curators ----------------------------------------------------------------------------------------------------------
# Terms on which several curators, who do not pool their rows, make one release.

# who draws the noise: every curator its share, or whoever merges the parts
NoiseMode = Literal["shares", "merger"]
NOISE_MODES: Final[tuple[str, ...]] = get_args(NoiseMode)
# with two parts each curator would read the other's sums off the merged ones
FEWEST_PARTS: Final = 3
MOST_PARTS: Final = 1000
_FIELDS: Final = ("parts", "honest", "parts_per_person", "noise", "session")
_HEX: Final = frozenset("0123456789abcdef")
_FINGERPRINT: Final = 64


@dataclass(frozen=True, slots=True)
class CuratorTerms:
    """How many curators there are, and how many of them a promise counts on.

    Parameters
    ----------
    parts : int
        Number of curators, each with a part of the rows.
    honest : int
        How many of them are honest at least: the noise of so many shares keeps the promise, whatever the others know.
        0 where whoever merges draws the noise.
    parts_per_person : int
        In how many parts one person may be.
    noise : {"shares", "merger"}
        Who draws the noise.
    session : str
        Fingerprint of the session: 64 hexadecimal digits.

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
            raise SpecError.unknown_name("noise of a session", self.noise, NOISE_MODES)
        if self.noise == "shares":
            # everybody can take its own share away, so one share never counts
            _check_integer("honest", self.honest, 1, self.parts - 1)
        elif not is_integer(self.honest) or self.honest != 0:
            raise SpecError(
                f"honest is {shown(self.honest)}; where the merger draws the noise no share protects: leave it out"
            )
        _check_integer("parts_per_person", self.parts_per_person, 1, self.parts)
        text: object = self.session
        if not (isinstance(text, str) and len(text) == _FINGERPRINT and set(text) <= _HEX):
            raise SpecError(f"the fingerprint of a session is {shown(text)}; it must have 64 hexadecimal digits")

    @property
    def shares(self) -> int:
        """How many independent shares the noise of every number is the sum of."""
        return self.parts if self.noise == "shares" else 1

    @property
    def counted(self) -> int:
        """How many of the shares the promise rests on."""
        return self.honest if self.noise == "shares" else 1

    def to_dict(self) -> dict[str, object]:
        """Give the terms as plain values for JSON.

        Examples
        --------
        >>> sorted(CuratorTerms(3, 2, 1, "shares", "0" * 64).to_dict())
        ['honest', 'noise', 'parts', 'parts_per_person', 'session']
        """
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_dict(cls, mapping: object) -> CuratorTerms:
        """Read terms back; missing or unknown fields and wrong values are refused.

        Examples
        --------
        >>> terms = CuratorTerms(3, 2, 1, "shares", "0" * 64)
        >>> CuratorTerms.from_dict(terms.to_dict()) == terms
        True
        """
        fields = cast("Mapping[str, int]", exact_fields("curators", mapping, _FIELDS))
        return cls(**fields)  # type: ignore[arg-type]


def _check_integer(name: str, value: object, low: int, high: int) -> None:
    if not is_integer(value) or not low <= value <= high:
        raise SpecError(f"{name} of a session: expected an integer from {low} to {high}, got {shown(value)}")


# -- conditions --------------------------------------------------------------------------------------------------------
# What a promise depends on: one code for each condition, and the sentence that people read.

_QUERY: Final = {
    "query-rows": "the result of the query",
    "stream-rows": "the stream, perhaps the result of a query,",
}
# where cells may hold line breaks, quotes tell rows apart
_QUOTED: Final = "quoted-cells"
# where executors read the rows, parts of the plan may be evaluated more than once
_SPARK: Final = "spark-rows"
# where the rows come from adds a condition; at most one of these
ORIGINS: Final = (*_QUERY, _QUOTED, _SPARK)
# takes the place of `only-release` where a ledger counts
LEDGER: Final = "ledger-budget"
# the same where every curator of a part has a ledger
LEDGERS: Final = "ledger-budgets"


def needed_codes(unit: PrivacyUnit, *, tracked: bool = False, curators: CuratorTerms | None = None) -> tuple[str, ...]:
    """Codes of the conditions that every release with this unit has; a tracked one is not the only one.

    `curators`: whose parts were merged, if there are several.

    >>> needed_codes(PrivacyUnit(neighbours="replace"))
    ('one-row', 'blind-choices', 'only-release', 'public-rows')
    >>> needed_codes(PrivacyUnit(), tracked=True)
    ('one-row', 'blind-choices', 'ledger-budget')
    """
    one_row = unit.id is None
    public = ("public-rows" if one_row else "public-persons",) if unit.neighbours == "replace" else ()
    if curators is not None:
        who = "honest-parts" if curators.noise == "shares" else "trusted-merger"
        books = LEDGERS if tracked else "only-release"
        return ("part-row" if one_row else "part-id", "blind-choices", books, *public, who)
    return ("one-row" if one_row else "one-id", "blind-choices", LEDGER if tracked else "only-release", *public)


def sentence_of(code: str, unit: PrivacyUnit, curators: CuratorTerms | None = None) -> str:
    """The sentence of a condition; an unknown code is refused.

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
        raise SpecError.unknown_name("condition", code, sentences)
    return sentences[code]


def codes_of(conditions: Sequence[str], unit: PrivacyUnit, curators: CuratorTerms | None = None) -> list[str]:
    """Codes of conditions that are given as sentences; a sentence without a code stays as it is.

    >>> codes_of(["each person appears in at most one row"], PrivacyUnit())
    ['one-row']
    """
    codes = (*needed_codes(unit, curators=curators), LEDGER if curators is None else LEDGERS, *ORIGINS)
    known = {sentence_of(code, unit, curators): code for code in codes}
    return [known.get(sentence, sentence) for sentence in conditions]


def checked_sentences(
    codes: Sequence[object], unit: PrivacyUnit, curators: CuratorTerms | None = None
) -> tuple[str, ...]:
    """Sentences of a release's conditions: all that its unit needs, perhaps one more for where rows come from.

    Parts of several curators may come from several kinds of places, and have one more for each kind.

    >>> checked_sentences(["one-row", "blind-choices", "only-release"], PrivacyUnit())[0]
    'each person appears in at most one row'
    """
    given = list(codes)
    needed = needed_codes(unit, tracked=LEDGER in given or LEDGERS in given, curators=curators)
    origins = given[len(needed) :]
    most = 1 if curators is None else len(ORIGINS)
    allowed = [origin for origin in ORIGINS if origin in origins]
    if given[: len(needed)] != list(needed) or len(origins) > most or origins != allowed:
        raise SpecError(
            f"conditions are {shown(given)}; a release with this unit has {', '.join(needed)}, and at most "
            f"{'one' if most == 1 else 'one each'} of {', '.join(ORIGINS)}; copy them from the release unchanged"
        )
    return tuple(sentence_of(str(code), unit, curators) for code in given)


def _curator_sentences(unit: PrivacyUnit, curators: CuratorTerms) -> dict[str, str]:
    """Sentences of the conditions under which parts of several curators are one release."""
    most, parts = curators.parts_per_person, curators.parts
    where = "is in one part" if most == 1 else f"is in at most {most} of the {parts} parts"
    others = "one" if parts - curators.honest == 1 else str(parts - curators.honest)
    compared = "and the curators compared the fingerprint of their session by another way than it was sent"
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
# What a release promises: the sentence that a report prints, and the values behind it.

_GUARANTEE_FIELDS = ("epsilon", "delta", "unit", "conditions", "mu", "rho")
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
        known = known_fields("guarantee", mapping, (*_GUARANTEE_FIELDS, _GAP))
        fields = exact_fields("guarantee", {name: known[name] for name in known if name != _GAP}, _GUARANTEE_FIELDS)
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
