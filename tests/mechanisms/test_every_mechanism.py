"""One interface for all: every mechanism of the registry releases, saves, loads, fits, predicts, plans and refuses.

A mechanism that is absent from the registry does not exist, and one that is in it passes here.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import discreet
from discreet.cli.main import program
from discreet.errors import SpecError
from discreet.mechanisms.registry import mechanism_named, mechanisms, table_row
from discreet.planning import noise_distribution_for
from discreet.releases import Release
from discreet.releases.reference_distribution import NotEstimable
from support.tables import Untouchable

NAMES = sorted(mechanisms())
COLUMNS = {"x": (0, 10), "b": bool, "g": ["red", "green", "blue"], "y": (-5, 5)}
FEW = {"x": (0, 10), "y": (-5, 5)}
ROWS = 400


def table(rows: int = ROWS, seed: int = 5) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, rows)
    b = rng.random(rows) < 0.4
    g = rng.choice(["red", "green", "blue"], rows)
    y = 0.4 * x - 2 + b + (g == "blue") + rng.normal(0, 0.5, rows)
    return {"x": x.tolist(), "b": b.tolist(), "g": g.tolist(), "y": y.tolist(), "who": list(range(rows))}


def budget(name: str) -> dict[str, float]:
    """Delta only where it is needed: a mechanism that does without may leave it unused and say so."""
    return {"epsilon": 5.0, "delta": 1e-6 if mechanism_named(name).info.notion == "approximate" else 0.0}


def made(name: str, columns=None, data=None, settings=None, **declared) -> Release:
    design = discreet.Design("y", columns or COLUMNS, **declared)
    return discreet.release(data or table(), design, mechanism=name, settings=settings, **budget(name))


CROSSED = COLUMNS | {"xg": {"formula": "x:g"}, "bg": {"formula": "b:g"}}


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_it_takes_interactions_or_refuses_them_before_anything_is_read(name, tmp_path):
    if name == "dpme":
        with pytest.raises(SpecError, match="an interaction with a number, which cannot be divided into cells"):
            made(name, CROSSED, data=Untouchable())
        return
    release = made(name, CROSSED)
    release.save(tmp_path / "r.json")
    again = Release.load(tmp_path / "r.json")
    assert again.columns == (
        "1",
        "x",
        "b",
        "g[green]",
        "g[blue]",
        "xg[green]",
        "xg[blue]",
        "bg[green]",
        "bg[blue]",
        "y",
    )
    assert discreet.verify(again).epsilon_given <= 5.0
    fit = discreet.fit(again)
    if fit.estimable:
        assert set(fit.params) == {"Intercept", *again.columns[1:-1]}
        row = {column: values[:2] for column, values in table().items()}
        assert np.isfinite(fit.predict(row)).all()


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_it_releases_saves_loads_fits_and_predicts(name, tmp_path):
    release = made(name)
    assert (release.guarantee.delta == 0) == (release.noise.calibration == "pure")
    assert (release.mechanism, release.kind) == (name, mechanism_named(name).kind)
    assert release.guarantee.epsilon == 5.0
    release.save(tmp_path / "r.json")
    again = Release.load(tmp_path / "r.json")
    assert again.to_json() == release.to_json()
    assert again == release
    options = {"penalty": "adaptive"} if release.kind == "moments" else {}
    fit = discreet.fit(again, **options)
    assert fit.names == ("Intercept", "x", "b", "g[green]", "g[blue]")
    predicted = fit.predict({"x": [1.0, 9.0], "b": [True, False], "g": ["red", "blue"]})
    assert predicted.shape == (2,)
    assert np.isfinite(predicted).all()
    assert np.isfinite(fit.coefficients).all()
    assert "y" in fit.summary()


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_no_standard_error_is_ever_nan(name):
    release = made(name, FEW)
    fit = discreet.fit(release)
    for error, ends in zip(fit.bse.values(), fit.conf_int().values(), strict=True):
        assert isinstance(error, NotEstimable) or (math.isfinite(error) and error > 0)
        assert isinstance(ends, NotEstimable) or not math.isnan(ends.lower + abs(ends.upper))
        assert isinstance(ends, NotEstimable) or not ends.bounded or all(map(math.isfinite, ends))
        assert isinstance(error, NotEstimable) or not isinstance(ends, NotEstimable)
    if release.kind == "coefficients":
        assert all(isinstance(error, NotEstimable) and error.reason for error in fit.bse.values())


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_the_planned_noise_is_the_released_noise(name):
    release = made(name, FEW)
    distribution = noise_distribution_for(release.design, **budget(name), mechanism=name)
    assert distribution == release.noise
    plan = discreet.plan(release.design, rows=ROWS, **budget(name), mechanism=name)
    assert len(plan.coefficients) == 2
    if release.kind == "moments":
        assert np.array_equal(np.array(plan.noise_sd, dtype=float), release.noise_sd, equal_nan=True)
        assert all(distribution.sd(block) > 0 for block in distribution.sigma)
    else:
        assert all(coefficient.reason for coefficient in plan.coefficients)


@pytest.mark.no_cover
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("name", NAMES)
def test_both_neighbouring_relations_are_released(name, neighbours):
    assert neighbours in table_row(name).neighbours
    release = made(name, unit={"neighbours": neighbours})
    assert release.guarantee.neighbours == neighbours
    assert release.units_public == (ROWS if neighbours == "replace" else None)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_persons_with_two_rows_release_with_more_noise_or_are_refused_before_data(name):
    data = table()
    data["who"] = [row // 2 for row in range(ROWS)]
    unit = {"id": "who", "max_rows": 2}
    if not table_row(name).persons:
        with pytest.raises(SpecError):
            made(name, unit=unit, data="no such file.csv")
        return
    # held fixed where the budget would set it, more for two rows
    settings = {"strength": 100.0} if name == "objective" else None
    persons, rows = made(name, unit=unit, data=data, settings=settings), made(name, settings=settings)
    growth = {statistic: sigma / rows.noise.sigma[statistic] for statistic, sigma in persons.noise.sigma.items()}
    assert min(growth.values()) >= 1
    # two rows reach twice as far, but for what covers rounding
    assert max(growth.values()) >= 1.9


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_a_model_without_intercept_goes_through_the_origin_or_is_refused(name):
    lopsided = made(name, intercept=False) if mechanism_named(name).kind == "moments" else None
    if lopsided is None:
        with pytest.raises(SpecError, match="needs bounds symmetric around 0"):
            made(name, intercept=False, data="no such file.csv")
    centred = {"x": (-10, 10), "b": bool, "g": ["red", "green", "blue"], "y": (-5, 5)}
    release = made(name, centred, intercept=False)
    options = {"penalty": "adaptive"} if release.kind == "moments" else {}
    fit = discreet.fit(release, **options)
    assert fit.names == ("x", "b", "g[green]", "g[blue]")
    assert np.isfinite(fit.coefficients).all()
    assert fit.predict({"x": [0.0], "b": [False], "g": ["red"]}) == pytest.approx(0, abs=1e-12)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_missing_cells_follow_their_rule_under_replace(name):
    columns = {"x": {"bounds": [0, 10], "missing": "drop"}, "y": {"bounds": [-5, 5], "missing": {"fill": 0}}}
    data = {"x": [1.0, None, 3.0] * 20, "y": [1.0, 2.0, None] * 20}
    release = made(name, columns, data, unit={"neighbours": "replace"})
    assert release.units_public == 60


@pytest.mark.parametrize("name", NAMES)
def test_a_budget_that_it_cannot_keep_is_refused_before_data(name):
    notion = mechanism_named(name).info.notion
    design = discreet.Design("y", FEW)
    for epsilon, delta in ((0.0, 1e-6), (-1.0, 1e-6), (math.nan, 1e-6), (1.0, 1.5), (21.0, 1e-6)):
        with pytest.raises(discreet.DiscreetError):
            discreet.release("no such file.csv", design, epsilon=epsilon, delta=delta, mechanism=name)
    if notion == "approximate":
        with pytest.raises(SpecError, match="delta"):
            discreet.release("no such file.csv", design, epsilon=1.0, mechanism=name)
    with pytest.raises(SpecError, match="setting"):
        discreet.release("no such file.csv", design, **budget(name), mechanism=name, settings={"nonsense": 1})


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_has_a_default_that_is_allowed_and_a_range_that_is_kept(name):
    design = discreet.Design("y", FEW)
    for key, setting in mechanism_named(name).info.settings.items():
        noise_distribution_for(design, **budget(name), mechanism=name, settings={key: setting.default})
        wrong = "neither" if isinstance(setting.default, bool) or setting.choices else math.nan
        with pytest.raises(SpecError, match=key):
            noise_distribution_for(design, **budget(name), mechanism=name, settings={key: wrong})


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_proof_a_page_and_a_row_in_the_table(name):
    source = Path(inspect.getfile(type(mechanism_named(name))))
    assert source.stem == name.replace("-", "_")
    assert source.with_suffix(".proof.md").exists()
    row = table_row(name)
    assert row.references
    assert row.summary.endswith(".")
    for noise in row.noise.values():
        assert isinstance(noise, str) or all(sd > 0 and math.isfinite(sd) for sd in noise.values())
    assert json.loads(json.dumps(row.to_dict(), allow_nan=False))["name"] == name
    assert all(isinstance(noise, str) or row.main in noise for noise in row.noise.values())


def mechanisms_released_in(code: str) -> list[object]:
    """The mechanism of every call of `discreet.release` that is written out; `auto` where none is given."""
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    named = [
        {word.arg: getattr(word.value, "value", None) for word in call.keywords}
        for call in calls
        if ast.unparse(call.func) == "discreet.release"
    ]
    return [words.get("mechanism", "auto") for words in named]


@pytest.mark.parametrize("name", NAMES)
def test_its_page_makes_a_release_and_shows_a_picture(name):
    page = (Path(__file__).parents[2] / "docs" / "reference" / f"{name}.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    shown = [mechanism for block in blocks for mechanism in mechanisms_released_in(block)]
    assert name in shown or (name == "gaussian" and "auto" in shown), "no example makes a release with it"
    assert f"```{{mechanism-picture}} {name}\n```" in page


def test_the_search_for_releases_tells_calls_from_words():
    code = "discreet.release(t, d, epsilon=1.0, mechanism='irls')\ndiscreet.release(t, d)\nplan(d, mechanism='ssp')"
    assert mechanisms_released_in(code) == ["irls", "auto"]
    assert mechanisms_released_in("words = \"discreet.release(mechanism='ssp')\"") == []


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_releases_and_fits_it(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    discreet.Design("y", FEW).save("design.toml")
    data = table(2000)
    rows = "".join(f"{x!r},{y!r}\n" for x, y in zip(data["x"], data["y"], strict=True))
    Path("rows.csv").write_text(f"x,y\n{rows}")
    words = [f"--{key}={value}" for key, value in budget(name).items()]
    made = CliRunner().invoke(
        program, ["release", "rows.csv", "--design", "design.toml", *words, "--mechanism", name, "-o", "r.json"]
    )
    assert made.exit_code == 0, made.stderr
    assert (made.stderr, Release.load("r.json").mechanism) == ("", name)
    fitted = CliRunner().invoke(program, ["fit", "r.json", "--json"])
    assert fitted.exit_code == 0, fitted.stderr
    slope = json.loads(fitted.stdout)["params"]["x"]
    assert math.isfinite(slope)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_the_estimator_takes_it(name):
    data = table()
    X = np.column_stack([data["x"]])
    model = discreet.PrivateLinearRegression(
        **budget(name), bounds={"x0": (0, 10)}, target_bounds=(-5, 5), mechanism=name
    ).fit(X, np.array(data["y"]))
    assert model.release_.mechanism == name
    assert np.isfinite(model.predict(X[:3])).all()


def test_the_estimator_refuses_a_penalty_that_a_mechanism_leaves_no_room_for():
    named = [name for name in NAMES if mechanism_named(name).kind == "coefficients"]
    for name in named:
        model = discreet.PrivateLinearRegression(
            **budget(name), bounds=(0, 1), target_bounds=(0, 1), mechanism=name, penalty="ridge", strength=1.0
        )
        with pytest.raises(SpecError, match=r"fitted model, which cannot be penalised; .* mechanism='gaussian'"):
            model.fit([[0.5]], [0.5])
