"""The last figure of the notebook."""

from __future__ import annotations

import numpy as np

from discreet_papers.neunhoeffer.neunhoeffer_line_figures import ols_line
from discreet_papers.neunhoeffer.neunhoeffer_objective import ours, perturbed


def test_releases_by_objective_perturbation_lie_on_least_squares_and_ours_do_not():
    theirs = perturbed(seed=1, version="older", draws=50, repeats=2)
    assert theirs == perturbed(seed=1, version="older", draws=50, repeats=2)
    slopes = [row["value"] for row in theirs if row["data"] == "plain"]
    assert np.abs(np.array(slopes) - ols_line()[1]).max() < 1e-3
    private = np.array([row["value"] for row in ours(seed=1, repeats=5)])
    assert np.nanmedian(np.abs(private - ols_line()[1])) > 0.05
