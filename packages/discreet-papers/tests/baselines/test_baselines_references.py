"""References without privacy are what they say."""

import numpy as np
import pytest

from discreet_papers.baselines.boxed_rows import LeastSquares, Mean, Ridge

GIVEN = {"epsilon": 1.0, "delta": 1e-6, "bounds": [(0.0, 1.0)] * 2, "target_bounds": (-9.0, 9.0)}


def test_they_predict_as_they_should():
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0, 1, (200, 2)), rng.uniform(-5, 5, 200)
    with_one = np.column_stack([np.ones(200), x])
    plain = with_one @ np.linalg.lstsq(with_one, y, rcond=None)[0]
    assert LeastSquares(**GIVEN).fit(x, y).predict(x) == pytest.approx(plain)
    assert Mean(**GIVEN).fit(x, y).predict(x) == pytest.approx(np.full(200, y.mean()))
    ridge = Ridge(**GIVEN).fit(x, y)
    assert np.linalg.norm(ridge.theta) < np.linalg.norm(LeastSquares(**GIVEN).fit(x, y).theta)
