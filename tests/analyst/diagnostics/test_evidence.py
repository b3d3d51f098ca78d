"""What diagnostics look at: the Gram of the slopes with its means taken out, and its spectrum."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.diagnostics import Evidence
from discreet.design.model_columns import model_of
from support.diagnosed import release, table


def evidence(columns=None, **options) -> Evidence:
    made = release(columns, sigma=0.0)
    return Evidence(made, model_of(made.design, **options), None)


def test_without_noise_the_spectrum_is_that_of_the_centred_columns():
    columns = table(twin=0.3)
    values, vectors = evidence(columns).spectrum
    Z = np.column_stack([columns["x"], columns["z"]])
    centred = (Z - Z.mean(axis=0)).T @ (Z - Z.mean(axis=0))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(centred), rtol=1e-3)
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, centred, rtol=1e-3)
    assert not np.allclose(values, np.linalg.eigvalsh(Z.T @ Z), rtol=1e-3), "means left in would be seen"


def test_the_gram_belongs_to_the_slopes_and_not_to_the_intercept():
    assert evidence().model.names == ("Intercept", "x", "z")
    assert evidence().names == ("x", "z")
    assert evidence().about.gram.shape == (2, 2)


def test_a_line_through_the_origin_keeps_every_coefficient():
    assert evidence(intercept=False).names == ("x", "z")
    assert evidence(features=["z"], intercept=False).names == ("z",)


def test_what_is_looked_at_is_computed_once():
    one = evidence()
    assert one.equations is one.equations
    assert one.about is one.about
    with pytest.raises(AttributeError):
        one.fit = None
