"""A release file that is damaged or does not hold together is refused in words."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

import discreet
from discreet.errors import ReleaseFileError
from discreet.releases import NoiseDistribution, Release
from discreet.releases.reading import _settings, unknown_fields
from support.release_edits import DELETE, SCHEMA, edited
from support.small_releases import a_release, fitted_inside

BAD_CHANGES = {
    "newer": ({"schema": 7}, "schema version 7, but this version of discreet reads version 1; update discreet"),
    "another version of the mechanism": (
        {"mechanism__version": "2"},
        "'gaussian' has version '2', but this version of discreet supports version 1; update discreet",
    ),
    "indicators of another design": (
        {"noise__indicators": [[2, 4]]},
        "must hold the first and last column of each indicator",
    ),
    "no indicators": ({"noise__indicators": DELETE}, r"expected noise\.indicators = \[\[2, 2\], \[3, 4\]\], got \[\]"),
    "a square that is not a sum": (
        {"totals": list(map(str, range(20)))},
        "the sum of squares of each indicator in 'totals' must equal its sum",
    ),
    "factors of another design": ({"noise__factors": [[2, 3]]}, "must hold the first and last column of each factor"),
    "factors that are none": ({"noise__factors": [3, 4]}, "must hold the first and last column of each factor"),
    "no factors": (
        {"noise__factors": DELETE, "totals": ["1"] * 21},
        r"expected noise\.factors = \[\[3, 4\]\], got \[\]",
    ),
    "zeros that are not listed": ({"totals": ["1"] * 21}, "6 x 6 matrix without the products inside noise.factors"),
    "no version": ({"schema": True}, "must have a schema version"),
    "other kind": ({"kind": "samples"}, "the kind 'samples', which this version does not support"),
    "kind without its part": ({"kind": "coefficients"}, "a release of coefficients must not contain sums"),
    "both kinds": (
        {"coefficients": {"values": [], "trace": []}},
        "a release of moments must not have the field 'coefficients'",
    ),
    "numerics": ({"mechanism__numerics": "perfect"}, "must be 'exact' or 'idealised'"),
    "settings": (
        {"mechanism__settings": {"passes": [1]}},
        "mechanism.settings.passes must be a boolean, a number or a string",
    ),
    "parameters": (
        {"noise__family": "k-norm"},
        "noise.parameters must hold positive parameters of the family 'k-norm'",
    ),
    "no degrees": (
        {"noise__family": "wishart", "noise__parameters": {"degrees": "0"}},
        "noise.parameters must hold positive parameters of the family 'wishart'",
    ),
    "bits of weights": (
        {"noise__parameters": {"weight_bits": "14"}},
        "must not have weight_bits, because the design has no weights",
    ),
    "scalars": ({"scalars": {"smallest_eigenvalue": "5"}}, "must list the blocks"),
    "sum without its distribution": (
        {"noise__sigma__target_square": DELETE},
        "differ on whether the block 'target_square'",
    ),
    "distribution without its sum": ({"totals": ["1"] * 19 + [None]}, "differ on whether the block 'target_square'"),
    "missing field": ({"anchor": DELETE}, "must have the field 'anchor'"),
    "not private yet promised": ({"private": False}, "contradict each other"),
    "promise gone": ({"guarantee": None}, "contradict each other"),
    "other unit": ({"guarantee__unit__neighbours": "replace"}, "contradict each other"),
    "negative epsilon": ({"guarantee__epsilon": -1.0}, "is inconsistent"),
    "columns renamed": ({"columns": ["1", "y"]}, "the field 'columns' does not match the design"),
    "order wrong": ({"design__order": ["x"]}, "design.order"),
    "design not a table": ({"design": 3}, "'design' must be a table"),
    "design broken": ({"design__target": "q"}, "is inconsistent: unknown target"),
    "totals short": ({"totals": ["1"]}, "upper triangle"),
    "totals float": ({"totals": [1.5] * 20}, "integers as decimal text"),
    "totals text": ({"totals": ["abc"] * 20}, "integers as decimal text"),
    "totals huge": ({"totals": ["9" * 101] * 20}, "integers as decimal text"),
    "other digits": ({"totals": ["٣"] * 20}, "integers as decimal text"),
    "family": ({"noise__family": "laplace"}, "noise.family or noise.calibration is unknown"),
    "calibration": ({"noise__calibration": "guess"}, "noise.family or noise.calibration is unknown"),
    "grid": ({"noise__grid_bits": 99}, "noise.grid_bits must be an integer from 8"),
    "sigma block missing": ({"noise__sigma__cross": DELETE}, "must list the blocks"),
    "sigma zero": ({"noise__sigma__cross": "0"}, "noise.sigma must be positive"),
    "sigma negative": ({"noise__sigma__count": "-1"}, "must not contain negative numbers"),
    "anchor that commands": ({"anchor": "a\x1b[31m"}, "a string with invisible characters"),
    "author that commands": ({"made_by": "discreet\u202e"}, "a string with invisible characters"),
    "condition of two lines": ({"guarantee__conditions": ["yes\nepsilon = 0"]}, "a string with invisible characters"),
    "version of two lines": ({"mechanism__version": "1\r2"}, "a string with invisible characters"),
    "setting that commands": ({"mechanism__settings": {"a\x1b": 1}}, "a string with invisible characters"),
    "value that commands": ({"mechanism__settings": {"a": "\ud800"}}, "has a value without a canonical JSON form"),
    "id that commands": (
        {"design__unit": {"id": "p\x1b"}},
        "unit id: expected a column name without invisible characters",
    ),
    "mechanism": ({"mechanism__name": ""}, "'mechanism.name' must be nonempty text"),
    "count without noise": ({"noise__sigma__count": "0"}, "noise.sigma.count contradicts the neighbouring relation"),
    "public where hidden": ({"units_public": "2"}, "the field 'units_public' contradicts the neighbouring relation"),
    "private without an account": ({"noise__calibration": "none"}, "not calibrated to a guarantee"),
    "no delta over Gaussian noise": (
        {"guarantee__delta": 0.0},
        "the guarantee states delta = 0, but this kind of noise needs delta above 0",
    ),
    "mu too small": ({"guarantee__mu": 0.1}, "of the guarantee does not match its epsilon and delta"),
    "mu too large": ({"guarantee__mu": 0.24}, "of the guarantee does not match its epsilon and delta"),
    "gap too small": ({"guarantee__mu_gap": 1e-12}, "of the guarantee does not match its epsilon and delta"),
    "gap gone": ({"guarantee__mu_gap": DELETE}, "of the guarantee does not match its epsilon and delta"),
    "mu gone": ({"guarantee__mu": None}, "is inconsistent: mu_gap needs mu, but mu is missing"),
    "mu of another epsilon": ({"guarantee__epsilon": 2.0}, "of the guarantee does not match its epsilon and delta"),
    "mu over another account": (
        {"noise__calibration": "discrete-zcdp"},
        "of the guarantee does not match its epsilon and delta",
    ),
    "mu over other noise": (
        {"noise__family": "discrete-laplace", "noise__calibration": "pure"},
        "of the guarantee does not match its epsilon and delta",
    ),
    "mu at a delta without one": ({"guarantee__delta": 0.9}, "is inconsistent: delta"),
    "rho over Gaussian accounting": (
        {"guarantee__rho": 0.028},
        "of the guarantee does not match its epsilon and delta",
    ),
    "scalar called like a block": ({"scalars": {"count": "5"}}, "must not contain the name of a block"),
    "coarse grid": ({"noise__grid_bits": 7}, "noise.grid_bits must be an integer from 8"),
    "rows": ({"units_public": 3}, "'units_public' must hold integers"),
}


def test_files_do_not_list_products_that_are_zero():
    made = a_release()
    body = json.loads(made.to_json())
    assert len(body["totals"]) == len(made.totals) - made.noise.zeros == 20
    (start, end) = made.noise.zero_runs(len(made.columns))[0]
    assert made.totals[start:end] == (0,)
    assert made.moments[3, 4] == made.noise_sd[3, 4] == 0.0
    assert Release.from_json(made.to_json()) == made


def test_a_file_without_a_curve_loads_as_before():
    body = json.loads(a_release().to_json())
    old = edited(a_release(), guarantee__mu=None, guarantee__mu_gap=DELETE)
    loaded = Release.from_json(old)
    assert (loaded.guarantee.mu, loaded.guarantee.mu_gap, loaded.guarantee.rho) == (None, None, None)
    assert loaded.digest == json.loads(old)["digest"]
    assert set(json.loads(old)["guarantee"]) == set(body["guarantee"]) - {"mu_gap"}


def test_noise_by_zcdp_keeps_its_rho_and_no_other():
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    release = discreet.release({"x": [0.1], "y": [0.3]}, design, epsilon=8.0, delta=1e-30)
    assert release.noise.calibration == "discrete-zcdp"
    assert release.guarantee.mu is None
    assert Release.from_json(release.to_json()) == release
    jsonschema.validate(json.loads(release.to_json()), SCHEMA)
    for rho in (0.99 * release.guarantee.rho, 1.01 * release.guarantee.rho):
        with pytest.raises(ReleaseFileError, match="of the guarantee does not match its epsilon and delta"):
            Release.from_json(edited(release, guarantee__rho=rho))


@pytest.mark.parametrize("name", BAD_CHANGES)
def test_a_file_that_does_not_hold_together_is_refused_even_with_a_matching_digest(name):
    changes, message = BAD_CHANGES[name]
    with pytest.raises(ReleaseFileError, match=message) as caught:
        Release.from_json(edited(a_release(), **changes))
    assert caught.value.exit_code == 2


BAD_WEIGHTED = {
    "no bits": ({}, {"noise__parameters": DELETE}, "of a design with weights must have weight_bits = 14"),
    "other bits": ({}, {"noise__parameters": {"weight_bits": "12"}}, "must have weight_bits = 14"),
    "no rows": ({}, {"scalars": DELETE}, "must have the number of rows in 'scalars', unless that number is public"),
    "rows that are public": ({"neighbours": "replace"}, {"scalars": {"rows": "5"}}, "unless that number is public"),
}


@pytest.mark.parametrize("name", BAD_WEIGHTED)
def test_sums_of_rows_with_weights_that_do_not_hold_together_are_refused(name):
    unit, changes, message = BAD_WEIGHTED[name]
    columns = {"x": (0, 1), "y": (0, 10), "w": (0, 5)}
    design = discreet.Design("y", columns, weights="w", unit=unit)
    made = discreet.release({"x": [0.1, 0.9], "y": [3.0, 4.0], "w": [1.0, 2.0]}, design, epsilon=1.0, delta=1e-6)
    assert Release.from_json(edited(made)) == made
    with pytest.raises(ReleaseFileError, match=message):
        Release.from_json(edited(made, **changes))


def test_a_number_of_units_that_is_public_must_be_given():
    text = edited(a_release(unit={"neighbours": "replace"}), units_public=None)
    with pytest.raises(ReleaseFileError, match="the field 'units_public' contradicts the neighbouring relation"):
        Release.from_json(text)


@pytest.mark.parametrize(
    ("units", "message"),
    [("17", "units_public must equal the row count stored"), ("-3", "units_public must not be negative")],
)
def test_a_public_number_of_units_must_be_that_of_the_sums(units, message):
    text = edited(a_release(unit={"neighbours": "replace"}), units_public=units)
    with pytest.raises(ReleaseFileError, match=message):
        Release.from_json(text)


BAD_COEFFICIENTS = {
    "sums": ({"totals": ["1"]}, "a release of coefficients must not contain sums"),
    "scalars": ({"scalars": {}}, "a release of coefficients must not contain sums"),
    "clip counts": ({"clip_counts": {"x": "1"}}, "a release of coefficients must not contain sums"),
    "none": ({"coefficients": DELETE}, "'coefficients' must be a table"),
    "short": ({"coefficients__values": [1.0]}, "coefficients.values must be 5 numbers"),
    "integers": ({"coefficients__values": [1] * 5}, "coefficients.values must be 5 numbers"),
    "no trace": ({"coefficients__trace": DELETE}, "coefficients.trace must be a list"),
    "short step": ({"coefficients__trace": [[1.0]]}, "coefficients.trace must be 5 numbers"),
    "no noise": ({"noise__sigma": {}}, "noise.sigma must be positive"),
    "noise of nothing": ({"noise__sigma__selection": "0"}, "noise.sigma must be positive"),
}


@pytest.mark.parametrize("name", BAD_COEFFICIENTS)
def test_a_release_of_coefficients_that_does_not_hold_together_is_refused(name):
    changes, message = BAD_COEFFICIENTS[name]
    with pytest.raises(ReleaseFileError, match=message):
        Release.from_json(edited(fitted_inside(), **changes))


def test_a_model_without_intercept_has_no_constant():
    text = edited(fitted_inside(intercept=False), coefficients__values=[1.0, 0.5, -0.125, 0.0, 2.0])
    with pytest.raises(ReleaseFileError, match="has no intercept, so the first of the 'coefficients' must be 0"):
        Release.from_json(text)


def test_coefficients_that_are_not_private_may_have_no_noise():
    release = replace(fitted_inside(), guarantee=None, noise=NoiseDistribution(16, {"score": 0}, "none"))
    assert Release.from_json(release.to_json()) == release


BAD_TEXTS = {
    "cut": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "list": lambda text: "[]",
    "other format": lambda text: '{"format": "something"}',
    "nan": lambda text: text.replace('"epsilon": 1.0', '"epsilon": NaN'),
    "twice": lambda text: text.replace('"kind"', '"schema": 1, "kind"'),
    "long number": lambda text: text.replace('"epsilon": 1.0', '"epsilon": ' + "9" * 5000),
    "deep": lambda text: "[" * 100_000,
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_a_damaged_file_is_refused(tmp_path, name):
    path = tmp_path / "r.json"
    path.write_text(BAD_TEXTS[name](a_release().to_json()))
    with pytest.raises(ReleaseFileError, match=r"r\.json"):
        Release.load(path)


def test_a_number_beyond_every_double_is_refused():
    text = edited(a_release(), mechanism__settings={"odd": 0.5}).replace("0.5", "1e400")
    with pytest.raises(ReleaseFileError, match="has a value without a canonical JSON form"):
        Release.from_json(text)


@pytest.mark.parametrize("inside", ["guard", "discovery", "staged", "coefficients"])
def test_fields_that_are_not_known_are_found_in_every_table(inside):
    body = {"kind": "moments", inside: {"tail": 1}, "digest": "", "zz": {}}
    assert unknown_fields(body) == [f"{inside}.tail", "zz"]
    # what is no table is refused where it is read
    assert unknown_fields({inside: [3], "residuals": {"ratio": None, "further": [None]}}) == []


def test_a_setting_that_is_not_finite_is_refused():
    with pytest.raises(ReleaseFileError, match=r"mechanism\.settings\.share must be a finite number"):
        _settings({"share": float("inf")})
