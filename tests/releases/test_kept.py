"""Forged files: every edit of what a promise rests on is refused, or only adds noise, and then the truth is stated."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import discreet
from discreet.accounting.settings import MECHANISMS
from discreet.design.domain import RowDomain
from discreet.errors import ReleaseFileError
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import rho_from
from discreet.privacy.lattice import lattice_curve
from discreet.releases import Release
from discreet.releases.fields import digest_of
from discreet.releases.reading import given_in_words
from support.moment_distributions import noise_distribution
from support.release_edits import DELETE, edited

COLUMNS = {"x": (0, 1), "z": (-1, 1), "y": (0, 10)}
TABLE = {"x": [0.1, 0.9, 0.4], "z": [0.3, -0.2, 0.5], "y": [3.0, 4.0, 8.0]}
ONE_ID = ["one-id", "blind-choices", "only-release"]


def made(mechanism="gaussian", delta=1e-6, unit=None, settings=None, **options) -> Release:
    design = discreet.Design("y", COLUMNS, unit=unit)
    data = TABLE if not unit or "id" not in unit else {**TABLE, "p": [1, 2, 3]}
    return discreet.release(data, design, epsilon=1.0, delta=delta, mechanism=mechanism, settings=settings, **options)


def guarded():
    """A release behind a guard that stopped nothing."""
    with TemporaryDirectory() as folder:
        ledger = discreet.Ledger.create(Path(folder) / "books.db")
        ledger.declare("people", epsilon=2.0, delta=1e-5)
        table = {name: values * 300 for name, values in TABLE.items()}
        design = discreet.Design("y", COLUMNS)
        account = ledger.account("people")
        return discreet.release(table, design, epsilon=1.0, delta=1e-6, guard=True, spend=account)


def curve(epsilon, delta=1e-6):
    """A budget with the mu and the gap that belong to it, as a careful forger writes them."""
    mu, gap = lattice_curve(epsilon, delta)
    return {
        "guarantee__epsilon": epsilon, "guarantee__delta": delta, "guarantee__mu": mu, "guarantee__mu_gap": gap,
    }  # fmt: skip


def no_curve(**changes):
    return {"guarantee__mu": None, "guarantee__mu_gap": DELETE, **changes}


def halved(release, *blocks):
    return {f"noise__sigma__{block}": str(release.noise.sigma[block] // 2) for block in blocks}


GAUSSIAN, REPLACED, PERSONS = made(), made(unit={"neighbours": "replace"}), made(unit={"id": "p", "max_rows": 4})
LAPLACE, GRADIENT, OUTPUT = made("laplace", 0.0), made("gradient", settings={"iterations": 20}), made("output")
WISHART, DPME = made("wishart", settings={"degrees": 200}), made("dpme", 0.0, settings={"bins": 3})
IRLS, OBJECTIVE, FRANK = made("irls", settings={"iterations": 10}), made("objective"), made("frank-wolfe", 0.0)
ROBUST, COUNTED, K_NORM = made(robust=True), made(clip_counts=True), made("k-norm", 0.0)
GUARDED = guarded()
STRONGER, CURVE = "the guarantee is stronger than the noise", "of the guarantee does not match its epsilon and delta"
STEPS = "the number of steps in"

FORGED = {
    "epsilon 1 to 0.01, no curve": (GAUSSIAN, no_curve(guarantee__epsilon=0.01), STRONGER),
    "epsilon with its curve": (GAUSSIAN, curve(0.5), STRONGER),
    "epsilon a little lower": (GAUSSIAN, curve(0.999), STRONGER),
    "delta a thousandth": (GAUSSIAN, curve(1.0, 1e-9), STRONGER),
    "epsilon 0": (GAUSSIAN, no_curve(guarantee__epsilon=0.0), "epsilon = 0, but no noise satisfies it"),
    "delta 0": (GAUSSIAN, no_curve(guarantee__delta=0.0), "delta = 0, but this kind of noise needs delta above 0"),
    "mu lowered": (GAUSSIAN, {"guarantee__mu": 0.1}, CURVE),
    "gap lowered": (GAUSSIAN, {"guarantee__mu_gap": 1e-20}, CURVE),
    "rho of another account": (
        GAUSSIAN,
        no_curve(noise__calibration="discrete-zcdp", guarantee__rho=rho_from(1.0, 1e-6)),
        "the guarantee states rho = 0.024356, but the noise gives rho = 0.028",
    ),
    "a sigma of one step": (GAUSSIAN, {"noise__sigma__cross": "1"}, STRONGER),
    "half of one sigma": (GAUSSIAN, halved(GAUSSIAN, "cross"), STRONGER),
    "half of every sigma": (GAUSSIAN, halved(GAUSSIAN, *GAUSSIAN.noise.sigma), STRONGER),
    "no sigma": (GAUSSIAN, {"noise__sigma__cross": "0"}, "must be positive"),
    "finer grid": (GAUSSIAN, {"noise__grid_bits": 17}, STRONGER),
    "family": (GAUSSIAN, no_curve(noise__family="discrete-laplace"), "the noise family must be"),
    "pure": (
        GAUSSIAN,
        no_curve(noise__family="discrete-laplace", noise__calibration="pure", guarantee__delta=0.0),
        "the noise family must be",
    ),
    "account": (GAUSSIAN, no_curve(noise__calibration="bound"), "the noise calibration must be .*, got 'bound'"),
    "unknown mechanism": (GAUSSIAN, {"mechanism__name": "magic"}, "does not make releases of kind"),
    "another mechanism": (
        GAUSSIAN, {"mechanism__name": "laplace", "mechanism__version": "1"}, "the noise family must be",
    ),
    "unknown version": (GAUSSIAN, {"mechanism__version": "9"}, "has version '9'"),
    "empty conditions": (GAUSSIAN, {"guarantee__conditions": []}, "conditions: expected one-row"),
    "unknown condition": (
        GAUSSIAN, {"guarantee__conditions": ["one-row", "blind-choices", "always"]}, "conditions: expected one-row",
    ),
    "condition left out": (
        REPLACED, {"guarantee__conditions": ["one-row", "blind-choices", "only-release"]}, "public-rows",
    ),
    "a ledger that nobody keeps": (
        GAUSSIAN, {"guarantee__conditions": ["one-row", "blind-choices", "ledger-budget"]}, "the release is untracked",
    ),
    "conditions that are no list": (GAUSSIAN, {"guarantee__conditions": "none"}, "must be a list"),
    "wider bounds of the unit": (
        PERSONS, {"guarantee__unit__max_rows": 9, "design__unit__max_rows": 9}, STRONGER,
    ),
    "rows for persons": (
        GAUSSIAN,
        {"guarantee__unit": {"neighbours": "add-remove", "id": "p", "max_rows": 5},
         "design__unit": {"neighbours": "add-remove", "id": "p", "max_rows": 5}, "guarantee__conditions": ONE_ID},
        STRONGER,
    ),
    "unit of the promise alone": (PERSONS, {"guarantee__unit__max_rows": 9}, "contradict each other"),
    "radius gone": (
        Release.from_json(discreet.release(TABLE, discreet.Design("y", COLUMNS, radius=0.5), epsilon=1.0,
                                           delta=1e-6).to_json()),
        {"design__radius": DELETE}, STRONGER,
    ),
    "public number where it is hidden": (GAUSSIAN, {"units_public": "3"}, "contradicts the neighbouring relation"),
    "public number left out": (REPLACED, {"units_public": None}, "contradicts the neighbouring relation"),
    "noise of the count gone": (GAUSSIAN, {"noise__sigma__count": "0"}, "contradicts the neighbouring relation"),
    "an unknown parameter": (GAUSSIAN, {"noise__parameters": {"degrees": "5"}}, "takes no parameter 'degrees'"),
    "laplace: epsilon": (LAPLACE, {"guarantee__epsilon": 0.5}, STRONGER),
    "laplace: scale": (LAPLACE, halved(LAPLACE, "sum_x"), STRONGER),
    "k-norm: dimension": (K_NORM, {"noise__parameters": {"dimension": "5"}}, "expected dimension = 10, got 5"),
    "gradient: more steps": (GRADIENT, {"mechanism__settings__iterations": 200}, STRONGER),
    "gradient: setting gone": (GRADIENT, {"mechanism__settings": {}}, "the setting 'iterations'"),
    "irls: more passes": (IRLS, {"mechanism__settings__iterations": 100}, STRONGER),
    "gradient: fewer steps than it shows": (GRADIENT, {**curve(0.5), "mechanism__settings__iterations": 5}, STEPS),
    "irls: fewer passes than it shows": (IRLS, {**curve(0.8), "mechanism__settings__iterations": 1}, STEPS),
    "frank-wolfe: fewer choices than it shows": (
        FRANK,
        {"guarantee__epsilon": 0.1, "mechanism__settings__iterations": 1, "noise__parameters": {"iterations": "1"}},
        STEPS,
    ),
    "gradient: more steps than were charged": (
        GRADIENT, {"coefficients__trace": [list(step) for step in GRADIENT.coefficients.trace] * 2}, STEPS,
    ),
    "output: steps that were not charged": (
        OUTPUT, {"coefficients__trace": [list(OUTPUT.coefficients.values)]}, STEPS,
    ),
    "a guard in the noise of the mechanism": (
        GRADIENT, {"noise__sigma__guard": str(10**15)}, "noise.sigma must not contain 'guard'",
    ),
    "a condition that is no text": (
        GAUSSIAN, {"guarantee__conditions": ["one-row", "blind-choices", "only-release", []]}, "conditions: expected",
    ),
    "irls: other form": (IRLS, {"mechanism__settings__form": "moment"}, "needs a scale 'cross'"),
    "output: weaker penalty": (OUTPUT, {"mechanism__settings__strength": 10.0}, STRONGER),
    "output: larger ball": (OUTPUT, {"mechanism__settings__bound": 100.0}, STRONGER),
    "wishart: degrees": (WISHART, {"noise__parameters": {"degrees": "100"}}, STRONGER),
    "wishart: epsilon": (WISHART, {"guarantee__epsilon": 0.5}, STRONGER),
    "objective: penalty": (OBJECTIVE, {"noise__parameters": {"strength": "100"}}, STRONGER),
    "objective: threshold": (OBJECTIVE, {"mechanism__settings__threshold": 1.0}, STRONGER),
    "dpme: bins": (DPME, {"noise__parameters": {"bins": "9", "cells": "27"}}, "bins and cells"),
    "frank-wolfe: choices": (
        FRANK, {"mechanism__settings__iterations": 80, "noise__parameters": {"iterations": "80"}}, STRONGER,
    ),
    "robust: scale of residuals": (ROBUST, halved(ROBUST, "residual_diagonal", "residual_off_diagonal"), STRONGER),
    "guard: scale": (GUARDED, {"guard__sigma": str(GUARDED.guard.sigma // 2)}, STRONGER),
    "guard: no noise": (GUARDED, {"guard__sigma": "0"}, "expected a noise scale from 1 to 2.100 steps for 'guard'"),
    "guard: added": (GAUSSIAN, {"guard": {"sigma": str(GUARDED.guard.sigma), "fitting": "0", "other": "0"}}, STRONGER),
    "clip counts: scale": (COUNTED, {"noise__sigma__clipped": "1000"}, STRONGER),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_file_is_refused_although_its_digest_matches(name, tmp_path):
    release, changes, message = FORGED[name]
    assert Release.from_json(release.to_json()) == release
    with pytest.raises(ReleaseFileError, match=message) as caught:
        Release.from_json(edited(release, **changes))
    assert caught.value.exit_code == 2


def test_there_are_many_kinds_of_edits():
    assert len(FORGED) >= 40
    assert {release.mechanism for release, _, _ in FORGED.values()} <= set(MECHANISMS)


LARGER = {
    "weaker promise": (GAUSSIAN, curve(2.0)),
    "weaker delta": (GAUSSIAN, curve(1.0, 1e-5)),
    "more noise": (GAUSSIAN, {"noise__sigma__cross": str(GAUSSIAN.noise.sigma["cross"] * 4)}),
    "coarser grid": (GAUSSIAN, {"noise__grid_bits": 15}),
    "smaller box": (GAUSSIAN, {"design__radius": 0.5}),
    "fewer rows of a person": (PERSONS, {"guarantee__unit__max_rows": 2, "design__unit__max_rows": 2}),
    "fewer steps, as it shows": (
        GRADIENT,
        {"mechanism__settings__iterations": 10,
         "coefficients__trace": [list(step) for step in GRADIENT.coefficients.trace[:10]]},
    ),
    "laplace: weaker promise": (LAPLACE, {"guarantee__epsilon": 3.0}),
    "laplace: a delta that is not needed": (LAPLACE, {"guarantee__delta": 1e-6}),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGER)
def test_where_noise_is_only_larger_than_promised_the_truth_is_stated(name):
    release, changes = LARGER[name]
    loaded = Release.from_json(edited(release, **changes))
    found, true = discreet.verify(loaded), discreet.verify(release)
    assert found.epsilon_given <= loaded.guarantee.epsilon * (1 + 1e-5)
    assert f"epsilon = {found.epsilon_given:.6g}" in found.given()
    if changes.keys() <= {"guarantee__epsilon", "guarantee__mu", "guarantee__mu_gap", "guarantee__delta"}:
        # the noise is the same, whatever is promised
        assert found.loss.mu == true.loss.mu
    else:
        assert found.epsilon_given < 0.999 * true.epsilon_given


def test_an_edited_total_passes_without_a_signature():
    body = json.loads(GAUSSIAN.to_json())
    body["totals"][1] = str(int(body["totals"][1]) + 12345)
    assert Release.from_json(json.dumps(body | {"digest": digest_of(body)})) != GAUSSIAN


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (halved(REPLACED, "cross"), STRONGER),
        ({"guarantee__conditions": []}, "conditions: expected one-row"),
        ({"guarantee__conditions": ["nothing"]}, "condition|unit"),
        ({"guarantee__conditions": "nothing"}, "guarantee.conditions must be a list"),
    ],
)
def test_conditions_and_noise_of_a_file_are_checked(changes, message):
    with pytest.raises(ReleaseFileError, match=message):
        Release.from_json(edited(REPLACED, **changes))


def test_an_unknown_version_of_a_mechanism_is_not_verified():
    with pytest.raises(ReleaseFileError, match="has version '2', but this version of discreet supports version 1"):
        discreet.verify(replace(GAUSSIAN, mechanism_version="2"))


def test_noise_without_an_epsilon_is_said_to_have_none():
    wild = discreet.verify(GAUSSIAN).loss
    assert "no finite epsilon" in given_in_words(replace(wild, mu=1e7, rho=1e13), GAUSSIAN.guarantee)
    assert "delta = " in discreet.verify(WISHART).given()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_nine_tenths_of_the_noise_are_refused_however_it_is_shared(neighbours):
    """The guarantee is judged by the noise: other shares of the budget than those of a release are as good."""
    declared = {"y": (0, 1)} | {f"x{k}": (0, 1) for k in range(6)}
    design = discreet.Design("y", declared, unit={"neighbours": neighbours})
    made = discreet.release(
        {name: [0.5, 0.25] for name in declared}, design, epsilon=1.0, delta=1e-6, mechanism="gaussian"
    )
    distribution = noise_distribution(
        RowDomain.of(design), neighbours, 8, PrivacyBudget(1.0, 1e-6), count_public=design.count_public
    )  # fmt: skip
    assert made.noise != distribution
    other = replace(made, noise=distribution)
    assert discreet.Release.from_json(other.to_json()) == other
    assert 0.99 < discreet.verify(other).epsilon_given <= 1
    less = replace(distribution, sigma={block: sigma * 9 // 10 for block, sigma in distribution.sigma.items()})
    with pytest.raises(ReleaseFileError):
        discreet.Release.from_json(replace(other, noise=less).to_json())
