"""Audit mechanisms, by drawing from neighbouring tables and certifying lower bounds on epsilon."""

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
from discreet.audit.audited_bounds import BoundsSubject, bounds_entries
from discreet.audit.audited_mechanisms import MechanismEntry, MechanismSubject, mechanism_entries
from discreet.audit.audited_parts import PartsSubject, parts_entries
from discreet.audit.audited_primitives import PrimitiveSubject, primitive_entries
from discreet.audit.judging import FEWEST_DRAWS, Claim, judged
from discreet.audit.pairs import NeighbourPair
from discreet.audit.runs import Subject, sampler_self_test
from discreet.audit.situations import Situation, situations
from discreet.design.design import Design
from discreet.errors import OptionError, shown
from discreet.exact.arrays import FloatArray, one_blas_thread
from discreet.mechanisms.registry import table_row
from discreet.privacy.checks import is_integer, is_number, listed

if TYPE_CHECKING:
    from discreet.privacy.budget import PrivacyBudget
    from discreet.privacy.guarantee import Guarantee

# -- auditing ----------------------------------------------------------------------------------------------------------
# Audit of a user-defined method on pairs of tables.

DRAWS: Final = 10_000
CONFIDENCE: Final = 0.99


# Any: tables and outputs are whatever the method takes and returns
def audit(
    method: Callable[[Any], Any],
    pairs: Iterable[NeighbourPair | Sequence[Any]],
    claimed: Claim | PrivacyBudget | Guarantee | float,
    *,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> AuditResult:
    """Try to refute a privacy claim by running a method many times on pairs of neighbouring tables.

    One half of the draws is used to choose events that distinguish the two tables, and the other half to count how
    often these events happen. Clopper-Pearson limits for their probabilities give a lower bound on epsilon. A pass is
    not a proof.

    Parameters
    ----------
    method : callable
        Function that takes a table and returns, as numbers, everything that it publishes. Every call must draw new
        noise and return equally many numbers. Each call gets a copy of the table. Text is not accepted, and every
        integer must be representable as a double.
    pairs : iterable
        Neighbouring synthetic tables, as `(table, neighbour)` tuples or as named `NeighbourPair` values.
    claimed : float, PrivacyBudget, Guarantee or Claim
        What the method claims for such neighbours: epsilon, a budget, the guarantee of a release, or a `Claim`. If the
        claim includes mu, the Gaussian trade-off curve is also tested.
    draws : int
        Number of calls for each table. With fewer than 10,000, a method that adds half of the required noise may pass.
    confidence : float
        Probability with which a method that satisfies its claim passes on all pairs. It is at least this number.

    Returns
    -------
    AuditResult
        Has `passed`, `summary()` and, for each pair, the certified epsilon and the event that certifies it.

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
        raise OptionError(option="method", given=method, allowed="a function from a table to numbers")
    if not is_integer(draws) or draws < FEWEST_DRAWS:
        raise OptionError(option="draws", given=draws, allowed=f"an integer of at least {FEWEST_DRAWS}")
    if not is_number(confidence) or not 0.5 <= confidence < 1:
        raise OptionError(option="confidence", given=confidence, allowed="a number of at least 0.5 and below 1")
    claim = Claim.of(claimed)
    pair_list = listed(pairs)
    if pair_list is None:
        raise OptionError(option="pairs", given=pairs, allowed="a list of (table, neighbour) pairs")
    named_pairs = [_named(pair, index) for index, pair in enumerate(pair_list)]
    if not named_pairs:
        raise OptionError("expected at least one pair of neighbouring tables, got none", option="pairs")
    name, alpha = getattr(method, "__name__", type(method).__name__), (1 - confidence) / len(named_pairs)
    return AuditResult(tuple(_case(name, method, pair, claim, draws, alpha) for pair in named_pairs), confidence)


def _named(pair: object, index: int) -> NeighbourPair:
    if isinstance(pair, NeighbourPair):
        return pair
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        allowed = "(table, neighbour) tuples or NeighbourPair values"
        raise OptionError(option="pairs", given=pair, allowed=allowed)
    return NeighbourPair(f"pair {index + 1}", *pair)


def _case(
    name: str, method: Callable[[Any], Any], pair: NeighbourPair, claim: Claim, draws: int, alpha: float
) -> AuditedCase:
    start = time.process_time()
    first = _drawn(method, pair.table, f"the table of '{pair.name}'", draws)
    second = _drawn(method, pair.neighbour, f"the neighbour of '{pair.name}'", draws)
    if first.shape[1] != second.shape[1]:
        raise OptionError(
            f"the method returned {first.shape[1]} numbers for the table of '{pair.name}' and {second.shape[1]} for "
            "its neighbour",
            code="varying-output",
            option="method",
            remedy="return the same number of numbers for both, padded with NaN if necessary",
        )
    judgement = judged(first, second, claim, alpha)
    return AuditedCase(name, pair.name, judgement, (), (), draws, time.process_time() - start)


def _drawn(method: Callable[[Any], Any], table: object, what: str, draws: int) -> FloatArray:
    outputs: list[list[float]] = []
    for _ in range(draws):
        outputs.append(_numbers(method(_copied(table, what))))
        if len(outputs[-1]) != len(outputs[0]) or len(outputs[0]) == 0:
            raise OptionError(
                "expected equally many numbers from every call of the method, and at least one, "
                f"got {len(outputs[0])} from the first call and {len(outputs[-1])} from a later one",
                code="varying-output",
                option="method",
                remedy="pad the shorter outputs with NaN",
            )
    return np.array(outputs)


def _copied(table: object, what: str) -> object:
    """Copy a table for one call, because the method may modify or consume it."""
    try:
        return copy.deepcopy(table)
    except Exception:
        raise OptionError(
            f"{what} cannot be copied for each call: {shown(table)}",
            code="cannot-copy",
            option="pairs",
            remedy="give lists or arrays, not generators or open files",
        ) from None


def _numbers(published: object) -> list[float]:
    """Convert all numbers in an output to doubles, or raise an error if a number would lose digits."""
    if isinstance(published, np.ndarray) and published.dtype == np.float64:
        numbers: list[float] = published.ravel().tolist()
        return numbers
    try:
        # convert one by one, because a common type may hold fewer digits than each number
        parts = np.array(published, dtype=object).ravel().tolist()
    except ValueError:
        parts = [published]
    return [part if type(part) is float else _double(part, published) for part in parts]


def _double(part: object, published: object) -> float:
    value = part.item() if isinstance(part, np.generic) else part
    if not isinstance(value, Real):
        raise OptionError(
            f"expected numbers from the method, got {shown(published)}",
            code="not-numbers",
            option="method",
            remedy="return everything that is published as numbers",
        )
    try:
        double = float(value)
    except OverflowError:
        double = np.inf
    # NaN is not equal to itself
    if double != value and value == value:
        raise OptionError(
            f"the method returned {shown(value)}, which has more digits than a double holds",
            code="too-many-digits",
            option="method",
            remedy="return it as a float, or split it into several numbers",
        )
    return double


# -- running -----------------------------------------------------------------------------------------------------------
# Audit of every mechanism and primitive, spread over several processes.

# the tests have high power at these values, and the code path is the same at every epsilon
EPSILONS: Final = (1.0, 4.0)
# draws per table for pairs that go through the whole public path
WHOLE_PATH_DRAWS: Final = 200


@dataclass(frozen=True, slots=True)
class Task:
    """One subject to audit at one epsilon, with its share of alpha.

    `situation` is the index of a pair of tables whose draws are all made by the public functions, or None.
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
    """Test the sampler, and then audit all mechanisms and primitives, or only those that `name` selects.

    Parameters
    ----------
    name : str, optional
        Name of a mechanism, which includes its variants, of a single variant, or of a primitive. The default is all
        mechanisms and primitives.
    full : bool
        Whether to also draw from `discreet.release` for every pair, at epsilon = 1, with 200 draws for each table.
    draws : int
        Number of draws for each table. Slow mechanisms use fewer.
    confidence : float
        Probability that neither the self-test of the sampler nor any case raises a false alarm.
    workers : int, optional
        Number of processes. The default is one for each core.
    progress : callable, optional
        Called after each case with its name, the number of finished cases, and the total number of cases.

    Returns
    -------
    AuditResult

    Examples
    --------
    >>> result = run_audit("primitives.randomised_response", draws=1000, confidence=1 - 1e-9, workers=1)
    >>> [case.verdict for case in result.cases], [check.passed for check in result.sampler], result.passed
    (['pass', 'pass'], [True, True], True)
    """
    names = chosen_names(name)
    requested = [Task(subject, epsilon, _draws(subject, draws), 1.0) for subject in names for epsilon in EPSILONS]
    if full:
        entries = [entry for subject, entry in mechanism_entries().items() if subject in names]
        requested += [
            Task(entry.name, EPSILONS[0], min(draws, WHOLE_PATH_DRAWS), 1.0, index)
            for entry in entries
            for index in _situation_indices(entry)
        ]
    # the self-test gets the same part of alpha as a case
    share = (1 - confidence) / (len(requested) + 1)
    sampler = sampler_self_test(min(share, SELF_TEST_FALSE_ALARMS))
    tasks = [replace(task, alpha=share) for task in requested]
    cases = []
    for case in _finished(tasks, min(workers or os.cpu_count() or 1, len(tasks))):
        cases.append(case)
        if progress is not None:
            progress(case.name, len(cases), len(tasks))
    return AuditResult(tuple(cases), confidence, sampler)


def subject_names() -> tuple[str, ...]:
    """Return the names of all mechanisms and primitives that can be audited."""
    return *mechanism_entries(), *bounds_entries(), *parts_entries(), *primitive_entries()


def chosen_names(name: str | None) -> list[str]:
    """Return the name of an entry and those of its variants, or all names if `name` is None.

    >>> chosen_names("dpme")
    ['dpme', 'dpme gaussian']
    """
    names = subject_names()
    chosen = [candidate for candidate in names if name is None or candidate == name or candidate.startswith(f"{name} ")]
    if not chosen:
        raise OptionError.unknown_name("mechanism or primitive", name, names, option="name")
    return chosen


def subject_of(task: Task) -> Subject:
    """Return the mechanism, primitive or federated session that a task audits."""
    bounds_entry = bounds_entries().get(task.name)
    if bounds_entry is not None:
        return BoundsSubject(bounds_entry, task.epsilon)
    parts_entry = parts_entries().get(task.name)
    if parts_entry is not None:
        return PartsSubject(parts_entry, task.epsilon)
    entry = mechanism_entries().get(task.name)
    if entry is None:
        return PrimitiveSubject(primitive_entries()[task.name], task.epsilon)
    if task.situation is None:
        return MechanismSubject(entry, task.epsilon, Design("y", {"y": (-1, 1), "x": (-1, 1)}))
    situation = situations(entry.mechanism)[task.situation]
    return MechanismSubject(entry, task.epsilon, situation.design, situation.pair, whole=True)


def _draws(name: str, draws: int) -> int:
    entry = (mechanism_entries() | bounds_entries() | parts_entries()).get(name)
    return draws if entry is None else min(draws, entry.most_draws)


def _situation_indices(entry: MechanismEntry) -> list[int]:
    indexed = enumerate(situations(entry.mechanism))
    return [index for index, situation in indexed if _is_served(entry, situation)]


def _is_served(entry: MechanismEntry, situation: Situation) -> bool:
    """Return whether the mechanism of an entry can be audited in a situation.

    Wishart noise supports only one row per individual. The estimator takes columns as lists and does not take ids.
    """
    if entry.estimator and (situation.design.unit.id is not None or not isinstance(situation.pair.table, dict)):
        return False
    # the tables of situations have no weights
    if entry.weights or not entry.serves(situation.design):
        return False
    several = table_row(entry.mechanism).persons and entry.settings.get("noise") != "wishart"
    return several or situation.design.unit.max_rows == 1


def audited(task: Task) -> AuditedCase:
    """Run one task. The certified bounds use half of its alpha, and the additional tests the other half."""
    start = time.process_time()
    with one_blas_thread():
        subject = subject_of(task)
        exact = subject.exact()
        drawn = subject.draws(0, task.draws), subject.draws(1, task.draws)
        judgement = judged(*drawn, subject.claim, task.alpha / 2)
        checks = subject.checks(drawn, task.alpha / 2)
    seconds = time.process_time() - start
    return AuditedCase(subject.name, subject.pair, judgement, exact, checks, task.draws, seconds)


def _finished(tasks: list[Task], workers: int) -> Iterator[AuditedCase]:
    """Yield the finished cases in the order of their tasks."""
    if workers == 1:
        yield from map(audited, tasks)
        return
    # spawn, so that no two processes share the state of a random generator
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(audited, tasks)
