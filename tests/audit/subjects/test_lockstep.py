"""Unrelated tables with equal noisy sums publish the same, and a change of the noise after its draw shows.

Nothing here depends on chance but the number of runs that a mistake leaves out: see `LOCKSTEP_RUNS`.
"""

from __future__ import annotations

import pytest

from discreet.audit import lockstep
from discreet.audit.audited_mechanisms import MechanismSubject, mechanism_entries
from discreet.audit.lockstep import lockstep_checks, unrelated_table
from discreet.design.design import Design
from support import production_patches as mistakes

WITHOUT = ("k-norm", "wishart", "frank-wolfe", "irls wishart")
KEPT = [name for name in mechanism_entries() if name not in WITHOUT]


def found(name, columns=None, **declared):
    design = Design("y", columns or {"y": (-1, 1), "x": (-1, 1)}, **declared)
    subject = MechanismSubject(mechanism_entries()[name], 1.0, design)
    return lockstep_checks(subject._request, subject._sides(subject._pairs[0])[0], subject._sampler)


@pytest.mark.parametrize("name", KEPT)
def test_what_is_published_is_a_function_of_noisy_sums(name):
    (check,) = found(name)
    assert check.passed


@pytest.mark.parametrize("name", KEPT)
def test_noise_that_is_halved_after_the_draw_shows(name, monkeypatch):
    mistakes.variates_changed(mistakes.half)(monkeypatch)
    (check,) = found(name)
    assert not check.passed


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("gaussian guard", mistakes.guard_halved),
        ("laplace guard", mistakes.guard_halved),
        ("gaussian clip counts", mistakes.clips_halved),
        ("laplace clip counts", mistakes.clips_halved),
        ("gaussian robust", mistakes.residuals_halved),
        ("gaussian robust models", mistakes.residuals_halved),
        ("gradient", mistakes.count_halved_in_gradient),
        ("objective", mistakes.point_noise_halved),
        ("irls", mistakes.the_same_in_every_pass),
        ("irls gaussian", mistakes.exact_preconditioner),
        ("irls gaussian", mistakes.threshold_from_sums),
        ("gaussian robust", mistakes.residuals_exact),
        ("gaussian robust models", mistakes.residuals_exact),
        ("dpme", mistakes.empty_cells_exact),
        ("gaussian", mistakes.asked_at_half_the_scale),
    ],
)
def test_a_mistake_in_one_number_shows(name, mistake, monkeypatch):
    mistake(monkeypatch)
    (check,) = found(name)
    assert not check.passed


@pytest.mark.parametrize("name", WITHOUT)
def test_noise_that_is_not_added_to_numbers_one_by_one_is_left_to_other_checks(name):
    assert found(name) == ()


def test_a_minimum_without_an_intercept_is_compared_coefficient_by_coefficient(monkeypatch):
    (check,) = found("objective", intercept=False)
    assert (check.name, check.passed) == ("noise on the point", True)
    mistakes.point_noise_halved(monkeypatch)
    (check,) = found("objective", intercept=False)
    assert check.distance == 1


def test_where_the_number_of_rows_is_public_there_is_no_check():
    assert found("gaussian", unit={"neighbours": "replace"}) == ()


def test_every_kind_of_column_is_in_the_other_table():
    columns = {"y": (-1, 1), "b": bool, "g": ["p", "q", "r"]}
    table = unrelated_table(Design("y", columns))
    assert set(table["g"]) == {"p", "q", "r"}
    assert set(table["b"]) == {True, False}
    assert (min(table["y"]), max(table["y"])) == (-1, 1)
    (check,) = found("ssp", columns)
    assert check.passed


@pytest.mark.parametrize("which", ["_First", "_Second"])
def test_a_draw_that_one_of_the_tables_has_alone_shows(which, monkeypatch):
    one_run = lockstep.one_run

    def drawing(asked, source, read):
        numbers = one_run(asked, source, read)
        if type(source).__name__ == which:
            source.draw([7])
        return numbers

    monkeypatch.setattr(lockstep, "one_run", drawing)
    (check,) = found("gaussian")
    assert check.distance == 1


def test_noise_of_uniform_bits_cannot_be_kept_in_step():
    with pytest.raises(NotImplementedError, match="8 uniform bits"):
        lockstep._Repeated([]).bits(8)
