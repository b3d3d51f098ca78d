"""The release file: canonical, self-checking, readable elsewhere, and free of anything exact."""

from __future__ import annotations

import copy
import json
import math
import pickle
import stat
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

import discreet
from discreet.errors import OutputError, ReleaseFileError, SpecError
from discreet.releases import BLOCKS, Coefficients, NoiseLaw, Release
from discreet.testing.not_private import exact_release, seeded_release
from support.release_edits import DELETE, SCHEMA, edited
from support.small_releases import a_release
from support.tables import random_design, random_table


@pytest.mark.parametrize("seed", range(12))
def test_a_release_survives_its_file(tmp_path, seed):
    rng = np.random.default_rng(seed)
    design = random_design(
        rng, neighbours=["add-remove", "replace"][seed % 2], missing=["error", "drop"][seed % 3 == 0]
    )
    release = discreet.release(random_table(design, 5, rng), design, epsilon=1.0, delta=1e-6)
    path = tmp_path / "r.json"
    release.save(path)
    loaded = Release.load(path)
    assert loaded == release
    assert loaded.digest == release.digest
    assert (loaded.moments == release.moments).all()
    assert (loaded.noise_sd == release.noise_sd).all()
    jsonschema.validate(json.loads(path.read_text()), SCHEMA)


