"""Values by name."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.confidence_sets import ConfidenceSet
from discreet.analyst.values import NamedValues
from discreet.releases.reference_distribution import NotEstimable


def test_tables_by_name_show_their_values():
    values = NamedValues(["a", "b"], [ConfidenceSet("interval", 1.0, 2.0), NotEstimable("why")])
    assert repr(values) == "a  1 to 2\nb  not estimable: why"
    assert len(values) == 2
    with pytest.raises(KeyError, match="unknown coefficient 'c'"):
        values["c"]
    np.testing.assert_array_equal(np.asarray(NamedValues(["a"], [ConfidenceSet("interval", 1.0, 2.0)])), [[1.0, 2.0]])
