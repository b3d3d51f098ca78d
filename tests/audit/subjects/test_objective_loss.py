"""The loss of objective perturbation along one line: as a fine grid of densities has it, and none for other rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import trapezoid

from discreet.audit.audited_mechanisms import MechanismEntry, MechanismSubject, mechanism_entries
from discreet.audit.pairs import NeighbourPair
from discreet.design.design import Design
from support import sensitivity_patches

DESIGN = Design("y", {"y": (-1, 1), "x": (-1, 1)})
OPPOSED = NeighbourPair("opposed", {"x": [1.0] * 5, "y": [-1.0] * 4 + [1.0]}, {"x": [1.0] * 4, "y": [-1.0] * 4})


def loss_of(pair, epsilon=1.0, design=DESIGN, **settings):
    entry = MechanismEntry("objective", "objective", 1e-6, settings)
    subject = MechanismSubject(entry, epsilon, design, pair)
    return subject, subject.exact()


def densities(subject, pair, grid):
    """Densities of the coefficients along (1, 1), by differences of b."""
    distribution = subject._request.distribution
    strength, sd, threshold = (
        distribution.parameters["strength"] / distribution.unit,
        distribution.sd("linear"),
        6553 / 2**16,
    )
    for table in (pair.table, pair.neighbour):
        residuals = np.zeros_like(grid)
        for x, y in zip(table["x"], table["y"], strict=True):
            assert x == 1.0
            residuals += np.clip(y - math.sqrt(2) * grid, -threshold, threshold)
        b = residuals * math.sqrt(2) - strength * grid
        yield np.exp(-((b / sd) ** 2) / 2) / (sd * math.sqrt(2 * math.pi)) * np.abs(np.gradient(b, grid))


@pytest.mark.no_cover
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_loss_is_that_of_densities_on_a_grid(epsilon):
    subject, (loss,) = loss_of(OPPOSED, epsilon)
    assert (loss.measure, loss.claimed) == ("epsilon", epsilon)
    assert 0.7 < loss.value / epsilon < 0.8
    everywhere = np.linspace(-8, 8, 100_001)
    for density in densities(subject, OPPOSED, everywhere):
        assert trapezoid(density, everywhere) == pytest.approx(1, abs=1e-3)
    # elsewhere less than a thousandth of it is added
    near = np.linspace(0.6, 0.8, 2_000_001)
    one, other = densities(subject, OPPOSED, near)
    assert trapezoid(np.maximum(one - math.exp(loss.value) * other, 0), near) == pytest.approx(1e-6, rel=2e-3)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_volume_that_is_not_charged_exceeds_the_claim(epsilon, monkeypatch):
    entry = mechanism_entries()["objective"]
    assert all(loss.covered for loss in MechanismSubject(entry, epsilon, DESIGN).own_losses())
    sensitivity_patches.volume_forgotten(monkeypatch)
    assert not all(loss.covered for loss in MechanismSubject(entry, epsilon, DESIGN).own_losses())


def test_rows_at_right_angles_say_nothing_of_the_line():
    beside = {"x": [-1.0] * 3, "y": [0.5] * 3}
    sides = ({n: [*beside[n], *table[n]] for n in table} for table in (OPPOSED.table, OPPOSED.neighbour))
    (one,), (other,) = loss_of(OPPOSED)[1], loss_of(NeighbourPair("beside", *sides))[1]
    assert one.value == other.value


def row_pair(one, other):
    return NeighbourPair("rows", *({"x": [x for x, _ in rows], "y": [y for _, y in rows]} for rows in (one, other)))


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        ([(1.0, 1.0), (0.5, 0.0)], [(0.5, 0.0)], "add-remove"),
        ([(1.0, 1.0)], [(-1.0, 1.0)], "replace"),
        ([(1.0, 1.0)], [(1.0, 1.0)], "replace"),
    ],
    ids=["a row that is neither along nor across", "another direction", "the same row"],
)
def test_other_rows_have_no_loss_in_this_form(one, other, relation):
    assert loss_of(row_pair(one, other), design=Design("y", DESIGN.columns, unit={"neighbours": relation}))[1] == ()


def test_the_squared_loss_has_no_loss_in_this_form():
    assert loss_of(OPPOSED, loss="squared")[1] == ()
