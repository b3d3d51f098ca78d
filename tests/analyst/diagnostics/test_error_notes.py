"""Sentences about errors and sets."""

from __future__ import annotations

from discreet.analyst.model import fit


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
