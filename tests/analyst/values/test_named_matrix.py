"""A matrix by name and name."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.analyst.values import NamedMatrix
from discreet.errors import ModelError

VALUES = np.array([[4.0, -0.5], [-0.5, 0.25]])


@pytest.fixture
def matrix():
    return NamedMatrix(["Intercept", "age"], VALUES)


def test_it_is_read_by_names_and_places(matrix):
    assert matrix["Intercept", "age"] == matrix[0, 1] == matrix[-2, "age"] == -0.5
    assert dict(matrix["age"]) == {"Intercept": -0.5, "age": 0.25}
    assert (matrix.shape, len(matrix), matrix.names) == ((2, 2), 2, ("Intercept", "age"))


def test_it_is_an_array_to_numpy_and_cannot_be_changed(matrix):
    np.testing.assert_array_equal(np.asarray(matrix), VALUES)
    np.testing.assert_array_equal(matrix.diagonal(), [4.0, 0.25])
    np.asarray(matrix)[0, 0] = 7.0
    assert matrix[0, 0] == 4.0
    with pytest.raises(ValueError, match="read-only"):
        matrix.diagonal()[0] = 1.0


def test_it_goes_to_arrow(matrix):
    assert matrix.to_frame().to_pydict() == {
        "name": ["Intercept", "age"],
        "Intercept": [4.0, -0.5],
        "age": [-0.5, 0.25],
    }


@pytest.mark.parametrize("key", ["agee", ("age", "x"), (0, 2), (True, 0)])
def test_unknown_names_are_refused(matrix, key):
    with pytest.raises(KeyError, match="unknown coefficient"):
        matrix[key]


@pytest.mark.parametrize("key", [0, ("age",), slice(None)])
def test_what_is_no_pair_is_refused(matrix, key):
    with pytest.raises(ModelError, match="a pair of names"):
        matrix[key]
