"""Two tables in lockstep: the noise of the second is shifted so that all noisy sums are those of the first.

A mechanism that publishes a function of its noisy sums, and of nothing else, then publishes the same bits for both. One
that looks at an exact sum anywhere, leaves out noise, or asks the table another question, does not.

Noise is drawn for statistics in an order that `covered` writes down for each mechanism. It is NOT PRIVATE: it comes
from a seed, and part of it from the tables themselves.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.accounting.noise_distribution import entry_blocks
from discreet.options import ReleaseOptions
from discreet.planning import noise_distribution_for
from discreet.privacy.budget import PrivacyBudget
from discreet.testing.not_private import SeededSampler
from discreet.workflow import release_with

# where the functions live that are watched or replaced; move a module and change its line here
TABLE_SUMS = ("discreet.curator.table", "Table", "sums")
K_NORM_NOISE = ("discreet.mechanisms.k_norm", "k_norm_noise")
WISHART_NOISE = ("discreet.mechanisms.wishart", "wishart_noise")
WEIGHTED_WISHART_NOISE = ("discreet.mechanisms.irls", "wishart_noise")
OUTPUT_POINT = ("discreet.mechanisms.output", "ridge_in_ball")
OBJECTIVE_POINT = ("discreet.mechanisms.objective", "_minimum")


@dataclass
class Pass:
    """One pass over a table: the question down to its last bit, the exact sums, and the noise drawn after it."""

    question: object
    totals: tuple[int, ...]
    draws: list[tuple[str, list[int], list[int]]] = field(default_factory=list)


class Run:
    """A release of one table, watched: every exact sum, every draw, every point that noise is added to."""

    private = False

    def __init__(self, given: Callable[[int, int, str, list[int]], list[int]]) -> None:
        self.passes: list[Pass] = []
        self.points: list[list[int]] = []
        self.release: discreet.Release | None = None
        self._given = given

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        return self._next("gaussian", sigmas)

    def laplace(self, scales: Sequence[int]) -> list[int]:
        return self._next("laplace", scales)

    def formed(self, scales: Sequence[int], *_: object) -> list[int]:
        """Noise that a mechanism forms of several draws, as a whole."""
        size = len(self.passes[-1].totals)
        return self._next("formed", scales if len(scales) == size else [max(scales) ** 2] * size)

    def bits(self, how_many: int) -> int:
        raise AssertionError("uniform bits belong to noise that is given as a whole")

    def _next(self, kind: str, sigmas: Sequence[int]) -> list[int]:
        drawn = self.passes[-1].draws
        values = self._given(len(self.passes) - 1, len(drawn), kind, list(sigmas))
        drawn.append((kind, list(sigmas), values))
        return values


@dataclass(frozen=True)
class Setup:
    """A mechanism with its settings and the design it is tried on."""

    mechanism: str
    design: discreet.Design
    settings: dict[str, Any] = field(default_factory=dict)
    robust: bool = False
    clip_counts: bool = False
    epsilon: float = 2.0
    delta: float = 1e-6
    grid_bits: int = 16

    @property
    def indices(self) -> range:
        """Which of (1, x) are fitted."""
        return range(0 if self.design.intercept else 1, len(self.design.released) - 1)

    def covered(self, run: Run, step: int, index: int, length: int) -> list[int]:
        """The exact numbers that so many variates of the draw at `index` of pass `step` are added to."""
        totals, size, unit = run.passes[step].totals, len(self.design.released), 2**self.grid_bits
        at = {pair: k for k, pair in enumerate((i, j) for i in range(size) for j in range(i, size))}
        gram = (
            [totals[at[i, j]] for i in self.indices for j in self.indices if i <= j] if len(totals) == len(at) else []
        )
        scores = [totals[i] * unit for i in self.indices] if len(totals) == size - 1 else []
        if self.mechanism == "irls":
            if self.settings.get("form") != "moment":
                return scores if step else gram
            if self.settings.get("noise") == "wishart":
                return list(totals)
            return [totals[at[i, size - 1]] for i in self.indices] if index else gram
        if self.mechanism == "gradient":
            return scores if step else [totals[0] * unit]
        if self.mechanism in ("output", "objective"):
            return run.points[-1]
        if self.mechanism in ("ssp", "adassp"):
            if index:
                return [
                    smallest_eigenvalue([[totals[at[min(i, j), max(i, j)]] for j in self.inner] for i in self.inner])
                ]
            kept = self.released_entries()
            return [total for total, is_released in zip(totals, kept, strict=True) if is_released]
        # otherwise all sums of the pass, one after the other
        before = sum(len(values) for _, _, values in run.passes[step].draws)
        return list(totals[before : before + length])

    def released_entries(self) -> list[bool]:
        """Which sums are released, from what can be known before the table is."""
        distribution = noise_distribution_for(
            self.design, self.epsilon, self.delta, mechanism=self.mechanism, settings=self.settings
        )
        return [block in distribution.sigma for block in entry_blocks(len(self.design.released))]

    @property
    def inner(self) -> range:
        """Columns of the Gram whose smallest eigenvalue is published."""
        return range(0 if self.design.needs_sums else 1, len(self.design.released) - 1)


def smallest_eigenvalue(gram: list[list[int]]) -> int:
    """The largest integer t with gram - t I positive semidefinite, by bisection and elimination in fractions."""

    def semidefinite(shift: int) -> bool:
        rest = [[Fraction(value - shift * (i == j)) for j, value in enumerate(row)] for i, row in enumerate(gram)]
        while rest:
            (pivot, *top), *below = rest
            if pivot < 0 or (pivot == 0 and any(top)):
                return False
            rest = [
                [a - (row[0] * b / pivot if pivot else 0) for a, b in zip(row[1:], top, strict=True)] for row in below
            ]
        return True

    low, high = 0, min(row[i] for i, row in enumerate(gram)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if semidefinite(middle) else (low, middle)
    return low


def described(thing: object) -> object:
    """What sums were made with: numbers with all their bits, functions with what they hold on to, arrays by shape.

    Arrays may be space to work in, with anything in it; what sums say of a few rows shows the others.
    """
    if thing is None or isinstance(thing, int | float | str):
        return repr(thing)
    if isinstance(thing, np.ndarray):
        return str(thing.dtype), thing.shape
    if isinstance(thing, list | tuple):
        return [described(one) for one in thing]
    if isinstance(thing, MethodType):
        return thing.__func__.__qualname__, described(thing.__self__)
    if isinstance(thing, FunctionType):
        return thing.__qualname__, [described(cell.cell_contents) for cell in thing.__closure__ or ()]
    if callable(thing):
        return repr(thing)
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    parts = {name: getattr(thing, name) for name in slots} | getattr(thing, "__dict__", {})
    assert parts, f"{type(thing).__name__} does not show what it is made of"
    return type(thing).__qualname__, {name: described(parts[name]) for name in sorted(parts)}


@contextmanager
def watched(run: Run, setup: Setup) -> Iterator[None]:
    """Hand every exact sum to the run, and let it give noise that is formed as a whole."""
    module, name, method = TABLE_SUMS
    table = getattr(import_module(module), name)
    original = getattr(table, method)
    unit = 2**setup.grid_bits
    probe = np.random.default_rng(0).integers(-unit, unit + 1, (len(setup.design.released), 40)).astype(float)
    probe[0] = unit

    def sums(self: Any, wanted: Any) -> Any:
        asked, made_of = copy.deepcopy(wanted), described(wanted)
        asked.add(probe)
        moments = original(self, wanted)
        counts = tuple(count * unit**2 for count in moments.counts.clipped)
        run.passes.append(Pass((made_of, asked.totals()), (*moments.values, *counts)))
        return moments

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, method, sums)
        for module, name in (K_NORM_NOISE, WISHART_NOISE, WEIGHTED_WISHART_NOISE):
            patch.setattr(import_module(module), name, run.formed)
        patch.setattr(import_module(OUTPUT_POINT[0]), OUTPUT_POINT[1], _kept(run, OUTPUT_POINT))
        patch.setattr(import_module(OBJECTIVE_POINT[0]), OBJECTIVE_POINT[1], _kept_after(run, OBJECTIVE_POINT))
        yield


def _kept(run: Run, index: tuple[str, str]) -> Callable[..., list[int]]:
    original = getattr(import_module(index[0]), index[1])

    def call(*given: Any, **more: Any) -> list[int]:
        run.points.append(original(*given, **more))
        return list(run.points[-1])

    return call


def _kept_after(run: Run, index: tuple[str, str]) -> Callable[..., Any]:
    original = getattr(import_module(index[0]), index[1])

    def call(*given: Any, **more: Any) -> Any:
        point = yield from original(*given, **more)
        run.points.append(point)
        return list(point)

    return call


def watched_release(setup: Setup, data: object, run: Run) -> discreet.Release:
    """The release of a table with the noise of a run."""
    with watched(run, setup):
        run.release = release_with(
            run,
            data,
            setup.design,
            PrivacyBudget(setup.epsilon, setup.delta),
            ReleaseOptions(
                mechanism=setup.mechanism,
                settings=setup.settings,
                robust=setup.robust,
                clip_counts=setup.clip_counts,
                grid_bits=setup.grid_bits,
            ),
        )
    return run.release


def seeded(seed: int) -> Run:
    """A run with noise from a seed."""
    source = SeededSampler(seed)

    def given(step: int, index: int, kind: str, sigmas: list[int]) -> list[int]:
        return source.laplace(sigmas) if kind == "laplace" else source.draw(sigmas)

    return Run(given)


def shifted(setup: Setup, first: Run, more: Callable[[int, int, int], int] = lambda *_: 0) -> Run:
    """A run whose noise makes its noisy sums those of the first, plus `more` by pass, draw and place in it."""

    def given(step: int, index: int, kind: str, sigmas: list[int]) -> list[int]:
        assert step < len(first.passes), "more passes than the first table had"
        assert index < len(first.passes[step].draws), "more noise is drawn than for the first table"
        before = first.passes[step].draws[index]
        assert before[:2] == (kind, sigmas), "another distribution of noise than for the first table"
        mine = setup.covered(run, step, index, len(sigmas))
        theirs = setup.covered(_until(first, step, index), step, index, len(sigmas))
        return [
            value + a - b + more(step, index, k) if sigma else 0
            for k, (value, sigma, a, b) in enumerate(zip(before[2], sigmas, theirs, mine, strict=True))
        ]

    run = Run(given)
    return run


def _until(run: Run, step: int, index: int) -> Run:
    """The run as it was before one of its draws."""
    earlier = Run(run._given)
    earlier.points = run.points
    cut = run.passes[step]
    earlier.passes = [*run.passes[:step], Pass(cut.question, cut.totals, cut.draws[:index])]
    return earlier
