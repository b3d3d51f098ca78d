"""A table in every format, and the files that hold it."""

from __future__ import annotations

import pytest

from discreet.analyst.tables.regression_table import FORMATS, SUFFIXES, checked_digits, format_of
from discreet.errors import OutputError, SpecError


def test_a_fit_writes_itself_in_every_format(fits):
    fit = fits["private"]
    assert r"age\|years" in fit.to_markdown()
    assert r"age\textbar{}years" in fit.to_latex()
    assert "re&lt;gi&amp;on[so^uth]" in fit.to_html()
    assert "'=cmd_%" in fit.to_csv()
    assert "80% interval" in fit.to_markdown(0.8)
    assert fit.to_pandas()["term"].tolist() == list(fit.names)
    assert repr(fit.table()) == fit.table().to_text()
    assert fit.table()._repr_html_() == fit.to_html()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_has_the_format_of_its_name(fits, tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    made = fits["private"].table()
    made.save(path)
    text = path.read_text(encoding="utf-8")
    assert text == made.written(SUFFIXES[suffix])
    assert text.endswith("\n")
    assert text.startswith("<!doctype html>") is (SUFFIXES[suffix] == "html")
    with pytest.raises(OutputError, match="exists"):
        made.save(path)
    made.save(path, force=True)
    assert set(SUFFIXES.values()) == set(FORMATS)


def test_what_cannot_be_written_is_refused(fits):
    with pytest.raises(OutputError, match=r"\.md, \.tex"):
        format_of("table.xlsx")
    for digits in (0, 16, 2.5, True, "4"):
        with pytest.raises(SpecError, match="expected an integer from 1 to 15 for digits"):
            checked_digits(digits)
    for label in ("a}b", "", 3):
        with pytest.raises(SpecError, match="for label, got"):
            fits["private"].to_latex(label=label)
    with pytest.raises(SpecError, match="expected text for caption, got 3"):
        fits["private"].to_latex(caption=3)
    with pytest.raises(SpecError, match="for level, got 5"):
        fits["private"].table(5)
