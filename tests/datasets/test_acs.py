"""The survey of 2012: its missing cells and its declared rules."""

from __future__ import annotations

import numpy as np

from discreet.analyst.model import fit
from discreet.testing.not_private import exact_release
from support.dataset_oracle import counted_rows, loaded


def test_the_missing_cells_of_the_survey_follow_their_declared_rules() -> None:
    dataset = loaded("acs12")
    for name in ("income", "hrs_work", "edu"):
        assert dataset.table[name].null_count > 0
    rows = counted_rows(dataset)
    assert len(rows.y) == 1_623
    # nobody who did not work in the year has hours
    assert np.mean(rows.X[:, rows.names.index("hrs_work")] == 0) > 0.3
    assert fit(exact_release(dataset.data, dataset.design)).nobs == 1_623
