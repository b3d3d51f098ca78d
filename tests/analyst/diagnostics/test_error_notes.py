"""Sentences about errors and sets."""

from __future__ import annotations

import pytest

from discreet.analyst.model import fit
from discreet.analyst.notes import PRIVACY_PART, SCORE, error_notes, reasons


def test_penalised_intervals_are_labelled(noisy):
    for options in ({"penalty": "ridge", "strength": 0.1}, {"penalty": "adaptive"}):
        result = fit(noisy, **options)
        assert result.interval_target == "penalised"
        assert result.to_dict()["interval_target"] == "penalised"
        assert "intervals are for the penalised coefficients" in " ".join(result.summary().split())
    # the adaptive rule added nothing here
    assert result.rsquared == fit(noisy).rsquared
    assert "least squares" in fit(noisy, penalty="ridge", strength=0.1).rsquared.reason
    assert fit(noisy).interval_target == "least squares"


def test_the_factor_of_the_standard_error_follows_from_the_largest_share_of_privacy(noisy):
    result = fit(noisy)
    noisiest = max(result.privacy_share, key=lambda name: result.privacy_share[name])
    worst = result.privacy_share[noisiest]
    (note,) = (note for note in error_notes(result) if note.startswith(PRIVACY_PART))
    assert (
        f"(largest for {noisiest}: {worst:.0%}). Without privacy noise the standard error of {noisiest} would be"
        in note
    )
    assert float(note.split("would be ")[1].split(" times smaller.")[0]) == pytest.approx((1 - worst) ** -0.5, rel=5e-3)
    assert reasons(result) == {}


def test_exact_sums_have_no_note_about_privacy(source):
    notes = error_notes(fit(source.release))
    assert SCORE in notes
    assert not any(note.startswith(PRIVACY_PART) for note in notes)


def test_one_reason_is_said_once_for_all_its_coefficients(noisy):
    result = fit(noisy, penalty="lasso", strength=0.01)
    (note,) = error_notes(result)
    assert note.startswith("Not estimable (Intercept, x, w, flag): an L1 penalty has no intervals")
    assert set(reasons(result)) == set(result.names)
