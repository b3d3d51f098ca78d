"""A data set and its design."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields

import pytest

from discreet.datasets import load


def test_a_dataset_cannot_be_changed(simulated: object) -> None:
    with pytest.raises(AttributeError):
        simulated.name = "other"  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        simulated.coefficients["educ"] = 1.0  # type: ignore[attr-defined]


@pytest.mark.parametrize("copied", [lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy])
@pytest.mark.parametrize("name", ["randhie", "simulated-clinical"])
def test_a_copy_of_a_dataset_is_the_same(name, copied) -> None:
    dataset = load(name)
    other = copied(dataset)
    for part in fields(dataset):
        assert getattr(other, part.name) == getattr(dataset, part.name)
