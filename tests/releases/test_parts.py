"""Parts of a release file that were paid for beside the moments: residuals and counts of clipped rows."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import jsonschema
import pytest

import discreet
from discreet.errors import ReleaseFileError
from discreet.options import RobustErrors
from discreet.planning import noise_distribution_for
from discreet.releases import Release
from discreet.releases.fields import GuardPart
from support.release_edits import DELETE, SCHEMA, edited


def test_a_robust_part_that_does_not_hold_together_is_refused():
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    table = {"x": [0.1, 0.9], "y": [0.3, 0.4]}
    release = discreet.release(table, design, epsilon=1.0, delta=1e-6, robust=RobustErrors(residual_bound=0.25))
    jsonschema.validate(json.loads(release.to_json()), SCHEMA)
    # in steps of the product grid and of the squared bound, 1/2
    assert release.residual_moments[0, 1] == release.residuals.totals[1] / 4**16 / 4
    assert (release.residual_moments == release.residual_moments.T).all()
    ratio = release.residuals.ratio
    assert release.ratio_square == ratio.total / 4**16 * ratio.bound**2
    bad = {
        "residuals__coefficients": ([1.0], "must be 2 numbers"),
        "residuals__bound": (0.0, "must be a number above 0"),
        "residuals__totals": (["1"], "upper triangle of a 2 x 2"),
        "residuals": (DELETE, "must list the blocks"),
        "noise__sigma__residual_diagonal": ("0", "must be positive"),
        "noise__sigma__residual_ratio": (DELETE, "must list the blocks .*residual_ratio"),
        "residuals__ratio": (DELETE, "must list the blocks"),
        "residuals__ratio__total": (3, "must hold integers"),
        "residuals__ratio__mean": ("0", "must be 3 numbers"),
        "residuals__ratio__bound": (0.0, "a bound above 0 and at most 2, a ratio from 0 to 1"),
        "residuals__ratio__ratio": (1.5, "a bound above 0 and at most 2, a ratio from 0 to 1"),
        "scalars": ({"residual_ratio": "5"}, "must not contain the name of a block"),
    }
    for path, (value, message) in bad.items():
        with pytest.raises(ReleaseFileError, match=message):
            Release.from_json(edited(release, **{path: value}))
    for coefficients in ([1.0, "x"], [1.0, True], "ab"):
        with pytest.raises(ReleaseFileError, match="must be 2 numbers"):
            Release.from_json(edited(release, residuals__coefficients=coefficients))


@pytest.mark.parametrize("budget", [{"delta": 1e-6}, {}, {"delta": 1e-6, "robust": True}], ids=str)
def test_counts_of_clipped_rows_survive_their_file_and_must_fit_design_and_noise(budget, tmp_path):
    design = discreet.Design("y", {"x": (0, 1), "b": bool, "y": (0, 1)})
    table = {"x": [0.1, 5.0], "b": [True, False], "y": [0.3, 0.4]}
    release = discreet.release(table, design, epsilon=1.0, clip_counts=True, **budget)
    jsonschema.validate(json.loads(release.to_json()), SCHEMA)
    release.save(tmp_path / "r.json")
    loaded = Release.load(tmp_path / "r.json")
    assert loaded == release
    assert loaded.to_json() == release.to_json()
    assert list(loaded.clip_counts) == ["x", "y"]
    count = loaded.clip_counts["x"]
    assert count.value == int(json.loads(release.to_json())["clip_counts"]["x"]) / 4**16
    assert count.sd == release.noise.sd("clipped") > 0
    bad = {
        "clip_counts": ({"x": "1"}, "must have exactly one count for each column whose values can be clipped"),
        "clip_counts__b": ("1", "must have exactly one count for each column whose values can be clipped"),
        "clip_counts__x": (1.5, "integers as decimal text"),
        "noise__sigma__clipped": (DELETE, "must list the blocks"),
        "scalars": ({"clipped": "5"}, "must not contain the name of a block"),
    }
    for path, (value, message) in bad.items():
        with pytest.raises(ReleaseFileError, match=message):
            Release.from_json(edited(release, **{path: value}))
    for changes, message in (
        ({"clip_counts": DELETE}, "must list the blocks"),
        ({"clip_counts": {}}, "must have exactly one count for each column"),
        ({"clip_counts": 3}, "'clip_counts' must be a table"),
        ({"noise__sigma__clipped": "0"}, "must be positive"),
    ):
        with pytest.raises(ReleaseFileError, match=message):
            Release.from_json(edited(release, **changes))


def test_a_robust_release_without_the_sum_for_r_squared_is_refused():
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    table = {"x": [0.1, 0.9], "y": [0.3, 0.4]}
    made = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="gaussian", robust=True)
    sigma = {block: value for block, value in made.noise.sigma.items() if block != "residual_ratio"}
    without = replace(made, noise=replace(made.noise, sigma=sigma), residuals=replace(made.residuals, ratio=None))
    with pytest.raises(ReleaseFileError, match="needs a scale 'residual_ratio', but the release states none"):
        Release.from_json(without.to_json())


def test_a_forged_gap_or_residual_part_is_refused():
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    table = {"x": [0.1, 0.9], "y": [0.3, 0.4]}
    made = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="gaussian", robust=True)
    for changes, message in (
        ({"guarantee__mu_gap": 0.0}, "mu, mu_gap or rho"),
        ({"residuals__bound": 1e200}, "residuals.bound must be a number above 0 and at most 4"),
        ({"residuals__ratio__bound": 1e200}, "residuals.ratio must have a bound above 0 and at most 2"),
        ({"residuals__ratio__mean": 1.5}, "a mean from -1 to 1"),
        ({"design__intercept": False}, "requires a design with an intercept"),
    ):
        with pytest.raises(ReleaseFileError, match=message):
            Release.from_json(edited(made, **changes))


@pytest.mark.parametrize("robust", [False, True])
def test_the_distribution_of_a_release_with_clip_counts_can_be_checked_from_public_numbers(robust):
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    table = {"x": [0.1, 0.9], "y": [0.3, 0.4]}
    options = {"robust": robust, "clip_counts": True, "grid_bits": 20}
    made = discreet.release(table, design, epsilon=1.0, delta=1e-6, **options)
    assert noise_distribution_for(design, 1.0, 1e-6, **options) == made.noise


def test_ranges_are_read_back_and_ranges_that_cannot_be_are_refused():
    design = discreet.Design("y", {"x": (0, 1), "b": bool, "y": (0, 1)})
    table = {"x": [0.1, 0.9], "b": [True, False], "y": [0.3, 0.4]}
    made = discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="refined")
    assert Release.from_json(made.to_json()) == made
    assert len(made.coefficients.ranges) == 2
    jsonschema.validate(json.loads(made.to_json()), SCHEMA)
    for ranges, message in (
        ([[-1.0, 1.0]], "must be 2 pairs of numbers"),
        (3, "must be 2 pairs of numbers"),
        ([[-1.0, 1.0], [0.5]], "each pair of coefficients.ranges must be 2 numbers"),
        ([[-1.0, 1.0], [0.5, 0.25]], "a lower and an upper end, both from -1 to 1"),
        ([[-1.0, 1.5], [0.0, 1.0]], "a lower and an upper end, both from -1 to 1"),
    ):
        with pytest.raises(ReleaseFileError, match=message):
            Release.from_json(edited(made, coefficients__ranges=ranges))


@pytest.fixture(scope="module")
def with_models():
    design = discreet.Design("y", {"x": (0, 1), "g": ["a", "b", "c"], "y": (0, 1)})
    table = {"x": [0.1, 0.9], "g": ["a", "c"], "y": [0.3, 0.4]}
    models = ["y ~ x", "y ~ g", "x ~ 1"]
    return discreet.release(table, design, epsilon=1.0, delta=1e-6, robust=RobustErrors(models=models))


def test_a_release_with_further_models_survives_its_file(with_models, tmp_path):
    with_models.save(tmp_path / "r.json")
    body = json.loads(with_models.to_json())
    jsonschema.validate(body, SCHEMA)
    assert body["noise"]["models"] == [[1, 4], [2, 3, 4], [1]]
    assert Release.load(tmp_path / "r.json") == with_models
    assert pickle.loads(pickle.dumps(with_models)) == with_models
    assert with_models.robust_models == ("y ~ x", "y ~ g", "x ~ 1")
    part = with_models.residuals.further[0]
    assert with_models.residual_gram(part)[0, 1] == part.totals[1] / 4**16 * part.bound**2


MODELS = {
    "no list": ({"noise__models": 3}, "noise.models must list the columns of each"),
    "none": ({"noise__models": []}, "noise.models must list the columns of each"),
    "text": ({"noise__models": ["y ~ x"]}, "noise.models must list the columns of each"),
    "the full model": ({"noise__models": [[1, 4], [1, 2, 3, 4], [1]]}, "each additional model once"),
    "twice": ({"noise__models": [[1, 4], [1, 4], [1]]}, "each additional model once"),
    "other columns": ({"noise__models": [[2, 1, 4], [2, 3, 4], [1]]}, "each additional model once"),
    "a longer model": ({"noise__models": [[1, 2, 4], [2, 3, 4], [1]]}, "must be 3 numbers"),
    "fewer models": ({"noise__models": [[1, 4], [2, 3, 4]]}, "residuals.further must have one entry for each model"),
    "no models": ({"noise__models": DELETE}, "residuals.further must have one entry for each model"),
    "no sums": ({"residuals__further": DELETE}, "residuals.further must have one entry for each model"),
    "sums in a table": ({"residuals__further": {}}, "residuals.further must have one entry for each model"),
    "a sum that is none": ({"residuals__further": [1, 2, 3]}, "'residuals.further' must be a table"),
    "no noise": ({"noise__sigma__residual_diagonal_2": DELETE}, "must list the blocks"),
    "less noise": ({"noise__sigma__residual_diagonal_3": "5"}, "the noise .*delta"),
    "a number of that name": ({"scalars": {"residual_diagonal_1": "5"}}, "must not contain the name of a block"),
}


@pytest.mark.parametrize(("changes", "message"), MODELS.values(), ids=MODELS)
def test_further_models_that_do_not_hold_together_are_refused(with_models, changes, message):
    with pytest.raises(ReleaseFileError, match=message):
        Release.from_json(edited(with_models, **changes))


@pytest.mark.parametrize("table", ["mechanism", "noise", "residuals", "residuals__ratio", "residuals__further"])
def test_a_field_inside_that_is_not_known_is_said_as_one_outside_is(with_models, table):
    changes = {f"{table}__tail": 1}
    if table == "residuals__further":
        first, *others = json.loads(with_models.to_json())["residuals"]["further"]
        changes = {table: [first | {"tail": 1}, *others]}
    field = f"'{table.replace('__', '.')}.tail'"
    with pytest.warns(UserWarning, match=f"the release file has an unknown field {field}, which is ignored"):
        assert Release.from_json(edited(with_models, **changes)) == with_models


def test_every_noisy_count_is_labelled_with_what_it_counts():
    from discreet.testing import seeded_release

    columns = {"y": (0, 1), "x": {"bounds": (0, 1), "missing": "drop"}}
    rows = {"x": [0.5, 2.0, None] * 200, "y": [0.25, 0.5, 0.75] * 200, "w": [1, 2, 1] * 200}
    weighted = seeded_release(
        rows, discreet.Design("y", columns | {"w": (0, 2)}, weights="w"),
        seed=1, epsilon=5.0, delta=1e-6,
    )  # fmt: skip
    assert list(weighted.counts) == ["rows"]
    counted = seeded_release(
        rows, discreet.Design("y", columns), seed=1, epsilon=5.0, delta=1e-6, mechanism="gaussian", clip_counts=True
    )
    assert dict(counted.counts) == {
        "rows with a clipped value of y": counted.clip_counts["y"],
        "rows with a clipped value of x": counted.clip_counts["x"],
    }
    guarded = replace(counted, clipped={}, guard=GuardPart(7, 3 * counted.noise.unit, 2 * counted.noise.unit))
    assert {label: one.value for label, one in guarded.counts.items()} == {
        "rows that fit the design": 3.0, "rows that its rules drop": 2.0,
    }  # fmt: skip
    assert (
        seeded_release(
            rows, discreet.Design("y", columns), seed=1, epsilon=5.0, delta=1e-6, mechanism="gaussian"
        ).counts
        == {}
    )


@pytest.mark.parametrize(("mechanism", "stated"), [("staged", "gaussian"), ("gaussian", "staged")])
def test_the_part_of_staged_belongs_to_its_mechanism(mechanism, stated):
    design = discreet.Design("y", {"x": (0, 1), "y": (0, 1)})
    made = discreet.release({"x": [0.1], "y": [0.3]}, design, epsilon=1.0, delta=1e-6, mechanism=mechanism)
    with pytest.raises(ReleaseFileError, match="the field 'staged' contradicts"):
        Release.from_json(edited(made, mechanism__name=stated))
