"""`discreet.report`: the page of a release and a model of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet
from discreet.errors import OutputError, SpecError
from discreet.pages.page import render
from discreet.pages.view import report_view

DESIGN = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})


def seeded(seed: int = 1) -> discreet.Release:
    table = {"x": [1.0, 2.0, 3.0] * 400, "y": [2.0, 4.5, 6.0] * 400}
    return discreet.testing.seeded_release(table, DESIGN, seed=seed, epsilon=1.0, delta=1e-6)


def test_the_page_is_that_of_the_full_model_unless_a_fit_is_given() -> None:
    release = seeded()
    assert discreet.report(release).html == render(report_view(release, discreet.fit(release)))
    ridge = discreet.fit(release, penalty="ridge", strength=0.1)
    page = discreet.report(release, ridge, level=0.8)
    assert page.html == render(report_view(release, ridge, level=0.8))
    assert page.to_dict() == report_view(release, ridge, level=0.8).to_dict()
    json.dumps(page.to_dict(), allow_nan=False)
    assert repr(page) == "<report of 2 coefficients; save it with .save('R.html')>"


def test_a_page_is_saved_whole_and_replaces_nothing_unasked(tmp_path: Path) -> None:
    page = discreet.report(seeded())
    page.save(tmp_path / "R.html")
    assert (tmp_path / "R.html").read_text(encoding="utf-8") == page.html
    with pytest.raises(OutputError, match="exists"):
        page.save(tmp_path / "R.html")
    page.save(tmp_path / "R.html", force=True)
    with pytest.raises(OutputError, match=r"must end in \.html"):
        page.save(tmp_path / "R.csv", force=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["R.html"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda: ("R.json",), "report: expected a Release, got str; load a release with Release.load"),
        (lambda: (discreet.fit(seeded()),), "report: expected a Release, got Fit"),
        (lambda: (seeded(), "y ~ x"), "report: expected a Fit, got str"),
        (lambda: (seeded(), discreet.fit(seeded(2))), "expected a fit of this release, got a fit of another release"),
    ],
)
def test_bad_input_is_one_of_our_errors_with_exit_code_2(arguments, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        discreet.report(*arguments())
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("level", [1.5, 0, "0.95", True])
def test_a_level_that_is_none_is_refused(level: object) -> None:
    with pytest.raises(SpecError, match="level"):
        discreet.report(seeded(), level=level)  # type: ignore[arg-type]
