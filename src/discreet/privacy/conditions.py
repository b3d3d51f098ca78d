"""What a promise depends on: one code for each condition, and the sentence that people read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from discreet.errors import SpecError, shown
from discreet.privacy.curators import CuratorTerms
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