def test_the_schema_itself_is_sound_and_refuses_what_is_not_a_release():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    body = json.loads(a_release().to_json())
    for change in ({"totals": [1, 2]}, {"schema": "1"}, {"noise": {}}, {"private": "yes"}, {"digest": "abc"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(body | change, SCHEMA)


def test_the_file_is_canonical():
    release = a_release()
    text = release.to_json()
    assert text == Release.from_json(text).to_json()
    assert list(json.loads(text)) == sorted(json.loads(text))


def test_integers_are_decimal_text_and_n_is_absent_unless_public():
    body = json.loads(a_release().to_json())
    assert all(isinstance(total, str) for total in body["totals"])
    assert body["units_public"] is None
    assert json.loads(a_release(unit={"neighbours": "replace"}).to_json())["units_public"] == "2"


def test_moments_are_totals_in_scaled_units_with_their_noise():
    release = a_release()
    p = len(release.columns)
    assert release.columns == ("1", "x", "b", "g[v]", "g[w]", "y")
    assert release.moments.shape == release.noise_sd.shape == (p, p)
    assert (release.moments == release.moments.T).all()
    assert release.moments[0, 0] == release.totals[0] / 2**32
    assert release.noise_sd[1, 2] == release.noise.sigma["gram_off_diagonal"] / 2**32
    assert release.noise_sd[1, 1] == pytest.approx(np.sqrt(2) * release.noise_sd[1, 2])
    with pytest.raises(ValueError, match="read-only"):
        release.moments[0, 0] = 1.0


def test_every_single_changed_character_of_the_content_is_noticed():
    text = a_release().to_json()
    body = json.loads(text)
    for key in set(body) - {"digest"}:
        changed = json.dumps(body | {key: "something else"})
        with pytest.raises(ReleaseFileError, match=r"digest|not a release file|schema"):
            Release.from_json(changed)
    position = text.index('"totals"') + 20
    flipped = text[:position] + ("1" if text[position] != "1" else "2") + text[position + 1 :]
    with pytest.raises(ReleaseFileError):
        Release.from_json(flipped)


BAD_CHANGES = {
    "newer": ({"schema": 2}, "schema 2, this version reads up to 1; update discreet"),
    "no version": ({"schema": True}, "no schema version"),
    "other kind": ({"kind": "samples"}, "kind 'samples' is not known to this version"),
    "kind without its part": ({"kind": "coefficients"}, "a release of coefficients has no sums"),
    "both kinds": ({"coefficients": {"values": [], "trace": []}}, "a release of moments has no field 'coefficients'"),
    "numerics": ({"mechanism__numerics": "perfect"}, "must be 'exact' or 'idealised'"),
    "settings": ({"mechanism__settings": {"passes": [1]}}, "mechanism.settings.passes is not a plain value"),
    "parameters": ({"noise__family": "k-norm"}, "noise.parameters are not those of the family 'k-norm'"),
    "no degrees": (
        {"noise__family": "wishart", "noise__parameters": {"degrees": "0"}},
        "noise.parameters are not those of the family 'wishart'",
    ),
    "scalars": ({"scalars": {"smallest_eigenvalue": "5"}}, "must give the blocks"),
    "sum without its law": ({"noise__sigma__target_square": DELETE}, "differ on whether the block 'target_square'"),
    "law without its sum": ({"totals": ["1"] * 20 + [None]}, "differ on whether the block 'target_square'"),
    "missing field": ({"anchor": DELETE}, "no field 'anchor'"),
    "not private yet promised": ({"private": False}, "contradict each other"),
    "promise gone": ({"guarantee": None}, "contradict each other"),
    "other unit": ({"guarantee__unit__neighbours": "replace"}, "contradict each other"),
    "negative epsilon": ({"guarantee__epsilon": -1.0}, "is inconsistent"),
    "columns renamed": ({"columns": ["1", "y"]}, "not those of the design"),
    "order wrong": ({"design__order": ["x"]}, "design.order"),
    "design not a table": ({"design": 3}, "'design' is not a table"),
    "design broken": ({"design__target": "q"}, "is inconsistent: unknown target"),
    "totals short": ({"totals": ["1"]}, "upper triangle"),
    "totals float": ({"totals": [1.5] * 21}, "integers as decimal text"),
    "totals text": ({"totals": ["abc"] * 21}, "integers as decimal text"),
    "totals huge": ({"totals": ["9" * 101] * 21}, "integers as decimal text"),
    "other digits": ({"totals": ["٣"] * 21}, "integers as decimal text"),
    "family": ({"noise__family": "laplace"}, "not known to this version"),
    "calibration": ({"noise__calibration": "guess"}, "not known to this version"),
    "grid": ({"noise__grid_bits": 99}, "grid_bits is out of range"),
    "sigma block missing": ({"noise__sigma__cross": DELETE}, "must give the blocks"),
    "sigma zero": ({"noise__sigma__cross": "0"}, "must be positive"),
    "sigma negative": ({"noise__sigma__count": "-1"}, "must be positive"),
    "mechanism": ({"mechanism__name": ""}, "'mechanism.name' is not text"),
    "count without noise": ({"noise__sigma__count": "0"}, "the noise of the count contradicts"),
    "public where hidden": ({"units_public": "2"}, "the public number of units contradicts the neighbouring relation"),
    "private without an account": ({"noise__calibration": "none"}, "not calibrated to any promise"),
    "no delta over Gaussian noise": ({"guarantee__delta": 0.0}, "the promise has no delta"),
    "mu too small": ({"guarantee__mu": 0.1}, "not what this noise keeps"),
    "mu too large": ({"guarantee__mu": 0.24}, "not what this noise keeps"),
    "gap too small": ({"guarantee__mu_gap": 1e-12}, "not what this noise keeps"),
    "gap gone": ({"guarantee__mu_gap": DELETE}, "not what this noise keeps"),
    "mu gone": ({"guarantee__mu": None}, "is inconsistent: got mu_gap without mu"),
    "mu of another epsilon": ({"guarantee__epsilon": 2.0}, "not what this noise keeps"),
    "mu over another account": ({"noise__calibration": "discrete-zcdp"}, "not what this noise keeps"),
    "mu over other noise": (
        {"noise__family": "discrete-laplace", "noise__calibration": "pure"},
        "not what this noise keeps",
    ),
    "mu at a delta without one": ({"guarantee__delta": 0.9}, "is inconsistent: delta"),
    "rho over Gaussian accounting": ({"guarantee__rho": 0.028}, "not what this noise keeps"),
    "scalar called like a block": ({"scalars": {"count": "5"}}, "has the name of a block"),
    "coarse grid": ({"noise__grid_bits": 7}, "grid_bits is out of range"),
    "rows": ({"units_public": 3}, "'units_public' must hold integers"),
}


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
        with pytest.raises(ReleaseFileError, match="not what this noise keeps"):
            Release.from_json(edited(release, guarantee__rho=rho))


@pytest.mark.parametrize("name", BAD_CHANGES)
def test_a_file_that_does_not_hold_together_is_refused_even_with_a_matching_digest(name):
    changes, message = BAD_CHANGES[name]
    with pytest.raises(ReleaseFileError, match=message) as caught:
        Release.from_json(edited(a_release(), **changes))
    assert caught.value.exit_code == 2


def test_a_number_of_units_that_is_public_must_be_given():
    text = edited(a_release(unit={"neighbours": "replace"}), units_public=None)
    with pytest.raises(ReleaseFileError, match="the public number of units contradicts the neighbouring relation"):
        Release.from_json(text)


@pytest.mark.parametrize(("units", "message"), [("17", "not the number of rows"), ("-3", "is negative")])
def test_a_public_number_of_units_must_be_that_of_the_sums(units, message):
    text = edited(a_release(unit={"neighbours": "replace"}), units_public=units)
    with pytest.raises(ReleaseFileError, match=message):
        Release.from_json(text)


# -- coefficients, absent sums and other laws of the noise -------------------------------------------------------------


def fitted_inside(**options) -> Release:
    """A release of the coefficients of one model, as a mechanism of that kind makes it."""
    plain = a_release(**options)
    values = (0.25 if plain.design.intercept else 0.0, 0.5, -0.125, 1e-17, 2.0)
    law = NoiseLaw(16, {"score": 2**34, "start": 2**20}, "composed", "discrete-laplace", {"passes": 2})
    promise = replace(plain.guarantee, mu=None, mu_gap=None)
    return replace(
        plain, guarantee=promise, mechanism="steps", noise=law, totals=(),
        coefficients=Coefficients(values, (values, values)),
        settings={"passes": 2, "averaged": True, "rate": 0.5, "loss": "huber"}, numerics="idealised",
    )  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"intercept": False}, {"unit": {"neighbours": "replace"}}], ids=str)
