"""The baseline is AdaSSP of Wang's code on rows of a box."""

import numpy as np

from discreet_papers.baselines.boxed_rows import PublishedAdaSSP
from discreet_papers.kalaja.kalaja_methods import Sums, adassp_coded


def test_it_is_the_algorithm_of_the_thesis_on_boxed_rows():
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, (500, 2))
    y = x @ [1.0, 2.0]
    model = PublishedAdaSSP(epsilon=1.0, delta=1e-6, bounds=[(0, 1)] * 2, target_bounds=(0, 3), seed=5).fit(x, y)
    sums = Sums.of(model.box.rows(x), model.box.scaled(y))
    same = adassp_coded(sums, np.array([1.0]), 1e-6, np.random.default_rng(5))[0]
    assert (model.theta == same).all()
