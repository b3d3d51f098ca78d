"""Noise that is read off outputs has the stated law, and half of it is rejected.

The production sampler cannot be seeded: each test of a right law fails by chance with probability of at most 1e-9.
"""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.subjects.mechanisms import MechanismSubject, mechanism_entries
from discreet.audit.subjects.noise import noise_checks
from discreet.design.model import Design

DRAWS = 600
MOMENTS = ["gaussian", "laplace", "k-norm", "wishart", "functional", "ssp", "adassp"]


def subject(name, **declared):
    entries = mechanism_entries()
    return MechanismSubject(entries[name], 1.0, Design("y", {"y": (-1, 1), "x": (-1, 1)}, **declared))


def checks(one, drawn):
    return noise_checks(one._asked, one._sides(one._worst), drawn, 1e-9)


@pytest.mark.parametrize("name", [*MOMENTS, "objective"])
def test_the_noise_has_its_law_and_half_of_it_does_not(name):
    one = subject(name)
    drawn = one.draws(0, DRAWS), one.draws(1, DRAWS)
    found = checks(one, drawn)
    assert [check.passed for check in found] == [True] * len(found)
    assert len(found) == (1 if name == "objective" else 2)
    # half the distance from what is published on average: of moments half the noise
    halved = tuple(np.rint((side + side.mean(axis=0)) / 2) if name != "objective" else side / 2 for side in drawn)
    assert not checks(one, halved)[0].passed


def test_even_noise_is_rejected_by_its_bits():
    one = subject("gaussian")
    drawn = tuple(np.rint(one.draws(side, DRAWS) / 2) * 2 for side in (0, 1))
    law, bits = checks(one, drawn)
    assert law.passed
    assert not bits.passed


def test_a_public_count_has_no_noise_to_test():
    one = subject("laplace", unit={"neighbours": "replace"})
    assert all(check.passed for check in checks(one, (one.draws(0, DRAWS), one.draws(1, DRAWS))))


def test_coefficients_hide_their_noise():
    one = subject("gradient")
    assert checks(one, (one.draws(0, 5), one.draws(1, 5))) == ()
