"""The simulated tables follow their models."""

from __future__ import annotations

import pytest

from discreet.analyst.model import fit
from discreet.datasets import load
from discreet.errors import SpecError
from discreet.testing.not_private import exact_release
from support.dataset_oracle import counted_rows

SIMULATED = ("simulated-census", "simulated-clinical", "simulated-ipums")
# a sample of its own model lies further off with a probability of 6e-7 for each coefficient; the seeds are fixed
STANDARD_ERRORS = 5
DRAWN = 100_000


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("name", SIMULATED)
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_an_exact_release_recovers_the_known_coefficients(name: str, seed: int | None) -> None:
    dataset = load(name, seed=seed)
    assert dataset.coefficients is not None
    exact = fit(exact_release(dataset.data, dataset.design)).params
    ordinary = counted_rows(dataset).ordinary()
    assert set(exact) == set(dataset.coefficients)
    for coefficient, known in dataset.coefficients.items():
        error = ordinary[coefficient][1]
        assert abs(exact[coefficient] - known) < STANDARD_ERRORS * error
        # and the sample is large enough to tell it from nothing
        assert abs(known) > 4 * error


@pytest.mark.parametrize("name", SIMULATED)
def test_no_value_lies_outside_bounds_that_follow_from_the_model(name: str) -> None:
    shares = counted_rows(load(name, rows=DRAWN, seed=3)).clipped
    assert set(shares.values()) == {0.0}


@pytest.mark.parametrize("name", SIMULATED)
def test_the_seed_decides_about_the_rows_and_not_about_the_design(name: str) -> None:
    assert load(name).table.equals(load(name).table)
    assert load(name, rows=50, seed=4).table.equals(load(name, rows=50, seed=4).table)
    assert not load(name, rows=50, seed=4).table.equals(load(name, rows=50, seed=5).table)
    assert load(name, rows=50).design == load(name).design


@pytest.mark.parametrize("spec", [{"rows": 0}, {"rows": True}, {"rows": 2.0}, {"seed": -1}, {"seed": "1"}])
def test_size_and_seed_are_whole_numbers(spec: dict[str, object]) -> None:
    with pytest.raises(SpecError, match=f"expected an integer of at least . for {next(iter(spec))}, got "):
        load("simulated-census", **spec)  # type: ignore[arg-type]
