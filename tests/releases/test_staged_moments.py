"""Descriptions of releases by `staged`: statistics of the table or of weighted rows, and the noise of both."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.analyst.equations.staged_sums import staged_sums
from discreet.releases.description import StagedForms
from discreet.testing import seeded_release

COLUMNS = {"x": (-4, 6), "w": (0, 30), "b": bool, "g": ["a", "b", "c"], "y": (-9, 20)}
NAMES = ("x", "w", "b", "g[b]", "g[c]", "y")


def table(seed, rows=5000):
    rng = np.random.default_rng(seed)
    x, w, b = rng.normal(1, 1, rows), rng.gamma(2.0, size=rows), rng.random(rows) < 0.3
    g = rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
    return {"x": x, "w": w, "b": b, "g": g, "y": 1 + x + 0.3 * w + b - (g == "c") + rng.normal(size=rows)}


def matrix(rows):
    parts = [rows["x"], rows["w"], rows["b"], rows["g"] == "b", rows["g"] == "c", rows["y"]]
    bounds = [COLUMNS["x"], COLUMNS["w"], (0, 1), (0, 1), (0, 1), COLUMNS["y"]]
    return np.column_stack([np.clip(part, *ends) for part, ends in zip(parts, bounds, strict=True)]).astype(float)


def released(rows, **options):
    settings = {"seed": 3, "epsilon": 1.0, "delta": 1e-6, "mechanism": "staged"} | options
    return seeded_release(rows, discreet.Design("y", COLUMNS), **settings)


def row_weights(made, values):
    """The weight of each row in the products, from the published numbers."""
    part = made.staged
    mid, half = np.array([1, 15, 0, 0, 0]), np.array([5, 15, 1, 1, 1])
    z = ((values[:, :-1] - mid) / half - part.centres) / part.scales
    return np.minimum(1, part.radius / np.sqrt(1 + (z**2).sum(axis=1))) ** 2


def weighted_statistics(values, weights):
    mean = weights @ values / weights.sum()
    moments = (values - mean).T * weights @ (values - mean) / (weights.sum() - 1)
    return mean, moments


def test_without_weights_and_noise_the_statistics_are_those_of_the_table():
    rows = table(1)
    made = released(rows, epsilon=1e7)
    about, values = made.describe(), matrix(rows)
    assert "statistics of all rows alike" in repr(about)
    assert about.rows == pytest.approx(5000, abs=0.05)
    np.testing.assert_allclose(list(about.mean.values()), values.mean(axis=0), atol=2e-3)
    np.testing.assert_allclose(list(about.sd.values()), values.std(axis=0, ddof=1), rtol=2e-3)
    correlation = [[about.correlation[one][other] for other in NAMES] for one in NAMES]
    np.testing.assert_allclose(correlation, np.corrcoef(values.T), atol=2e-3)
    ends = about.mean_conf_int(0.9)["w"]
    student = stats.t.interval(0.9, 4999, values[:, 1].mean(), stats.sem(values[:, 1]))
    assert ends == pytest.approx(student, abs=3e-3)
    fit = discreet.fit(made)
    slope = fit.params["x"] * values[:, 0].std() / values[:, -1].std()
    assert fit.standardised()["x"] == pytest.approx(slope, rel=3e-3)


@pytest.mark.no_cover
def test_intervals_cover_the_statistics_of_the_weighted_rows():
    """Six intervals of each kind in 40 releases at 95%: below 87% has a probability below 1e-4 even if they agree.

    The table is resampled from a large one, whose weighted statistics are those of the population. The unweighted mean
    of the column with a long tail is missed, as the note says.
    """
    population = matrix(table(2, 200_000))
    hits: dict[str, list[bool]] = {"mean": [], "table mean": [], "table sd": [], "correlation": [], "unweighted": []}
    for seed in range(40):
        rows = table(100 + seed, 3000)
        made = released(rows, seed=seed)
        about = made.describe()
        mean, moments = weighted_statistics(population, row_weights(made, population))
        own, own_moments = weighted_statistics(matrix(rows), row_weights(made, matrix(rows)))
        scale = np.sqrt(np.diag(moments))

        def inside(found, values):
            return [low <= value <= high for (low, high), value in zip(found.values(), values, strict=True)]

        hits["mean"] += inside(about.mean_conf_int(), mean)
        hits["table mean"] += inside(about.table_conf_int("mean"), own)
        hits["table sd"] += inside(about.table_conf_int("sd"), np.sqrt(np.diag(own_moments)))
        hits["correlation"] += inside(about.gaussian_conf_int("correlation")["y"], moments[-1] / scale / scale[-1])
        hits["unweighted"] += inside(about.mean_conf_int(), population.mean(axis=0))[1:2]
    shares = {name: np.mean(values) for name, values in hits.items()}
    assert shares.pop("unweighted") < 0.7
    assert min(shares.values()) > 0.87


def test_noise_of_forms_is_that_of_the_sums_of_a_fit():
    """Two implementations: by independent entries here, by mapped matrices in the equations of a fit."""
    made = released(table(3))
    made = replace(made, staged=replace(made.staged, missing=0.0))
    noise = staged_sums(made, made.staged, range(len(made.columns))).noise
    forms = StagedForms.of(made, made.staged)
    rng = np.random.default_rng(4)
    for _ in range(20):
        w, s, t = rng.normal(size=(3, len(made.columns)))
        stated = noise.form_covariance(w[None], s[None], t[None])[0]
        vectors = [dict(enumerate(vector.tolist())) for vector in (w, s, t)]
        found = forms.covariance((vectors[0], vectors[1]), (vectors[0], vectors[2]))
        assert found == pytest.approx(stated, rel=1e-9)
        # without the target
        rows = [np.append(vector[:-1], 0.0)[None] for vector in (w, s, t)]
        without = [{place: value for place, value in vector.items() if place < 6} for vector in vectors]
        found = forms.covariance((without[0], without[1]), (without[0], without[2]))
        assert found == pytest.approx(noise.form_covariance(*rows)[0], rel=1e-9)


def test_the_note_says_how_rows_are_weighted_and_is_in_the_json():
    made = released(table(5))
    about = made.describe()
    flat = " ".join(repr(about).split())
    assert f"a row longer than {made.staged.radius:.3g} has the weight" in flat
    assert "Release with the mechanism 'gaussian' to describe all rows alike" in flat
    assert about.to_dict()["weighting"] == about.weighting
    assert json.dumps(about.to_dict())
    # a noisy count, not one of products
    assert about.rows_sd == made.noise.sd("rows")
    assert math.isfinite(about.rows)


def test_indicators_and_a_public_number_of_rows():
    rng = np.random.default_rng(6)
    rows = {"b": rng.random(4000) < 0.5, "y": rng.random(4000) < 0.3}
    design = discreet.Design("y", {"b": bool, "y": bool}, unit={"neighbours": "replace"})
    made = seeded_release(rows, design, seed=1, epsilon=4.0, delta=1e-6, mechanism="staged")
    about = made.describe()
    assert (about.rows, about.rows_sd) == (4000, 0)
    low, high = about.table_conf_int("mean", 0.999)["b"]
    assert low <= rows["b"].mean() <= high
