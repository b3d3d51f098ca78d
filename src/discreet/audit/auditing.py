"""Audit mechanisms: draw from neighbouring tables and certify lower bounds on epsilon."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from discreet.audit.audit_result import SELF_TEST_FALSE_ALARMS, AuditedCase, AuditResult
from discreet.audit.audited_bounds import DiscoverySubject, discovery_entries
from discreet.audit.audited_mechanisms import MechanismEntry, MechanismSubject, mechanism_entries
from discreet.audit.audited_parts import PartsSubject, parts_entries
from discreet.audit.audited_primitives import PrimitiveSubject, primitive_entries
from discreet.audit.judging import FEWEST_DRAWS, Claim, judged
from discreet.audit.pairs import NeighbourPair
from discreet.audit.runs import Subject, sampler_self_test
from discreet.audit.situations import Situation, situations
from discreet.design.design import Design
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray, one_blas_thread
from discreet.mechanisms.registry import table_row
from discreet.privacy.checks import is_integer, is_number, listed

if TYPE_CHECKING:
    from discreet.privacy.budget import PrivacyBudget
    from discreet.privacy.guarantee import Guarantee

# -- auditing ----------------------------------------------------------------------------------------------------------
# The audit of a method of one's own: draws for pairs of tables, and what they certify.

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


# -- running -----------------------------------------------------------------------------------------------------------
# The audit of every mechanism and every primitive: cases, divided over processes.

# power is cheap there, and the code that runs is the same at every epsilon
EPSILONS: Final = (1.0, 4.0)
# draws of each table of a pair that goes through the whole public path, beside its exact loss
WHOLE_PATH_DRAWS: Final = 200


@dataclass(frozen=True, slots=True)
class Task:
    """One case: a subject at one epsilon, and its part of the chance of a false alarm.

    Attributes
    ----------
    situation
        Place of a pair among all those of a mechanism, all of whose draws go through the whole public path; none for
        its worst pair, with sums computed once.
    """

    name: str
    epsilon: float
    draws: int
    alpha: float
    situation: int | None = None


def run_audit(
    name: str | None = None,
    *,
    full: bool = False,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
    workers: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> AuditResult:
    """Test the sampler, then audit one subject, or all of them.

    Parameters
    ----------
    name
        A mechanism with all its entries, or one entry; all subjects unless given.
    full
        Beside all that, every pair through the whole public path, at epsilon = 1 and with 200 draws of each table.
    draws
        For each of two tables; fewer where one takes milliseconds, as `most_draws` of an entry says.
    confidence
        Over the self-test of the sampler and all cases together.
    workers
        Processes; as many as there are cores unless given.
    progress
        Called with the name of a case that ended, how many have, and how many there are.

    Examples
    --------
    >>> result = run_audit("primitives.randomised_response", draws=1000, confidence=1 - 1e-9, workers=1)
    >>> [case.verdict for case in result.cases], [check.passed for check in result.sampler], result.passed
    (['pass', 'pass'], [True, True], True)
    """
    names = chosen_names(name)
    wanted = [Task(one, epsilon, _draws(one, draws), 1.0) for one in names for epsilon in EPSILONS]
    if full:
        entries = [entry for one, entry in mechanism_entries().items() if one in names]
        wanted += [
            Task(entry.name, EPSILONS[0], min(draws, WHOLE_PATH_DRAWS), 1.0, place)
            for entry in entries
            for place in _places(entry)
        ]
    # the self-test has a share as every case has
    share = (1 - confidence) / (len(wanted) + 1)
    sampler = sampler_self_test(min(share, SELF_TEST_FALSE_ALARMS))
    tasks = [replace(task, alpha=share) for task in wanted]
    cases = []
    for case in _finished(tasks, min(workers or os.cpu_count() or 1, len(tasks))):
        cases.append(case)
        if progress is not None:
            progress(case.name, len(cases), len(tasks))
    return AuditResult(tuple(cases), confidence, sampler)


def subject_names() -> tuple[str, ...]:
    """Names of all subjects.

    >>> subject_names()[0], subject_names()[-1]
    ('gaussian', 'primitives.exponential_mechanism')
    """
    return *mechanism_entries(), *discovery_entries(), *parts_entries(), *primitive_entries()


def chosen_names(name: str | None) -> list[str]:
    """The subjects that a name stands for: itself, and the same with other noise.

    >>> chosen_names("dpme")
    ['dpme', 'dpme gaussian']
    """
    known = subject_names()
    found = [one for one in known if name is None or one == name or one.startswith(f"{name} ")]
    if not found:
        raise SpecError.unknown_name("mechanism or primitive", name, known)
    return found


def subject_of(task: Task) -> Subject:
    """The subject of a task."""
    searched = discovery_entries().get(task.name)
    if searched is not None:
        return DiscoverySubject(searched, task.epsilon)
    shared = parts_entries().get(task.name)
    if shared is not None:
        return PartsSubject(shared, task.epsilon)
    entry = mechanism_entries().get(task.name)
    if entry is None:
        return PrimitiveSubject(primitive_entries()[task.name], task.epsilon)
    if task.situation is None:
        return MechanismSubject(entry, task.epsilon, Design("y", {"y": (-1, 1), "x": (-1, 1)}))
    found = situations(entry.mechanism)[task.situation]
    return MechanismSubject(entry, task.epsilon, found.design, found.pair, whole=True)


def _draws(name: str, draws: int) -> int:
    entry = (mechanism_entries() | discovery_entries() | parts_entries()).get(name)
    return draws if entry is None else min(draws, entry.most_draws)


def _places(entry: MechanismEntry) -> list[int]:
    """Pairs of a mechanism that go through the whole public path: all those that it serves."""
    known = enumerate(situations(entry.mechanism))
    return [place for place, one in known if _is_served(entry, one)]


def _is_served(entry: MechanismEntry, found: Situation) -> bool:
    """Wishart noise serves no persons of several rows; the estimator is given lists, and no ids."""
    if entry.estimator and (found.design.unit.id is not None or not isinstance(found.pair.table, dict)):
        return False
    # tables of single pairs have no weights
    if entry.weights or not entry.serves(found.design):
        return False
    several = table_row(entry.mechanism).persons and entry.settings.get("noise") != "wishart"
    return several or found.design.unit.max_rows == 1


def audited(task: Task) -> AuditedCase:
    """Carry out one task: half of its alpha is for bounds, half for the tests beside them."""
    start = time.process_time()
    with one_blas_thread():
        subject = subject_of(task)
        exact = subject.exact()
        drawn = subject.draws(0, task.draws), subject.draws(1, task.draws)
        found = judged(*drawn, subject.claim, task.alpha / 2)
        checks = subject.checks(drawn, task.alpha / 2)
    seconds = time.process_time() - start
    return AuditedCase(subject.name, subject.pair, found, exact, checks, task.draws, seconds)


def _finished(tasks: list[Task], workers: int) -> Iterator[AuditedCase]:
    """Cases in the order of their tasks."""
    if workers == 1:
        yield from map(audited, tasks)
        return
    # a new process each, so that no two share the state of a generator
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(audited, tasks)