def test_a_release_of_coefficients_survives_its_file_and_holds_no_moments(options):
    release = fitted_inside(**options)
    assert (release.kind, a_release().kind) == ("coefficients", "moments")
    loaded = Release.from_json(release.to_json())
    assert loaded == release
    assert dict(loaded.settings) == {"passes": 2, "averaged": True, "rate": 0.5, "loss": "huber"}
    jsonschema.validate(json.loads(release.to_json()), SCHEMA)
    for part in ("moments", "noise_sd"):
        with pytest.raises(SpecError, match=r"coefficients of one model and no moments; read release\.coefficients"):
            getattr(loaded, part)
    assert loaded.residual_moments is None
    shown = loaded._repr_html_()
    assert "Coefficients of the scaled columns" in shown
    assert "0.5" in shown
    assert "steps" in repr(loaded)


BAD_COEFFICIENTS = {
    "sums": ({"totals": ["1"]}, "a release of coefficients has no sums"),
    "scalars": ({"scalars": {}}, "a release of coefficients has no sums"),
    "clip counts": ({"clip_counts": {"x": "1"}}, "a release of coefficients has no sums"),
    "none": ({"coefficients": DELETE}, "'coefficients' is not a table"),
    "short": ({"coefficients__values": [1.0]}, "coefficients.values must be 5 numbers"),
    "integers": ({"coefficients__values": [1] * 5}, "coefficients.values must be 5 numbers"),
    "no trace": ({"coefficients__trace": DELETE}, "coefficients.trace must be a list"),
    "short step": ({"coefficients__trace": [[1.0]]}, "coefficients.trace must be 5 numbers"),
    "no noise": ({"noise__sigma": {}}, "noise.sigma must be positive"),
    "noise of nothing": ({"noise__sigma__score": "0"}, "noise.sigma must be positive"),
}


@pytest.mark.parametrize("name", BAD_COEFFICIENTS)
def test_a_release_of_coefficients_that_does_not_hold_together_is_refused(name):
    changes, message = BAD_COEFFICIENTS[name]
    with pytest.raises(ReleaseFileError, match=message):
        Release.from_json(edited(fitted_inside(), **changes))


def test_a_model_without_intercept_has_no_constant():
    text = edited(fitted_inside(intercept=False), coefficients__values=[1.0, 0.5, -0.125, 0.0, 2.0])
    with pytest.raises(ReleaseFileError, match="has no intercept, but"):
        Release.from_json(text)


def test_coefficients_that_are_not_private_may_have_no_noise():
    release = replace(fitted_inside(), guarantee=None, noise=NoiseLaw(16, {"score": 0}, "none"))
    assert Release.from_json(release.to_json()) == release


def without(release: Release, *absent: str) -> Release:
    """The same release as a mechanism makes it that leaves blocks out."""
    sigma = {block: scale for block, scale in release.noise.sigma.items() if block not in absent}
    kept = NoiseLaw(16, {block: int(block in sigma) for block in BLOCKS}, "none").steps(len(release.columns))
    totals = tuple(total if keep else None for total, keep in zip(release.totals, kept, strict=True))
    return replace(release, noise=replace(release.noise, sigma=sigma), totals=totals)


def test_sums_that_were_not_released_are_absent_and_said_to_be():
    release = without(a_release(), "target_square", "sum_x", "sum_y")
    loaded = Release.from_json(release.to_json())
    assert loaded == release
    jsonschema.validate(json.loads(release.to_json()), SCHEMA)
    assert np.isnan(loaded.moments[-1, -1])
    assert np.isnan(loaded.noise_sd[0, 1:]).all()
    assert np.isfinite(loaded.moments[1:-1, 1:]).all()
    assert "not released" in loaded._repr_html_()
    assert "not released" not in a_release()._repr_html_()
    assert math.isnan(loaded.noise.sd("sum_x"))


