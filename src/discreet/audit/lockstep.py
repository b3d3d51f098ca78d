"""Two unrelated tables in lockstep: noise that makes all noisy sums equal must make all that is published equal.

The first table is run with noise of the production sampler. For the second, each variate is moved by what the exact
numbers under it differ by. A mechanism that adds every variate to its number once, and uses noisy numbers alone, then
publishes the same bits. Noise that is made smaller after the draw, left out or used twice shows, and so does an exact
sum that is used anywhere; also in numbers that are not published themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final, NamedTuple

from discreet.accounting.noise_distribution import CLIPPED
from discreet.audit.exact_losses import COMPARED, Compared, is_replayed, pass_changes, replayed
from discreet.audit.noise_tests import Check
from discreet.audit.pairs import Table
from discreet.audit.runs import MadeUpRows, one_run
from discreet.curator.sums.gram import Sums, Totals
from discreet.curator.sums.residuals import ResidualPass
from discreet.design.columns import Base, Boolean, Numeric
from discreet.design.design import Design
from discreet.mechanisms.sampler import Sampler
from discreet.workflow import Question

# a number that noise makes negative, and that is then not used, says nothing in one run
LOCKSTEP_RUNS: Final = 20
# where every run says all
_FEW: Final = 3
# of the other table; a prime, so that no two columns repeat each other
_ROWS: Final = 11
# what counts of rows that were clipped, and of rows that do not fit, have more in the other table
_MORE: Final = 3
# a choice draws as many variates as it takes, and the noise of a whole vector is formed of uniform bits
_NOT_ADDED: Final = ("frank-wolfe", "k-norm")


def lockstep_checks(asked: Question, rows: MadeUpRows, sampler: Sampler) -> tuple[Check, ...]:
    """How many published numbers and draws differ, at most in one run; none expected.

    No check where noise is not added to numbers one by one, or where the number of rows is public. A mechanism whose
    searches draw one variate after another is replayed. A minimum with a random linear term has no equal on another
    table: there the noise on the minimum alone is tried.

    Parameters
    ----------
    asked
        The mechanism with its law.
    rows
        A table.
    sampler
        Source of the noise.
    """
    if asked.mechanism.name == "objective":
        return (Check("noise on the point", float(max(_off_point(asked, rows, sampler) for _ in range(_FEW))), 0.0),)
    if is_replayed(asked) and not asked.design.rows_public:
        other = MadeUpRows(unrelated_table(asked.design), asked.design, asked.domain)
        differing = [_replay_differs(asked, (rows, other), sampler) for _ in range(_FEW)]
        return (Check("tables in lockstep", float(max(differing)), 0.0),)
    compared = COMPARED.get(asked.mechanism.name)
    if compared is None or asked.mechanism.name in _NOT_ADDED:
        return ()
    if asked.law.family == "wishart" or asked.design.rows_public:
        return ()
    table = unrelated_table(asked.design)
    other = MadeUpRows(table, asked.design, asked.domain, clip_counts=CLIPPED in asked.law.sigma)
    found = [_differing(asked, compared, (rows, other), sampler) for _ in range(LOCKSTEP_RUNS)]
    return (Check("tables in lockstep", float(max(found)), 0.0),)


def unrelated_table(design: Design) -> Table:
    """Numbers all over their bounds, and all levels in turn.

    >>> unrelated_table(Design("y", {"y": (0, 10), "b": bool}))["y"][:3]
    [0.0, 2.0, 4.0]
    """
    columns = design.table_columns.items()
    return {name: _cells(column, place + 2) for place, (name, column) in enumerate(columns)}


def _cells(column: Base, step: int) -> list[object]:
    if isinstance(column, Numeric):
        low, high = column.bounds
        return [low + (high - low) * (step * row % _ROWS) / (_ROWS - 1) for row in range(_ROWS)]
    if isinstance(column, Boolean):
        return [step * row % _ROWS % 2 == 0 for row in range(_ROWS)]
    return [column.levels[row % len(column.levels)] for row in range(_ROWS)]


def _differing(asked: Question, compared: Compared, sides: tuple[MadeUpRows, MadeUpRows], sampler: Sampler) -> int:
    """How many numbers differ between one run on the first table and one on the second that is kept in step."""
    first = _First(sides[0], sampler)
    published = one_run(asked, first, first.read)
    second = _Second(asked, compared, sides[1], first)
    again = one_run(asked, second, second.read)
    # as they are written to a file, where -0.0 is another text than 0.0
    pairs = itertools.zip_longest(map(repr, published), map(repr, again))
    return sum(bool(one != other) for one, other in pairs) + second.strayed()


def _replay_differs(asked: Question, sides: tuple[MadeUpRows, MadeUpRows], sampler: Sampler) -> bool:
    """Whether a run on the second table with the noisy numbers of one on the first publishes something else."""
    (first, published), (second, again) = replayed(asked, sides, sampler)
    return bool(published != again or first.scales != second.scales or not first.scales)


def _off_point(asked: Question, rows: MadeUpRows, sampler: Sampler) -> int:
    """How many coefficients differ from the minimum plus their noise; without noise the minimum itself is published."""
    first = _First(rows, sampler)
    published = one_run(asked, first, first.read)
    drawn = [one for part in first.drawn for one in part]
    on_point = [one.scale == asked.law.sigma["coefficients"] for one in drawn]
    quiet = _Repeated([0 if there else one.value for one, there in zip(drawn, on_point, strict=True)])
    noise = [one.value for one, there in zip(drawn, on_point, strict=True) if there]
    point = one_run(asked, quiet, rows.sums)
    # without an intercept the first coefficient is 0
    fitted = slice(0 if asked.design.intercept else 1, None)
    steps = [(a - b) * asked.law.unit for a, b in zip(published[fitted], point[fitted], strict=True)]
    return sum(bool(step != added) for step, added in itertools.zip_longest(steps, noise))


class _Variates:
    """What all sources of noise in step have in common."""

    private = True

    def bits(self, how_many: int) -> int:
        """None: what is formed of uniform bits is not added to one number."""
        raise NotImplementedError(f"{how_many} bits were asked for by a mechanism that cannot be kept in step")


class _First(_Variates):
    """A table and the noise of a run on it, written down pass by pass."""

    def __init__(self, rows: MadeUpRows, source: Sampler) -> None:
        self._rows = rows
        self._source = source
        self.totals: list[Totals] = []
        self.drawn: list[list[_Variate]] = []

    def read(self, wanted: Sums) -> Totals:
        """The answer to a question."""
        self.totals.append(self._rows.sums(wanted))
        self.drawn.append([])
        return self.totals[-1]

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Discrete Gaussian variates."""
        return self._kept("gaussian", sigmas, self._source.draw(sigmas))

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """Discrete Laplace variates."""
        return self._kept("laplace", scales, self._source.laplace(scales))

    def _kept(self, family: str, scales: Sequence[int], values: list[int]) -> list[int]:
        self.drawn[-1] += [_Variate(family, *one) for one in zip(scales, values, strict=True) if one[0]]
        return values


