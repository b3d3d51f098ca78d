"""The release file: canonical, self-checking, readable elsewhere, and free of anything exact."""

from __future__ import annotations

import json
import os
import socket
import stat
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

import discreet
from discreet.errors import OutputError, ReleaseFileError
from discreet.output import check_output
from discreet.releases import BLOCKS, NoiseLaw, Release, symmetric
from discreet.releases.release import digest_of
from discreet.testing.not_private import exact_release, seeded_release
from tables import random_design, random_table

SCHEMA = json.loads(files("discreet").joinpath("release.schema.json").read_text())


def a_release(**options) -> Release:
    design = discreet.Design("y", {"x": (0, 1), "b": bool, "g": ["u", "v", "w"], "y": (0, 10)}, **options)
    table = {"x": [0.1, 0.9], "b": [True, False], "g": ["u", "w"], "y": [3.0, 4.0]}
    return discreet.release(table, design, epsilon=1.0, delta=1e-6)


def edited(release: Release, **changes) -> str:
    """The file with some fields changed and a digest that matches again."""
    body = json.loads(release.to_json())
    body.pop("digest")
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = body
        for parent in parents:
            place = place[parent]
        if value is DELETE:
            place.pop(last)
        else:
            place[last] = value
    return json.dumps({**body, "digest": digest_of(body)})


DELETE = object()


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
    "other kind": ({"kind": "coefficients"}, "kind 'coefficients' is not known to this version"),
    "missing field": ({"anchor": DELETE}, "no field 'anchor'"),
    "not private yet promised": ({"private": False}, "contradict each other"),
    "promise gone": ({"guarantee": None}, "contradict each other"),
    "other unit": ({"guarantee__unit__neighbours": "replace"}, "contradict each other"),
    "negative epsilon": ({"guarantee__epsilon": -1.0}, "does not hold together"),
    "columns renamed": ({"columns": ["1", "y"]}, "not those of the design"),
    "order wrong": ({"design__order": ["x"]}, "design.order"),
    "design not a table": ({"design": 3}, "'design' is not a table"),
    "design broken": ({"design__target": "q"}, "does not hold together: unknown target"),
    "totals short": ({"totals": ["1"]}, "upper triangle"),
    "totals float": ({"totals": [1.5] * 21}, "whole numbers as decimal text"),
    "totals text": ({"totals": ["abc"] * 21}, "whole numbers as decimal text"),
    "totals huge": ({"totals": ["9" * 101] * 21}, "whole numbers as decimal text"),
    "other digits": ({"totals": ["٣"] * 21}, "whole numbers as decimal text"),
    "family": ({"noise__family": "laplace"}, "not known to this version"),
    "calibration": ({"noise__calibration": "guess"}, "not known to this version"),
    "grid": ({"noise__grid_bits": 99}, "grid_bits is out of range"),
    "sigma block missing": ({"noise__sigma__cross": DELETE}, "must give the blocks"),
    "sigma zero": ({"noise__sigma__cross": "0"}, "must be positive"),
    "sigma negative": ({"noise__sigma__count": "-1"}, "must be positive"),
    "mechanism": ({"mechanism__name": ""}, "'mechanism.name' is not text"),
    "count without noise": ({"noise__sigma__count": "0"}, "the noise of the count contradicts"),
    "public where hidden": ({"units_public": "2"}, "the public number of units contradicts the neighbouring relation"),
    "rows": ({"units_public": 3}, "'units_public' must hold whole numbers"),
}


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


def test_a_robust_part_that_does_not_hold_together_is_refused():
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    table = {"x": [0.1, 0.9], "y": [0.3, 0.4]}
    release = discreet.release(table, design, epsilon=1.0, delta=1e-6, moments="robust")
    jsonschema.validate(json.loads(release.to_json()), SCHEMA)
    bad = {
        "residuals__coefficients": ([1.0], "must be 2 numbers"),
        "residuals__bound": (0.0, "must be a positive number"),
        "residuals__totals": (["1"], "upper triangle of a 2 x 2"),
        "residuals": (DELETE, "must give the blocks"),
        "noise__sigma__residual_diagonal": ("0", "must be positive"),
    }
    for path, (value, message) in bad.items():
        with pytest.raises(ReleaseFileError, match=message):
            Release.from_json(edited(release, **{path: value}))
    for coefficients in ([1.0, "x"], [1.0, True], "ab"):
        with pytest.raises(ReleaseFileError, match="must be 2 numbers"):
            Release.from_json(edited(release, residuals__coefficients=coefficients))


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


def test_a_folder_without_permission_is_refused(tmp_path, monkeypatch):
    def refuse(**_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.raises(OutputError, match="takes no new file: Permission denied; choose another"):
        check_output(tmp_path / "r.json", force=False)


def test_what_exists_and_is_no_plain_file_is_refused_even_if_forced(tmp_path):
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket.json"))
        for name in ("pipe.json", "socket.json"):
            for force in (False, True):
                with pytest.raises(OutputError, match="is a pipe, socket or device; name a plain file"):
                    check_output(tmp_path / name, force=force)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_of_the_system_that_takes_no_file_is_found_before_anything_is_spent():
    # as root it looks writable; the attempt alone tells
    with pytest.raises(OutputError, match="the folder '/proc' takes no new file"):
        check_output("/proc/x.json", force=False)


def test_a_long_name_that_the_folder_allows_is_written_and_a_longer_one_is_told(tmp_path):
    release = a_release()
    longest = tmp_path / f"{'n' * 250}.json"
    release.save(longest)
    assert Release.load(longest) == release
    assert [p.name for p in tmp_path.iterdir()] == [longest.name]
    for name in ("n" * 300, f"{'n' * 300}/r.json"):
        with pytest.raises(OutputError, match=r"the name 'n{20}\.\.\.' is too long; choose a shorter one"):
            check_output(tmp_path / name, force=False)


def test_a_name_with_a_nul_is_refused(tmp_path):
    with pytest.raises(OutputError, match="NUL"):
        check_output(tmp_path / "a\0b.json", force=False)


def test_a_folder_that_fills_up_after_the_check_is_told_in_a_sentence(tmp_path, monkeypatch):
    def full(**_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("discreet.output.check_output", lambda path, force: path)
    monkeypatch.setattr("tempfile.mkstemp", full)
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
    assert symmetric([1, 2, 3], 2).tolist() == [[1.0, 2.0], [2.0, 3.0]]
