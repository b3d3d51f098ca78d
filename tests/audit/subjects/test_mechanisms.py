"""Every registered mechanism is a subject, drawn with the production sampler and calibration.

The production sampler cannot be seeded: a right mechanism fails here by chance with probability of at most 1e-9.
"""

from __future__ import annotations

import pytest

from discreet.audit import audited_mechanisms as mechanisms
from discreet.audit.audited_mechanisms import MechanismEntry, MechanismSubject, mechanism_entries
from discreet.audit.pairs import NeighbourPair
from discreet.design.design import Design
from discreet.mechanisms.registry import HOMES
from discreet.workflow import release
from support import reading_patches, sensitivity_patches

DESIGN = Design("y", {"y": (-1, 1), "x": (-1, 1)})
NAMES = list(mechanism_entries())
COSTLY = (
    "refined",
    "staged",
    "staged robust",
    "gaussian robust",
    "gaussian robust models",
    "irls moment",
    "objective",
)  # behind `make slow`


def test_every_registered_mechanism_is_a_subject():
    assert set(HOMES) <= set(NAMES)


@pytest.mark.full
@pytest.mark.no_cover
@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.slow] * (one in COSTLY)) for one in NAMES])
def test_sums_computed_once_and_the_whole_path_agree(name, monkeypatch):
    monkeypatch.setattr(mechanisms, "WHOLE_DRAWS", 20)
    subject = MechanismSubject(mechanism_entries()[name], 4.0, DESIGN)
    drawn = subject.draws(0, 40), subject.draws(1, 40)
    assert drawn[0].shape == drawn[1].shape == (40, drawn[0].shape[1])
    assert all(check.passed for check in subject.checks(drawn, 1e-9))
    assert all(loss.covered for loss in subject.exact())


@pytest.mark.no_cover
def test_a_whole_path_that_differs_is_found(monkeypatch):
    monkeypatch.setattr(mechanisms, "WHOLE_DRAWS", 50)
    subject = MechanismSubject(mechanism_entries()["gaussian"], 1.0, DESIGN)
    drawn = subject.draws(0, 400), subject.draws(1, 400)
    shifted = drawn[0] + 1e15, drawn[1]
    found = {check.name: check.passed for check in subject.checks(shifted, 1e-9)}
    assert not found["whole path, table"]
    assert found["whole path, neighbour"]


def test_fewer_draws_of_the_whole_path_where_one_is_slow(monkeypatch):
    monkeypatch.setattr(mechanisms, "SLOW_SECONDS", 0.0)
    monkeypatch.setattr(mechanisms, "WHOLE_DRAWS_SLOW", 12)
    subject = MechanismSubject(mechanism_entries()["laplace"], 1.0, DESIGN)
    assert len(subject.whole_path(0)) == 12


def test_the_pair_of_largest_exact_loss_is_drawn_for():
    assert MechanismSubject(mechanism_entries()["adassp"], 1.0, DESIGN).pair.startswith("corner row orthogonal")
    one, other = {"x": [0.0], "y": [0.0]}, {"x": [0.0, 1.0], "y": [0.0, 1.0]}
    given = MechanismSubject(mechanism_entries()["adassp"], 1.0, DESIGN, NeighbourPair("mine", one, other))
    assert given.pair == "mine"
    assert [loss.pair for loss in given.exact()] == ["mine"]


def test_the_claim_is_that_of_a_release():
    entry = MechanismEntry("gaussian", "gaussian", 1e-6)
    claim = MechanismSubject(entry, 1.0, DESIGN).claim
    guarantee = release({"x": [1.0], "y": [1.0]}, DESIGN, epsilon=1.0, delta=1e-6).guarantee
    assert (claim.epsilon, claim.delta, claim.mu, claim.gap) == (1.0, 1e-6, guarantee.mu, guarantee.mu_gap)
    assert MechanismSubject(mechanism_entries()["objective"], 1.0, DESIGN).claim.mu is None


def test_a_release_file_that_differs_beside_its_noise_is_found(monkeypatch):
    monkeypatch.setattr(mechanisms, "WHOLE_DRAWS", 20)
    subject = MechanismSubject(mechanism_entries()["gaussian"], 1.0, DESIGN)
    drawn = subject.draws(0, 40), subject.draws(1, 40)
    assert all(check.passed for check in subject.checks(drawn, 1e-9))
    subject._path.rests.add("another text")
    found = {check.name: check.passed for check in subject.checks(drawn, 1e-9)}
    assert not found["rest of the release"]


def test_every_way_of_reading_is_among_the_exact_losses_of_two_entries():
    known = {loss.pair for loss in MechanismSubject(mechanism_entries()["laplace"], 1.0, DESIGN).exact()}
    assert {"none in arrow", "person of 3 rows, 2 count", "x beyond its bounds"} < known
    assert not {"none in arrow"} & {loss.pair for loss in losses("ssp")}


def losses(name):
    return MechanismSubject(mechanism_entries()[name], 1.0, DESIGN).exact()


RELATIONS = {"replace", "replace, rows dropped", "ball"}


# of an exchanged row Wishart noise has no exact loss, and a histogram takes no ball
@pytest.mark.parametrize(
    ("name", "relations"),
    [
        ("ssp", RELATIONS),
        ("dpme", RELATIONS - {"ball"}),
        ("wishart", RELATIONS - {"replace"}),
        ("laplace clip counts", RELATIONS - {"replace, rows dropped"}),
        ("gaussian estimator", {"replace"}),
    ],
)
def test_every_relation_and_a_ball_are_among_the_exact_losses(name, relations):
    found = losses(name)
    assert {loss.pair.partition(": ")[0] for loss in found if ": " in loss.pair} == relations
    assert all(loss.covered for loss in found)


@pytest.mark.parametrize(
    ("name", "mistake", "relation"),
    [
        ("ssp", reading_patches.ball_forgotten, "ball"),
        ("gradient", sensitivity_patches.exchanged_scores_as_added, "replace"),
        ("ssp", sensitivity_patches.dropped_rows_forgotten, "replace, rows dropped"),
    ],
)
def test_what_is_forgotten_under_one_relation_is_seen_there(name, mistake, relation, monkeypatch):
    mistake(monkeypatch)
    seen = {loss.pair.partition(": ")[0] for loss in losses(name) if not loss.covered}
    assert relation in seen <= RELATIONS