class _Second(_Variates):
    """Another table, and the noise of the first run moved by what the exact numbers of the two differ by."""

    def __init__(self, asked: Question, compared: Compared, rows: MadeUpRows, first: _First) -> None:
        self._asked = asked
        self._compared = compared
        self._rows = rows
        self._first = first
        self._pass = -1
        self._place = 0
        self._moves: list[tuple[int, int]] = []
        self._strayed = 0

    def read(self, wanted: Sums) -> Totals:
        """The answer to a question, and with it how far the noise that follows is moved."""
        self._strayed += self._not_drawn()
        self._pass, self._place = self._pass + 1, 0
        found = self._rows.sums(wanted)
        found += Totals((0,) * len(found.values), found.unit, 0, (_MORE,) * len(found.clipped), (0, _MORE))
        before = self._first.totals[self._pass]
        residuals = isinstance(wanted, ResidualPass)
        self._moves = list(pass_changes(self._asked, self._compared, self._pass, before, found, residuals=residuals))
        return found

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """Gaussian variates of the first run, moved."""
        return [self._moved("gaussian", sigma) for sigma in sigmas]

    def laplace(self, scales: Sequence[int]) -> list[int]:
        """Laplace variates of the first run, moved."""
        return [self._moved("laplace", scale) for scale in scales]

    def strayed(self) -> int:
        """How many draws had another law than in the first run or than is stated, or were made in one run alone."""
        return self._strayed + self._not_drawn()

    def _moved(self, family: str, scale: int) -> int:
        if scale == 0:
            return 0
        drawn, place = self._first.drawn[self._pass], self._place
        self._place += 1
        if place >= min(len(drawn), len(self._moves)):
            self._strayed += 1
            return 0
        before, (change, stated) = drawn[place], self._moves[place]
        self._strayed += (before.family, before.scale, stated) != (family, scale, scale)
        return before.value + change

    def _not_drawn(self) -> int:
        return max(0, len(self._first.drawn[self._pass]) - self._place) if self._pass >= 0 else 0


class _Repeated(_Variates):
    """Variates that are given, one after the other, whatever is asked for."""

    def __init__(self, values: Sequence[int]) -> None:
        self._values = iter(values)

    def draw(self, sigmas: Sequence[int]) -> list[int]:
        """The next ones."""
        return [next(self._values, 0) if sigma else 0 for sigma in sigmas]

    # one source, whatever the family
    laplace = draw


class _Variate(NamedTuple):
    """What was drawn, and of which law."""

    family: str
    scale: int
    value: int
