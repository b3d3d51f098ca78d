"""The audit of a method of one's own: draws for pairs of tables, and what they certify."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet.audit.pairs.pair import NeighbourPair
from discreet.audit.result import AuditedCase, AuditResult
from discreet.audit.statistics.claims import Claim
from discreet.audit.statistics.judging import FEWEST_DRAWS, judged
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray
from discreet.privacy.checks import is_integer, is_number, listed

if TYPE_CHECKING:
    from discreet.privacy.budget import PrivacyBudget
    from discreet.privacy.guarantee import Guarantee

DRAWS: Final = 10_000
CONFIDENCE: Final = 0.99


# Any: tables and outputs are whatever the method takes and gives
def audit(
    method: Callable[[Any], Any],
    pairs: Iterable[NeighbourPair | Sequence[Any]],
    claimed: Claim | PrivacyBudget | Guarantee | float,
    *,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> AuditResult:
    """Try to refute a privacy claim by running a method many times on pairs of neighbouring tables.

    Half of the draws choose events that tell the two tables apart, the other half counts them. Clopper-Pearson limits
    of the counts give an epsilon that the method certainly has. A pass is not a proof.

    Parameters
    ----------
    method
        Takes a table and gives numbers: all that it publishes, always equally many. Each call is given a copy of the
        table and must draw new noise. Text is no number, and an integer must be one that a double holds.
    pairs
        Neighbouring tables, made up for the purpose: `(table, neighbour)`, or `NeighbourPair` values with a name.
    claimed
        What the method promises for such neighbours: epsilon, a `PrivacyBudget`, the `Guarantee` of a release, or a
        `Claim`. If it includes a mu, the Gaussian curve is tried too.
    draws
        Calls for each table. With fewer than 10,000, noise of half the size it should have may pass.
    confidence
        Probability that a method which keeps its claim passes, over all pairs together.

    Returns
    -------
    AuditResult
        With `passed`, `summary()`, and for each pair the certified epsilon and the event behind it.

    Examples
    --------
    >>> from discreet import primitives
    >>> def noisy_count(table):
    ...     return primitives.discrete_laplace([len(table)], sensitivity=1, epsilon=1.0).values
    >>> audit(noisy_count, [([1, 2, 3], [1, 2])], claimed=1.5, draws=2000).passed
    True
    >>> audit(noisy_count, [([1, 2, 3], [1, 2])], claimed=0.5, draws=2000).passed
    False
    """
    if not callable(method):
        raise SpecError(f"method: expected a function from a table to numbers, got {shown(method)}")
    if not is_integer(draws) or draws < FEWEST_DRAWS:
        raise SpecError(f"draws: expected an integer of at least {FEWEST_DRAWS}, got {shown(draws)}")
    if not is_number(confidence) or not 0.5 <= confidence < 1:
        raise SpecError(f"confidence: expected a number from 0.5 to below 1, got {shown(confidence)}")
    claim = Claim.of(claimed)
    given = listed(pairs)
    if given is None:
        raise SpecError(f"pairs: expected a list of pairs [(table, neighbour)], got {shown(pairs)}")
    named = [_named(pair, index) for index, pair in enumerate(given)]
    if not named:
        raise SpecError("pairs: expected at least one pair of neighbouring tables, got none")
    name, alpha = getattr(method, "__name__", type(method).__name__), (1 - confidence) / len(named)
    return AuditResult(tuple(_case(name, method, pair, claim, draws, alpha) for pair in named), confidence)


def _named(pair: object, index: int) -> NeighbourPair:
    if isinstance(pair, NeighbourPair):
        return pair
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise SpecError(f"pairs: expected (table, neighbour) or a NeighbourPair, got {shown(pair)}")
    return NeighbourPair(f"pair {index + 1}", *pair)


def _case(
    name: str, method: Callable[[Any], Any], pair: NeighbourPair, claim: Claim, draws: int, alpha: float
) -> AuditedCase:
    start = time.process_time()
    one = _drawn(method, pair.table, f"the table of '{pair.name}'", draws)
    other = _drawn(method, pair.neighbour, f"the neighbour of '{pair.name}'", draws)
    if one.shape[1] != other.shape[1]:
        raise SpecError(
            f"the method gave {one.shape[1]} numbers for one table of '{pair.name}' and {other.shape[1]} for the "
            "other; publish equally many, or pad with NaN"
        )
    found = judged(one, other, claim, alpha)
    return AuditedCase(name, pair.name, found, (), (), draws, time.process_time() - start)


def _drawn(method: Callable[[Any], Any], table: object, what: str, draws: int) -> FloatArray:
    outputs: list[list[float]] = []
    for _ in range(draws):
        outputs.append(_numbers(method(_copied(table, what))))
        if len(outputs[-1]) != len(outputs[0]) or len(outputs[0]) == 0:
            raise SpecError(
                f"expected equally many numbers from every call, at least one, got {len(outputs[0])} and "
                f"{len(outputs[-1])}; pad with NaN"
            )
    return np.array(outputs)


def _copied(table: object, what: str) -> object:
    """A table for one call: a method that empties the one that it is given would see nothing the next time."""
    try:
        return copy.deepcopy(table)
    except Exception:
        raise SpecError(
            f"{what} cannot be copied for each call: {shown(table)}; give lists or arrays, no generator, no open file"
        ) from None


def _numbers(published: object) -> list[float]:
    """All numbers of an output, as doubles that hold them."""
    if isinstance(published, np.ndarray) and published.dtype == np.float64:
        found: list[float] = published.ravel().tolist()
        return found
    try:
        # one by one: a common type of several numbers may hold fewer digits than each of them
        parts = np.array(published, dtype=object).ravel().tolist()
    except ValueError:
        parts = [published]
    return [part if type(part) is float else _double(part, published) for part in parts]


def _double(part: object, published: object) -> float:
    value = part.item() if isinstance(part, np.generic) else part
    if not isinstance(value, Real):
        raise SpecError(
            f"expected numbers from the method, got {shown(published)}; return all that is published, as numbers"
        )
    try:
        double = float(value)
    except OverflowError:
        double = np.inf
    # what is not equal to itself is no number, and a double says so
    if double != value and value == value:
        raise SpecError(
            f"got {shown(value)} from the method, which has more digits than a double holds; publish float(value), or "
            "parts such as divmod(value, 2**32) as numbers of their own"
        )
    return double