def test_further_numbers_have_a_name_and_a_scale():
    plain = a_release()
    law = replace(plain.noise, sigma={**plain.noise.sigma, "smallest_eigenvalue": 2**33})
    release = replace(plain, noise=law, scalars={"smallest_eigenvalue": -(2**40)})
    assert Release.from_json(release.to_json()) == release
    jsonschema.validate(json.loads(release.to_json()), SCHEMA)
    assert release.noise.sd("smallest_eigenvalue") == 2.0


def test_a_law_can_be_copied_and_sent():
    law = fitted_inside().noise
    assert pickle.loads(pickle.dumps(law)) == copy.deepcopy(law) == law


def test_standard_deviations_follow_the_family():
    """Variances of Laplace (2 b^2), of a vector with density exp(-|z|) (D + 1), of Wishart entries (m, twice on it)."""
    sigma = dict.fromkeys(BLOCKS, 4**16)
    found = {
        family: NoiseLaw(16, sigma, "none", family, parameters).entry_sd(3)
        for family, parameters in (
            ("discrete-gaussian", {}), ("discrete-laplace", {}),
            ("k-norm", {"dimension": 8}), ("wishart", {"degrees": 9}),
        )
    }  # fmt: skip
    assert (found["discrete-gaussian"] == 1).all()
    assert found["discrete-laplace"] == pytest.approx(np.full((3, 3), math.sqrt(2)))
    assert found["k-norm"] == pytest.approx(np.full((3, 3), 3.0))
    assert found["wishart"] == pytest.approx(3 * (1 + (math.sqrt(2) - 1) * np.eye(3)))


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


def test_binary_and_missing_files_are_refused(tmp_path):
    (tmp_path / "model.pkl").write_bytes(b"\x80\x04\x95")
    with pytest.raises(ReleaseFileError, match="not UTF-8"):
        Release.load(tmp_path / "model.pkl")
    with pytest.raises(ReleaseFileError, match="cannot read"):
        Release.load(tmp_path / "none.json")


def test_unknown_fields_are_ignored_with_a_notice():
    release = a_release()
    with pytest.warns(UserWarning, match="'colour' that this version does not know"):
        assert Release.from_json(edited(release, colour="red")) == release


def test_an_existing_file_is_left_alone_unless_forced(tmp_path):
    path = tmp_path / "r.json"
    path.write_text("precious")
    with pytest.raises(OutputError, match="exists"):
        a_release().save(path)
    assert path.read_text() == "precious"
    release = a_release()
    release.save(path, force=True)
    assert Release.load(path) == release
    assert not stat.S_IMODE(path.stat().st_mode) & 0o111
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_links_folders_and_missing_folders_are_not_written_to(tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "elsewhere.json")
    (tmp_path / "folder").mkdir()
    for name in ("link.json", "folder", "none/r.json"):
        with pytest.raises(OutputError):
            a_release().save(tmp_path / name, force=True)


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", fail)
    with pytest.raises(OutputError, match="No space left"):
        a_release().save(tmp_path / "r.json")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_fills_up_after_the_check_is_told_in_a_sentence(tmp_path, monkeypatch):
    def full(*_given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("discreet.files.check_output", lambda path, force: path)
    monkeypatch.setattr("discreet.files.os.open", full)
    with pytest.raises(OutputError, match=r"cannot write .*: No space left"):
        a_release().save(tmp_path / "r.json")


def test_what_is_not_private_says_so_everywhere(tmp_path):
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    table = {"x": [0.5, 0.25], "y": [0.5, 1.0]}
    for release in (exact_release(table, design), seeded_release(table, design, seed=1, epsilon=1.0, delta=1e-6)):
        assert not release.private
        assert release.guarantee is None
        assert "NOT PRIVATE" in repr(release)
        with pytest.raises(OutputError, match="NOT PRIVATE"):
            release.save(tmp_path / "r.json")
        release.save(tmp_path / "r.NOT-PRIVATE.json", force=True)
        loaded = Release.load(tmp_path / "r.NOT-PRIVATE.json")
        assert loaded == release
        jsonschema.validate(json.loads(release.to_json()), SCHEMA)
    assert "epsilon=1" in repr(a_release())


def test_seeded_noise_repeats_and_exact_noise_is_zero():
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)}, unit={"neighbours": "replace"})
    table = {"x": [0.5, 0.25], "y": [0.5, 1.0]}
    one, two, other = (seeded_release(table, design, seed=s, epsilon=1.0, delta=1e-6) for s in (1, 1, 2))
    assert one.totals == two.totals != other.totals
    assert one.units_public == 2
    assert (exact_release(table, design).noise_sd == 0).all()


def test_noise_parameters_are_laid_out_block_by_block():
    law = NoiseLaw(16, {block: k + 1 for k, block in enumerate(BLOCKS)}, "gaussian")
    assert law.steps(4) == [1, 2, 2, 5, 3, 4, 6, 3, 6, 7]
