"""The release file: canonical, self-checking, readable elsewhere, and free of anything exact."""

from __future__ import annotations

import copy
import json
import math
import pickle
import stat

import jsonschema
import numpy as np
import pytest

import discreet
from discreet.errors import OutputError, ReleaseFileError, SpecError
from discreet.releases import Release
from discreet.testing.not_private import exact_release, seeded_release
from support.release_edits import SCHEMA, edited
from support.small_releases import a_release, fitted_inside
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


# -- coefficients, absent sums and other distributions of the noise
# -------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"intercept": False}, {"unit": {"neighbours": "replace"}}], ids=str)
def test_a_release_of_coefficients_survives_its_file_and_holds_no_moments(options):
    release = fitted_inside(**options)
    assert (release.kind, a_release().kind) == ("coefficients", "moments")
    loaded = Release.from_json(release.to_json())
    assert loaded == release
    assert dict(loaded.settings) == {"iterations": 2, "radius_l1": 1.0, "residual_bound": 1.0}
    jsonschema.validate(json.loads(release.to_json()), SCHEMA)
    for part in ("moments", "noise_sd"):
        with pytest.raises(SpecError, match=r"coefficients of one model and no moments; read release\.coefficients"):
            getattr(loaded, part)
    assert loaded.residual_moments is None
    shown = loaded._repr_html_()
    assert "Coefficients of the scaled columns" in shown
    assert "0.5" in shown
    assert "frank-wolfe" in repr(loaded)


def test_sums_that_were_not_released_are_absent_and_said_to_be():
    design = discreet.Design("y", {"x": (-1, 1), "z": (-1, 1), "y": (-1, 1)}, intercept=False)
    table = {"x": [0.1, 0.9], "z": [0.2, 0.3], "y": [0.3, 0.4]}
    release = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="ssp")
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
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    table = {"x": [0.1, 0.9], "y": [0.3, 0.4]}
    release = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="adassp")
    assert list(release.scalars) == ["smallest_eigenvalue"]
    assert Release.from_json(release.to_json()) == release
    jsonschema.validate(json.loads(release.to_json()), SCHEMA)
    assert release.noise.sd("smallest_eigenvalue") > 2.0


def test_binary_and_missing_files_are_refused(tmp_path):
    (tmp_path / "model.pkl").write_bytes(b"\x80\x04\x95")
    with pytest.raises(ReleaseFileError, match="not UTF-8"):
        Release.load(tmp_path / "model.pkl")
    with pytest.raises(ReleaseFileError, match="cannot read"):
        Release.load(tmp_path / "none.json")


def test_unknown_fields_are_ignored_with_a_notice():
    release = a_release()
    with pytest.warns(UserWarning, match="an unknown field 'colour', which is ignored"):
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


@pytest.mark.parametrize("copied", [lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy, copy.copy])
@pytest.mark.parametrize("made", [a_release, fitted_inside])
def test_a_copy_of_a_release_is_the_same_release_and_read_only(made, copied):
    release = made()
    other = copied(release)
    assert other == release
    assert other.digest == release.digest
    with pytest.raises(TypeError):
        other.settings["passes"] = 3


def test_a_pickle_whose_text_was_changed_is_refused():
    changed = pickle.dumps(a_release()).replace(b'"epsilon": 1.0', b'"epsilon": 2.0')
    with pytest.raises(ReleaseFileError, match="digest"):
        pickle.loads(changed)
