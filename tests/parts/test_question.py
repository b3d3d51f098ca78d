"""What a session asks: from public numbers, and refused in words where it is not served."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.design.design import Design
from discreet.errors import PrivacyNotice, SpecError
from discreet.parts.agreement import Session, asked_by
from discreet.parts.keys import CuratorKey
from discreet.privacy.budget import PrivacyUnit
from support.curators import DESIGN

PEOPLE = [CuratorKey.new(name).public for name in ("north", "south", "west")]


def session(design=DESIGN, **terms):
    return Session.new(design, PEOPLE, **({"epsilon": 1.0, "delta": 1e-6} | terms))


def test_shares_have_their_own_distribution():
    asked = asked_by(session(parts_per_person=2, honest=1), DESIGN)
    assert dict(asked.distribution.parameters) == {"shares": 3, "honest": 1, "parts_per_person": 2}
    assert asked.distribution.parameters["shares"] == asked.mechanism.shares


@pytest.mark.parametrize("mechanism", ["gaussian", "ssp", "adassp", "wishart", "output"])
def test_the_merger_may_draw_the_noise_of_mechanisms_of_one_pass(mechanism):
    asked = asked_by(session(noise="merger", mechanism=mechanism), DESIGN)
    assert (asked.mechanism.name, asked.distribution.parameters.get("shares", 1)) == (mechanism, 1)


@pytest.mark.parametrize("mechanism", ["laplace", "k-norm", "functional"])
def test_without_delta_too(mechanism):
    assert asked_by(session(noise="merger", mechanism=mechanism, delta=0.0), DESIGN).budget.delta == 0
    with pytest.warns(PrivacyNotice, match="does not use delta = 1e-06"):
        asked_by(session(noise="merger", mechanism=mechanism), DESIGN)


def test_the_merger_may_draw_the_noise_for_persons_in_several_parts():
    asked = asked_by(session(noise="merger", parts_per_person=2), DESIGN)
    assert dict(asked.distribution.parameters) == {"shares": 1, "honest": 1, "parts_per_person": 2}


@pytest.mark.parametrize("mechanism", ["irls", "gradient", "frank-wolfe", "refined", "dpme", "objective", "staged"])
def test_mechanisms_of_several_passes_or_other_sums_are_refused(mechanism):
    delta = 0.0 if mechanism == "dpme" else 1e-6
    with pytest.raises(SpecError, match=r"a single pass of sums of products.*mechanism='gaussian'"):
        asked_by(session(noise="merger", mechanism=mechanism, delta=delta), DESIGN)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"noise": "merger", "mechanism": "gausian"}, "Did you mean 'gaussian'"),
        ({"epsilon": 1e-9, "grid_bits": 26}, "cannot draw at grid_bits = 26"),
    ],
)
def test_other_terms_are_refused(terms, message):
    with pytest.raises(SpecError, match=message):
        asked_by(session(**terms), DESIGN)


def test_another_design_is_refused():
    other = Design("y", {"y": (0, 11), "x": (0, 5), "g": ["a", "b", "c"]})
    with pytest.raises(SpecError, match=r"the design is not the one that session.*uses: .*exactly the same design"):
        asked_by(session(), other)


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (Design("y", {"y": (0, 1), "x": (0, 1), "w": (0, 2)}, weights="w"), "does not support weights"),
        (Design("y", {"y": (0, 1), "x": "private"}), "declare the bounds of 'x'"),
    ],
)
def test_designs_that_are_not_served_are_refused(design, message):
    with pytest.raises(SpecError, match=message):
        asked_by(session(design), design)


def test_another_unit_under_the_same_digest_is_named():
    altered = replace(session(), unit=PrivacyUnit(id="person", max_rows=3))
    with pytest.raises(SpecError, match=r"protects .*person.*the unit in the session was changed") as found:
        asked_by(altered, DESIGN)
    assert "sha256" not in str(found.value)
