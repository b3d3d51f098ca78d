"""Everything that reads a release, on releases by `staged` of every kind: it works, or says what serves instead."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import discreet
from discreet.cli.main import program
from discreet.errors import SpecError, UnsupportedError
from discreet.planning import second_release
from discreet.releases.reference_distribution import NotEstimable
from support.pretend_spark import PretendFrame, pretended

BUDGET = {"epsilon": 4.0, "delta": 1e-6, "mechanism": "staged"}
MIXED = {"x": (0, 12), "w": (0, 20), "b": bool, "g": ["a", "b", "c"], "y": (-10, 30)}
DERIVED = MIXED | {"late": {"formula": "x > 6"}, "logw": {"formula": "log(w + 1)"}, "xg": {"formula": "x:g"}}
ESTIMATED = "Ordinary least squares on the table clipped to its bounds"


def rows(count=6000, seed=1):
    rng = np.random.default_rng(seed)
    x, w, b = rng.normal(5, 1, count), rng.gamma(2.0, size=count), rng.random(count) < 0.4
    g = rng.choice(["a", "b", "c"], count, p=[0.5, 0.3, 0.2])
    y = 1 + x + 0.3 * w + b - 0.5 * (g == "c") + rng.normal(size=count)
    who = np.array([f"p{index // 3}" for index in range(count)])
    return {"x": x, "w": w, "b": b, "g": g, "y": y, "high": y > np.median(y), "who": who}


def many(count=12_000):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(count, 20))
    return {f"v{j}": x[:, j] for j in range(20)} | {"y": x.sum(axis=1) / 2 + rng.normal(size=count)}


def declared(columns, target="y", **options):
    return discreet.Design(target, columns, **options)


# design, rows, options of the release
KINDS = {
    "plain": (declared(MIXED), rows, {}),
    "guard": (declared(MIXED), rows, {"guard": True}),
    "private bounds": (declared(MIXED | {"x": "private", "y": "private"}), lambda: rows(12_000), {}),
    "several rows": (declared(MIXED, unit={"id": "who", "max_rows": 3}), lambda: rows(18_000), {}),
    "replace": (declared(MIXED, unit={"neighbours": "replace"}), rows, {}),
    "no intercept": (declared(MIXED, intercept=False), rows, {}),
    "indicators": (declared({name: MIXED[name] for name in ("b", "g", "y")}), rows, {}),
    "one column": (declared({"x": (0, 12), "y": (-10, 30)}), rows, {}),
    "twenty columns": (declared({f"v{j}": (-6, 6) for j in range(20)} | {"y": (-40, 40)}), many, {}),
    "boolean target": (
        declared({name: MIXED[name] for name in ("x", "w", "b", "g")} | {"high": bool}, "high"), rows, {},
    ),
    "derived columns": (declared(DERIVED), lambda: rows(60_000), {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("staged")
    out = {}
    for kind, (design, table, options) in KINDS.items():
        book = discreet.Ledger.create(folder / f"{kind}.db")
        book.declare("rows", epsilon=5.0, delta=1e-5, unit=design.unit)
        out[kind] = discreet.release(table(), design, spend=book.account("rows"), **BUDGET, **options)
        out[kind].save(folder / f"{kind}.json")
    out["folder"] = folder
    return out


SLOW = ("guard", "twenty columns", "derived columns")


@pytest.fixture(params=[pytest.param(kind, marks=pytest.mark.full if kind in SLOW else ()) for kind in KINDS])
def made(request, releases):
    return releases[request.param]


def features_of(made):
    """Names that a model may use."""
    return [name for name in made.design.columns if name not in (made.design.target, made.design.unit.id)]


def new_rows(made):
    cells = {"x": [4.0, 6.0], "w": [1.0, 3.0], "b": [True, False], "g": ["a", "c"]}
    cells |= {f"v{j}": [0.0, 1.0] for j in range(20)}
    return {name: cells[name] for name in features_of(made) if name in cells}


def contrast(fit, count=1):
    return np.eye(len(fit.names))[-count:]


def fits(made):
    """Fits of every kind: the declared model, fewer features, other targets, penalties."""
    features, target = features_of(made), made.design.target
    out = {"declared": discreet.fit(made), "fewer": discreet.fit(made, features=features[:1])}
    out["formula"] = discreet.fit(made, f"{target} ~ {' + '.join(features)}")
    out["through 0"] = discreet.fit(made, features=features[:1], intercept=False)
    out["other target"] = discreet.fit(made, target=features[0], features=[*features[1:2], target])
    for penalty in ("lasso", "elastic-net", "ridge"):
        ratio = 0.5 if penalty == "elastic-net" else None
        out[penalty] = discreet.fit(made, penalty=penalty, strength=0.01, l1_ratio=ratio)
    out["selected"] = discreet.fit(made, penalty="lasso", strength="criterion")
    return out | {penalty: discreet.fit(made, penalty=penalty) for penalty in ("adaptive", "bayes")}


READ = (
    "params", "bse", "tvalues", "pvalues", "score_z", "sampling_sd", "privacy_sd", "privacy_share", "aic", "bic", "llf",
    "rsquared", "rsquared_adj", "fvalue", "f_pvalue", "df_resid", "s2", "vif",
)  # fmt: skip
CALLED = (
    "summary", "conf_int", "table_conf_int", "rsquared_conf_int", "standardised", "glance", "tidy", "to_dict",
    "to_frame", "to_latex", "to_markdown", "to_html", "to_csv", "to_pandas", "cov_params", "_repr_html_",
)  # fmt: skip


def test_every_number_of_every_fit(made):
    for kind, fit in fits(made).items():
        for name in READ:
            getattr(fit, name)
        for name in CALLED:
            getattr(fit, name)()
        for values in (fit.params, fit.conf_int()):
            assert len(values.to_pandas()) == len(values.to_polars()) == len(fit.names)
        assert json.dumps(fit.to_dict())
        assert ESTIMATED in " ".join(fit.summary().split()), kind
        if kind != "other target":
            assert np.isfinite(fit.predict(new_rows(made))).all()
        discreet.diagnose(fit)


def test_coefficients_are_near_least_squares(made, request):
    """Seven standard errors of the noise: false alarm below 1e-9 over all."""
    _, table, _ = KINDS[request.node.callspec.params["made"]]
    cells, parts = table(), []
    for name in made.design.released[1:-1]:
        if name in cells:
            parts.append(cells[name].astype(float))
        elif name.startswith("g["):
            parts.append((cells["g"] == name[2]).astype(float))
        elif name.startswith("xg["):
            parts.append(cells["x"] * (cells["g"] == name[3]))
        else:
            parts.append(cells["x"] > 6 if name == "late" else np.log(cells["w"] + 1))
    x = np.column_stack([*([np.ones(len(parts[0]))] if made.design.intercept else []), *parts])
    expected = np.linalg.lstsq(x, np.asarray(cells[made.design.target], float), rcond=None)[0]
    fit = discreet.fit(made)
    for name, value in zip(fit.names, expected, strict=True):
        # private bounds may clip some rows, which moves a coefficient by a part of its sampling error
        assert abs(fit.params[name] - value) < 7 * fit.bse[name]


def test_tests_and_tables(made):
    fit = discreet.fit(made)
    several = min(2, len(fit.names))
    tests = [fit.t_test(contrast(fit)), fit.f_test(contrast(fit, several)), fit.anova()]
    for test in (*tests, fit.wald_test(contrast(fit, several), use_f=False)):
        assert repr(test)
    for way in ("bonferroni", "max-t"):
        assert all(ends.bounded for ends in fit.conf_int(simultaneous=way).values())
    if "g" in made.design.columns:
        assert repr(fit.t_test_pairwise("g"))
    features = features_of(made)
    table = discreet.table([fit, discreet.fit(made, features=features[:1])])
    for text in (table.to_text(), table.to_markdown(), table.to_latex(), table.to_html()):
        assert ESTIMATED in " ".join(text.split())
    compared = discreet.compare_models(made, [features[:1], features])
    assert ESTIMATED in repr(compared)
    assert json.dumps(compared.to_dict())


def test_predictions_with_intervals(made):
    predicted = discreet.fit(made).get_prediction(new_rows(made))
    for mean, new in zip(predicted.conf_int(), predicted.conf_int(obs=True), strict=True):
        assert mean.bounded
        assert new.lower < mean.lower < mean.upper < new.upper
    assert repr(predicted)


def test_description_plots_path_report_and_verification(made):
    about = made.describe()
    assert json.dumps(about.to_dict())
    assert not [name for name, value in about.mean.items() if isinstance(value, NotEstimable)]
    fit = discreet.fit(made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert fit.plot() is not None
        number = next((name for name in new_rows(made) if name not in ("b", "g")), None)
        if number is not None:
            assert fit.plot_prediction(number, obs=True) is not None
    assert repr(discreet.path(made, penalty="ridge"))
    assert ESTIMATED in discreet.report(made).html
    assert json.dumps(discreet.report(made, discreet.fit(made, penalty="bayes")).to_dict())
    assert discreet.verify(made).loss.delta <= 1e-6
    assert discreet.Release.from_json(made.to_json()) == made
    assert ESTIMATED in made.summary()


COMMANDS = (
    ("fit",), ("fit", "--json"), ("show",), ("show", "--json"), ("verify",), ("compare", "TARGET ~ FIRST"),
    ("path",), ("report",), ("plot", "-o", "picture.svg", "--force"),
)  # fmt: skip


def test_commands(releases, monkeypatch):
    monkeypatch.chdir(releases["folder"])
    for kind in KINDS:
        made, runner = releases[kind], CliRunner()
        names = {"TARGET": made.design.target, "FIRST": features_of(made)[0]}
        for command, *options in COMMANDS:
            words = [" ".join(names.get(word, word) for word in option.split(" ")) for option in options]
            done = runner.invoke(program, [command, f"{kind}.json", *words])
            assert done.exit_code == 0, (kind, command, done.output)
            if command in ("fit", "show", "compare"):
                assert ESTIMATED in " ".join(done.stdout.split()), (kind, command)


# what a release by staged does not serve, and what the message names instead
def test_what_is_refused_names_what_serves(releases):
    made, table = releases["plain"], rows(200)
    with pytest.raises(SpecError, match=r"discreet\.plan"):
        second_release(made, epsilon=1.0, delta=1e-6)
    with pytest.raises(SpecError, match="gaussian"):
        discreet.release(table, declared(MIXED, weights="w"), **BUDGET)
    with pytest.raises(UnsupportedError, match="gaussian"):
        discreet.release(table, declared(MIXED, radius=1.0), **BUDGET)
    # the default of a second release adds to a first one with sums
    first = discreet.release(table, declared(MIXED), **(BUDGET | {"mechanism": "gaussian"}))
    assert second_release(first, epsilon=1.0, delta=1e-6).both.epsilon == 5


def test_rows_on_spark_give_the_same_bits():
    table = pa.table(rows(600))
    asked = {"seed": 1, **BUDGET}
    with pretended():
        frame = PretendFrame([table.slice(0, 100), table.slice(100)], files=("file:///data/a.parquet",))
        assert discreet.testing.seeded_release(frame, declared(MIXED), **asked) == discreet.testing.seeded_release(
            table, declared(MIXED), **asked
        )


def test_the_estimator():
    table = rows(3000)
    x = np.column_stack([table["x"], table["w"]])
    model = discreet.PrivateLinearRegression(
        epsilon=4.0, delta=1e-6, bounds={"x0": (0, 12), "x1": (0, 20)}, target_bounds=(-10, 30), mechanism="staged"
    )
    model.fit(x, table["y"])
    assert np.isfinite(model.predict(x[:5])).all()
    assert model.release_.mechanism == "staged"
