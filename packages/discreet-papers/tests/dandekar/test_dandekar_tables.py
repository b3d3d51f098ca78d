"""The tables of the report and their stand-ins, scaled by their own range and by public bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

from discreet.errors import SpecError
from discreet_papers.dandekar.dandekar_experiment import (
    FOUR,
    LEVELS,
    STAND_INS,
    TITLES,
    WINE,
    WINE_BOUNDS,
    census_tables,
    report_table,
    scaled,
    wine_tables,
)
from support.dandekar_numbers import extract


def test_public_bounds_clip_and_predictions_come_back_in_observed_units() -> None:
    columns = np.array([[1.0, 10.0], [3.0, 30.0], [9.0, 90.0]])
    both = scaled(columns, np.array([[0.0, 4.0], [0.0, 40.0]]))
    assert both.X.ravel().tolist() == [-1.0, -0.5, 1.0]
    assert both.X_public.ravel().tolist() == [-0.5, 0.5, 1.0]
    inside = both.offset + both.factor * both.y_public[:2]
    assert inside == pytest.approx(both.y[:2])


@pytest.mark.no_cover
@pytest.mark.parametrize(("name", "rows", "columns"), [("cpssw8", 61_395, 4), ("simulated-ipums", 316_276, 8)])
def test_the_stand_ins_have_the_stated_size_and_lie_in_the_box(name: str, rows: int, columns: int) -> None:
    table = report_table(name, None)
    assert table.X.shape == table.X_public.shape == (rows, columns)
    for part in (table.X, table.y, table.X_public, table.y_public):
        assert np.abs(part).max() <= 1
    four = report_table(name, None, four=True)
    assert four.X.shape == (rows, 4) == (rows, len(LEVELS[name]) - 1)
    assert "stand-in" in TITLES[name]
    for j, levels in enumerate(LEVELS[name]):
        cells = np.column_stack([four.X_public, four.y_public])[:, j]
        assert (len(np.unique(cells)) == levels) == (levels > 0)


def test_wine_is_read_from_the_folder_only(tmp_path: Path) -> None:
    assert wine_tables(None) == wine_tables(tmp_path) == ()
    cells = np.random.default_rng(2).uniform(size=(40, 12)) * 9
    names = [*(f"x{j}" for j in range(11)), "y"]
    write_table(pa.table(dict(zip(names, cells.T, strict=True))), tmp_path / f"{WINE}.parquet")
    assert wine_tables(tmp_path) == (WINE,)
    assert report_table(WINE, tmp_path).X.shape == (40, 11) == (40, len(WINE_BOUNDS) - 1)


def test_an_extract_by_path_has_its_columns_and_loses_unknown_incomes(tmp_path: Path) -> None:
    assert census_tables(None) == census_tables(tmp_path) == STAND_INS
    assert census_tables(extract(tmp_path)) == (*STAND_INS, "ipums")
    assert report_table("ipums", tmp_path).X.shape == (50, 8)
    assert report_table("ipums", tmp_path, four=True).X.shape == (50, len(FOUR["ipums"]))


def test_an_extract_without_a_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ipums.csv").write_text("AGE,SEX\n30,1\n")
    missing = r"ipums.csv: expected the columns age, sex.*, but these are missing: edattain, "
    with pytest.raises(SpecError, match=missing):
        report_table("ipums", tmp_path)
    with pytest.raises(SpecError, match=r"expected ipums.parquet or ipums.csv in the data folder, got neither"):
        report_table("ipums", None)
