"""Incorrect claims of the class notes, with functions that evaluate them."""

from __future__ import annotations

import math
from typing import Final

from discreet_papers.figure import Erratum, Outcome
from discreet_papers.notes import notes_counts, notes_mean, notes_noisy_max

_N: Final = 100


def _sensitivity() -> Outcome:
    near, far = notes_mean.squared_sensitivity(_N), notes_mean.squared_sensitivity(_N, 1000.0)
    return Outcome(
        near <= 1 / _N, f"{near:.4f} on [0, 1], (2 - 1/n)/n, against {1 / _N:.4f}; {far:.2f} at l = 1000 (n = 100)"
    )


def _whole_line() -> Outcome:
    lost, cut = abs(notes_mean.squared_error_loss(_N, 1.0, 10.0)), notes_mean.truncated_loss(_N, 1.0)
    return Outcome(lost <= 1, f"loss {lost:.2f} at l = 10 for a claimed 1 (n = 100); cut to [0, 1] at most {cut:.2f}")


def _private_size() -> Outcome:
    losses = [notes_mean.private_size_loss(_N, 1.0, at) for at in (5.0, 50.0)]
    return Outcome(
        max(losses) <= 1, f"loss {losses[0]:.2f} at |z| = 5, {losses[1]:.2f} at 50, for a claimed 1 (n = 100)"
    )


def _exchanged() -> Outcome:
    added, exchanged = (notes_noisy_max.true_loss(200.0, 1.0, relation) for relation in ("add-remove", "replace"))
    fixed = notes_noisy_max.true_loss(200.0, 1.0, "replace", factor=2.0)
    return Outcome(
        exchanged <= 1,
        f"loss {exchanged:.2f} if a person is exchanged, {added:.3f} if added; {fixed:.3f} with 2/epsilon",
    )


def _slightly_worse() -> Outcome:
    at_half = notes_mean.absolute_error_loss(_N, _N / 2)
    at_full = notes_mean.absolute_error_loss(_N, _N)
    half = notes_counts.true_loss(notes_counts.GWAS_COUNTS, math.log(2), "add-remove") / math.log(2)
    return Outcome(
        at_half > 0.99,
        f"on the line rate n epsilon/2 loses {at_half:.2f} of epsilon, rate n epsilon {at_full:.2f}: Laplace noise; "
        f"the GWAS counts lose {half:.2f} of it",
    )


ERRATA: Final = (
    Erratum(1, "notes", "The exponential mechanism, example", "-(mean - l)^2 has sensitivity at most 1/n",
            _sensitivity),
    Erratum(2, "notes", "The exponential mechanism, example", "N(mean, 1/(n epsilon)) on the line keeps epsilon",
            _whole_line),
    Erratum(3, "notes", "The exponential mechanism, example",
            "Laplace noise of scale 1/(n epsilon) keeps epsilon for a row added or removed", _private_size),
    Erratum(4, "notes", "Report noisy max", "noise of scale 1/epsilon keeps epsilon, whoever the neighbours are",
            _exchanged),
    Erratum(5, "notes", "The exponential mechanism, example",
            "with absolute error the exponential mechanism needs twice the noise of Laplace's", _slightly_worse),
)  # fmt: skip
