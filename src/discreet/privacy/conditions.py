"""What a promise depends on: one code for each condition, and the sentence that people read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from discreet.errors import SpecError, shown
from discreet.privacy.unit import PrivacyUnit

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


def needed_codes(unit: PrivacyUnit, *, tracked: bool = False) -> tuple[str, ...]:
    """Codes of the conditions that every release with this unit has; a tracked one is not the only one.

    >>> needed_codes(PrivacyUnit(neighbours="replace"))
    ('one-row', 'blind-choices', 'only-release', 'public-rows')
    >>> needed_codes(PrivacyUnit(), tracked=True)
    ('one-row', 'blind-choices', 'ledger-budget')
    """
    one_row = unit.id is None
    public = ("public-rows" if one_row else "public-persons",) if unit.neighbours == "replace" else ()
    return ("one-row" if one_row else "one-id", "blind-choices", LEDGER if tracked else "only-release", *public)


def sentence_of(code: str, unit: PrivacyUnit) -> str:
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
    }
    if code not in sentences:
        raise SpecError.unknown_name("condition", code, sentences)
    return sentences[code]


def codes_of(conditions: Sequence[str], unit: PrivacyUnit) -> list[str]:
    """Codes of conditions that are given as sentences; a sentence without a code stays as it is.

    >>> codes_of(["each person appears in at most one row"], PrivacyUnit())
    ['one-row']
    """
    known = {sentence_of(code, unit): code for code in (*needed_codes(unit), LEDGER, *ORIGINS)}
    return [known.get(sentence, sentence) for sentence in conditions]


def checked_sentences(codes: Sequence[object], unit: PrivacyUnit) -> tuple[str, ...]:
    """Sentences of a release's conditions: all that its unit needs, perhaps one more for where rows come from.

    >>> checked_sentences(["one-row", "blind-choices", "only-release"], PrivacyUnit())[0]
    'each person appears in at most one row'
    """
    given = list(codes)
    needed = needed_codes(unit, tracked=LEDGER in given)
    if (
        given[: len(needed)] != list(needed)
        or len(given) > len(needed) + 1
        or any(one not in ORIGINS for one in given[len(needed) :])
    ):
        raise SpecError(
            f"conditions are {shown(given)}; a release with this unit has {', '.join(needed)}, and at most one of "
            f"{', '.join(ORIGINS)}; copy them from the release unchanged"
        )
    return tuple(sentence_of(str(code), unit) for code in given)


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
