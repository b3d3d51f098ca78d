"""The whole public path from a table to what is published: `discreet.release`, or the estimator."""

from __future__ import annotations

import json
import warnings

from discreet.audit.pairs.pair import Table
from discreet.audit.subjects.entries import MechanismEntry
from discreet.audit.subjects.runs import release_numbers, rest_of_release
from discreet.errors import GuardStop, PrivacyNotice
from discreet.privacy.loss import Loss
from discreet.privacy.spend import SpendReceipt, SpendRequest, untracked
from discreet.releases import Release
from discreet.workflow import Question, release


class PublicPath:
    """One release after another of made-up tables.

    Parameters
    ----------
    entry
        Which mechanism, with its settings and parts.
    asked
        The same as a question.

    Attributes
    ----------
    rests
        What releases say beside their noisy numbers: one text, if it is the same in all of them.
    """

    def __init__(self, entry: MechanismEntry, asked: Question) -> None:
        self._entry = entry
        self._asked = asked
        self.rests: set[str] = set()

    def numbers(self, table: Table) -> list[float]:
        """All numbers of a new release; the counts of the guard alone where it stopped one."""
        books = StoppedBooks()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrivacyNotice)
                made = self._estimated(table) if self._entry.estimator else self._released(table, books)
        except GuardStop:
            return [count * self._asked.law.unit for count in books.counts]
        self.rests.add(rest_of_release(made))
        return release_numbers(made)

    def _released(self, table: Table, books: StoppedBooks) -> Release:
        entry, budget = self._entry, self._asked.budget
        return release(
            table,
            self._asked.design,
            epsilon=budget.epsilon,
            delta=budget.delta,
            mechanism=entry.mechanism,
            settings=entry.settings,
            moments=entry.moments,
            robust_models=entry.robust_models(self._asked.design),
            clip_counts=entry.clip_counts,
            guard=entry.guard,
            scaling=entry.scaling,
            spend=books if entry.guard else untracked,
        )

    def _estimated(self, table: Table) -> Release:
        # needs an extra of its own
        from discreet.estimator import PrivateLinearRegression

        design, budget = self._asked.design, self._asked.budget
        given = design.columns[design.target].to_dict()
        model = PrivateLinearRegression(
            epsilon=budget.epsilon,
            delta=budget.delta,
            mechanism=self._entry.mechanism,
            # what is audited is the release, not the model read from it
            penalty="none",
            bounds={f"x{index}": design.columns[name] for index, name in enumerate(design.regressors)},
            target_bounds=given["bounds"],
            missing=given.get("missing", "error"),
            neighbours=design.unit.neighbours,
        )
        rows = zip(*(table[name] for name in design.regressors), strict=True)
        made: Release = model.fit([list(row) for row in rows], list(table[design.target])).release_
        return made


class StoppedBooks:
    """A spend hook that records nothing but the counts with which a guard stopped a release."""

    def __init__(self) -> None:
        self.counts: tuple[float, float] = (0.0, 0.0)

    def advise(self, request: SpendRequest) -> None:
        """Every request may be made."""

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        """A receipt that can be stopped."""
        return SpendReceipt("untracked", stage=lambda _, draw: draw(), stop=self._stop)

    def _stop(self, record: str, loss: Loss) -> str:
        found = json.loads(record)
        self.counts = found["fitting"], found["other"]
        return record
