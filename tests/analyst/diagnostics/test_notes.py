"""Sentences for a reader have one home: terminal, plain values and page print the same ones."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet.analyst.diagnostics import findings
from discreet.analyst.notes import BELOW_0, PRIVACY_ONLY, SCORE, SCORE_PAGE, error_notes, model_notes, notes, page_notes
from discreet.design.design import Design
from discreet.pages.view import report_view
from discreet.testing.not_private import seeded_release
from support.golden_cases import released

SOURCE = Path(discreet.__file__).parent
# findings that terminal and page say among their notes too
SAID = ("D014", "D015", "D016", "D020", "D021", "D023", "D024", "D025")


@pytest.mark.parametrize(
    ("design", "variant", "penalty"),
    [
        ("replace", "gaussian", "none"),
        ("replace", "gaussian", "ridge"),
        ("persons", "gaussian", "none"),
        ("ball", "gaussian", "none"),
        ("replace", "output", "none"),
    ],
)
def test_terminal_values_and_page_say_what_the_one_home_says(design: str, variant: str, penalty: str) -> None:
    release = released(design, variant)
    fit = discreet.fit(release, penalty=penalty, strength=0.1 if penalty == "ridge" else None)
    about, errors = model_notes(fit), error_notes(fit)
    assert about
    assert not set(about) & set(errors)
    assert notes(fit) == [*about, *errors] == fit.to_dict()["notes"]
    text = " ".join(fit.summary().split())
    assert all(" ".join(note.split()) in text for note in notes(fit))
    assert report_view(release, fit).model.notes == tuple(page_notes(fit, 0.95))
    assert page_notes(fit, 0.95)[-len(about) :] == about
    assert SCORE not in page_notes(fit, 0.95)
    assert (SCORE in notes(fit)) == (SCORE_PAGE in page_notes(fit, 0.95))


def test_a_finding_among_the_notes_has_the_same_words() -> None:
    release = released("persons")
    fit = discreet.fit(release)
    said = [finding.text for finding in findings(release, fit) if finding.number in SAID]
    assert said
    assert set(said) <= set(notes(fit))


def sentences(path: Path) -> list[str]:
    """Names of constants of a module that hold a full sentence."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        ast.unparse(node.target)
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and node.value.value.endswith(".")
    ]


def test_summary_and_view_hold_no_warning_of_their_own() -> None:
    assert sentences(SOURCE / "analyst" / "notes.py"), "the test sees sentences where there are some"
    for path in (*(SOURCE / "analyst" / "summary").glob("*.py"), SOURCE / "pages" / "view.py"):
        assert sentences(path) == [], path.name


def one_slope(slope: float, sd: float, seed: int, epsilon: float = 1.0) -> discreet.Fit:
    rng = np.random.default_rng(1)
    x = rng.uniform(size=2_000)
    data = {"x": x, "y": 2 + slope * x + sd * rng.normal(size=2_000)}
    design = Design("y", {"y": (0, 8), "x": (0, 1)})
    return discreet.fit(seeded_release(data, design, seed=seed, epsilon=epsilon, delta=1e-6, mechanism="gaussian"))


def test_an_interval_of_all_ratios_is_not_called_too_narrow():
    fit = one_slope(4.0, 1.0, seed=1, epsilon=0.001)
    assert tuple(fit.rsquared_conf_int()) == (0.0, 1.0)
    assert not any("too narrow" in note for note in notes(fit))
    assert any("too narrow" in note for note in notes(one_slope(4.0, 1.0, seed=1)))


def test_a_ratio_below_0_is_explained():
    below, above = one_slope(0.0, 1.0, seed=0), one_slope(4.0, 1.0, seed=1)
    assert below.rsquared_adj < 0 <= below.rsquared_conf_int().lower
    assert BELOW_0 in notes(below)
    assert BELOW_0 in page_notes(below, 0.95)
    assert BELOW_0 not in notes(above)


def test_standard_errors_without_a_residual_variance_are_said_to_leave_out_sampling():
    hidden, known = one_slope(4.0, 0.01, seed=1), one_slope(4.0, 0.01, seed=0)
    assert not any(hidden.sampling_sd.values())
    assert PRIVACY_ONLY in notes(hidden)
    assert PRIVACY_ONLY in page_notes(hidden, 0.95)
    assert PRIVACY_ONLY in hidden.to_markdown()
    both = " ".join(discreet.table([hidden, known]).to_text().split())
    assert "its standard errors include privacy noise only" in both
    assert all(known.sampling_sd.values())
    assert PRIVACY_ONLY not in notes(known)
