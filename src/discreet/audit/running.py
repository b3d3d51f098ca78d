"""The audit of every mechanism and every primitive: cases, divided over processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Final

from discreet.audit.auditing import CONFIDENCE, DRAWS
from discreet.audit.pairs.situations import Situation, situations
from discreet.audit.result import SELF_TEST_FALSE_ALARMS, AuditedCase, AuditResult
from discreet.audit.statistics.judging import judged
from discreet.audit.subjects.discovery import DiscoverySubject, discovery_entries
from discreet.audit.subjects.entries import MechanismEntry, mechanism_entries
from discreet.audit.subjects.mechanisms import MechanismSubject
from discreet.audit.subjects.noise import sampler_self_test
from discreet.audit.subjects.parts import PartsSubject, parts_entries
from discreet.audit.subjects.primitives import PrimitiveSubject, primitive_entries
from discreet.audit.subjects.subject import Subject
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.exact.blas_threads import one_blas_thread
from discreet.mechanisms.catalogue import table_row

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
