"""How a release was made, in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.accounting.noise_distribution import CALIBRATIONS, FAMILIES
from discreet.design.columns import Numeric
from discreet.design.design import Design
from discreet.pages.provenance import provenance
from discreet.testing.not_private import exact_release, seeded_release
from support.every_column import mixed
from support.report_cases import PROMISE, example
from support.report_pages import inside, page_of, words

PARAMETERS = {"k-norm": {"dimension": 15}, "wishart": {"degrees": 40}}


def test_exact_arithmetic_and_a_public_count_are_said_too() -> None:
    release = inside(numerics="exact")
    design = Design("y", release.design.columns, unit={"neighbours": "replace"})
    public = replace(release, design=design, guarantee=replace(PROMISE, unit=design.unit), units_public=4000)
    text = words(page_of(public))
    assert "exact: noise and sums are integers" in text
    assert "rows 4,000" in text
    assert "D012" not in text
    lines = {line.block: line.per_row for line in provenance(public).noise}
    assert lines["score"] == public.noise.sd("score") / 4000


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_every_distribution_and_calibration_has_its_words(family: str, calibration: str) -> None:
    plain = example()
    distribution = replace(plain.noise, family=family, calibration=calibration, parameters=PARAMETERS.get(family, {}))
    release = replace(plain, noise=distribution)
    made = provenance(release)
    assert family.split("-")[-1] in made.family.lower().replace("k-norm", "norm")
    assert ("independent noise" in made.family) == (family in ("discrete-gaussian", "discrete-laplace"))
    assert made.calibration
    lines = {line.block: line.sd for line in made.noise}
    assert lines["number of rows"] == distribution.sd("count")
    assert lines["regressors times target"] == distribution.sd("cross")


def test_a_mean_that_was_left_in_is_said() -> None:
    distribution = replace(example().noise, family="wishart", parameters={"degrees": 40})
    release = replace(example(), noise=distribution, settings={"debiased": False})
    assert "including its mean" in provenance(release).family
    assert "minus its mean" in provenance(replace(release, settings={"debiased": True})).family


def test_every_kind_of_column_is_described() -> None:
    told = {column.name: column for column in provenance(mixed()).columns}
    assert told["y"].role == "target"
    assert told["h"].role == "not released"
    assert told["a"].missing == "filled with 0.5"
    assert told["b"].missing == "row dropped"
    assert told["g"].declared == "u (reference), v, w"
    assert told["g"].missing == "table refused"
    assert told["square"].kind == "number, by the formula a ** 2"
    assert told["curve"].declared.endswith("basis functions")
    assert told["above"].kind.startswith("yes or no, by")
    assert told["part"].kind.startswith("levels, by")
    assert told["twice"].missing == "follows the columns it uses"


def test_noise_is_told_by_block_and_per_row_where_there_are_rows() -> None:
    release = example()
    lines = {line.block: line for line in provenance(release).noise}
    assert lines["number of rows"].sd == release.noise_sd[0, 0]
    assert lines["regressors times target"].sd == release.noise_sd[1, -1]
    assert lines["number of rows"].per_row == pytest.approx(release.noise_sd[0, 0] / release.moments[0, 0])
    empty = exact_release({"y": [], "a": []}, Design("y", dict.fromkeys("ya", Numeric((0, 1), "drop"))))
    assert {line.per_row for line in provenance(empty).noise} == {None}


def test_noise_of_staged_is_told_by_what_is_released() -> None:
    """Its sums are weighted, whitened or clipped, so they are not those of the declared columns."""
    columns = {"y": (0, 1), "x": (0, 2), "b": bool}
    made = seeded_release(
        {"y": [0, 1, 1], "x": [1, 0, 1], "b": [1, 0, 1]}, Design("y", columns), seed=1, epsilon=1.0, delta=1e-6
    )
    assert made.mechanism == "staged-seeded"
    told = provenance(made)
    lines = {line.block: line.sd for line in told.noise}
    assert lines["number of rows"] == made.full_noise.sd("rows")
    assert lines["weighted products of regressors"] == made.full_noise.sd("gram_off_diagonal")
    assert lines["other entries of the whitened residual score"] == made.full_noise.sd("cross")
    assert len(lines) == len(made.full_noise.sigma)
    assert "in units of bounds that the release contains" in words(page_of(made))


def test_squares_of_indicators_have_no_line_of_their_own() -> None:
    """They are copies of noisy sums: the line of squares is of the other columns, if there are any."""

    def lines(columns: dict[str, object]) -> dict[str, float]:
        design = Design("y", {"y": (0, 1), **columns})
        table = {name: [values[0]] * 3 if isinstance(values, list) else [1, 0, 1] for name, values in columns.items()}
        made = seeded_release(table | {"y": [0, 1, 1]}, design, seed=1, epsilon=1.0, delta=1e-6, mechanism="gaussian")
        return {line.block: line.sd for line in provenance(made).noise}

    numbers, both, flags = lines({"x": (0, 2)}), lines({"x": (0, 2), "b": bool}), lines({"b": bool, "g": ["u", "v"]})
    assert {"sums of regressors", "squares of regressors"} <= set(numbers)
    sums, squares = (
        "sums of regressors, of indicators also their squares",
        "squares of regressors that are not indicators",
    )
    assert {sums, squares} <= set(both)
    assert sums in flags
    assert not any(name.startswith("squares of") for name in flags)


def test_staged_names_its_own_statistics() -> None:
    random = np.random.default_rng(1)
    table = {name: random.uniform(0, 1, 500) for name in "xy"}
    design = Design("y", {"y": (0, 8), "x": (0, 2)})
    release = seeded_release(table, design, seed=1, epsilon=20.0, delta=1e-6, mechanism="staged")
    lines = {line.block: line.sd for line in provenance(release).noise}
    assert lines["number of rows"] == release.noise.sd("rows")
    assert lines["sum of squared weights"] == release.noise.sd("count")
    assert len(lines) == len(release.noise.sigma)
    assert not lines.keys() & {name.replace("_", " ") for name in release.noise.sigma}
    text = words(page_of(release))
    assert "were then scaled by released centres and scales" in text
    assert "scaled to -1 to 1" not in text
    assert "The release does not count these rows" in text
    assert "In units of the released bounds of each kind of sum." in text


def test_weights_are_not_a_number_of_rows() -> None:
    table = {"y": [1.0, 2.0] * 50, "x": [0.0, 1.0] * 50, "w": [1.0, 2.0] * 50}
    design = Design("y", {"y": (0, 8), "x": (0, 2), "w": (0, 4)}, weights="w")
    release = seeded_release(table, design, seed=1, epsilon=5.0, delta=1e-6)
    lines = {line.block: line.sd for line in provenance(release).noise}
    assert lines["sum of weights"] == release.noise.sd("count")
    assert lines["number of rows"] == release.noise.sd("rows")


def test_found_bounds_are_not_called_declared_and_their_counts_are_listed() -> None:
    random = np.random.default_rng(1)
    table = {name: random.uniform(0, 1, 2_000) for name in "xy"}
    design = Design("y", {"y": (0, 8), "x": {"bounds": "private"}})
    release = seeded_release(table, design, seed=1, epsilon=20.0, delta=1e-6)
    lines = {line.block: line.sd for line in provenance(release).noise}
    assert lines["counts that bounds were found from"] == release.full_noise.sd("discovery")
    text = words(page_of(release))
    assert "Declared, or found privately: 2 columns" in text
    assert "Declared before any row was read" not in text
