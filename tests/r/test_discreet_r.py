"""`r/discreet.R` against Python: one run of R over many releases, every number of every coefficient compared."""

import json
import math
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet import datasets, testing
from discreet.analyst.inference.clipped_scores import clipped_scores_note
from discreet.mechanisms.sampler import ExactSampler
from discreet.releases.fields import SCHEMA_VERSION
from discreet.releases.reference_distribution import known
from support.curators import curators

ROOT = Path(__file__).parents[2]
RSCRIPT = shutil.which("Rscript")
pytestmark = pytest.mark.skipif(RSCRIPT is None, reason="R is not installed; on Debian: apt-get install r-base-core")
# R and SciPy agree on quantiles to about 13 digits; a set's end is known no better than its critical value
CLOSE = 1e-9
# a line through the origin of nearly collinear years: the covariance of its slopes is almost singular, and a change in
# the last digit of the inverse Gram matrix moves the ends of its unbounded sets by 2e-8 in Python as well
LOOSE = {("staged-near-origin", what): 1e-6 for what in ("p", "lower", "upper")}


@dataclass(frozen=True)
class Case:
    release: discreet.Release
    formula: str = ""
    features: tuple[str, ...] | None = None
    target: str | None = None
    intercept: bool | None = None

    @property
    def fit(self):
        return discreet.fit(self.release, target=self.target, features=self.features, intercept=self.intercept)


def table(rows):
    rng = np.random.default_rng(7)
    x, w = rng.uniform(2, 10, rows), rng.uniform(1, 100, rows)
    flag, group = rng.random(rows) < 0.4, rng.choice(["a", "b", "c d"], rows)
    y = 3 + 2 * x - 4 * flag + 3 * (group == "b") + np.log(w) + rng.normal(0, 2, rows)
    return {"y": y, "x": x, "w": w, "flag": flag, "group": group, "odd name": rng.uniform(-1, 1, rows)}


COLUMNS = {
    "y": (-10, 40),
    "x": (2, 10),
    "w": {"bounds": (1, 100), "release": False},
    "flag": "bool",
    "group": ["a", "b", "c d"],
    "odd name": (-1, 1),
    "log_w": {"formula": "log(w)"},
    "late": {"formula": "x > 6"},
}


def merged(rows, design):
    """A release whose noise is the sum of three shares."""
    with tempfile.TemporaryDirectory() as folder:
        people = curators(Path(folder), design, epsilon=4.0)
        tables = [{name: cells[place::3] for name, cells in rows.items()} for place in range(3)]
        return discreet.merge(people.parts(tables, ExactSampler(), design))


def cases():
    mixed = discreet.Design("y", COLUMNS)
    small = discreet.Design("y", {name: COLUMNS[name] for name in ("y", "x", "flag", "group", "odd name")})
    fixed = discreet.Design("y", {name: COLUMNS[name] for name in ("y", "x", "flag")}, unit={"neighbours": "replace"})
    codes = {"y": (-10, 40), "x": {"bounds": (2, 10), "missing": "drop", "missing_codes": [-9, 99]}}
    codes["group"] = {"levels": ["a", "b", "c d"], "missing": "drop", "missing_codes": ["refused"]}
    coded = discreet.Design("y", codes)
    many, few, three = table(6_000), table(300), table(3)
    gaussian = testing.seeded_release(many, mixed, seed=1, epsilon=8.0, delta=1e-6, mechanism="gaussian")
    found = {
        "mixed": Case(gaussian),
        "sub": Case(gaussian, "y ~ group + x", ("group", "x")),
        "swapped": Case(gaussian, "x ~ y + `odd name`", ("y", "odd name"), "x"),
        "all-but": Case(gaussian, "y ~ . - group - late", ("x", "flag", "odd name", "log_w")),
        "origin": Case(gaussian, "y ~ x + flag - 1", ("x", "flag"), intercept=False),
        "constant": Case(gaussian, "y ~ 1", ()),
        "laplace": Case(testing.seeded_release(many, small, seed=2, epsilon=16.0, mechanism="laplace")),
        "codes": Case(testing.seeded_release(many, coded, seed=5, epsilon=2.0, delta=1e-6, mechanism="gaussian")),
        "replace": Case(testing.seeded_release(many, fixed, seed=3, epsilon=2.0, delta=1e-6, mechanism="gaussian")),
        "real": Case(discreet.release(many, small, epsilon=2.0, delta=1e-6, mechanism="gaussian")),
        "shares": Case(merged(many, fixed)),
        "no-square": Case(testing.seeded_release(many, fixed, seed=4, epsilon=2.0, delta=1e-6, mechanism="ssp")),
        "few-rows": Case(testing.exact_release(three, fixed)),
    }
    found |= staged_cases(many, few, mixed, small, fixed)
    # intervals, gaps, any value, and sums that are not positive definite
    for seed, epsilon in ((0, 1.0), (18, 1.0), (25, 1.0), (10, 0.7), (17, 0.7), (20, 0.7), (9, 0.2)):
        made = testing.seeded_release(few, small, seed=seed, epsilon=epsilon, delta=1e-6, mechanism="gaussian")
        found[f"few-{seed}"] = Case(made, "y ~ x + flag", ("x", "flag"))
    return found


def staged_cases(many, few, mixed, small, fixed):
    """Releases by `staged`: models, units, tails that are clipped, and tables too small for their noise."""

    def made(rows, design, seed, epsilon, **more):
        return testing.seeded_release(rows, design, seed=seed, epsilon=epsilon, delta=1e-6, mechanism="staged", **more)

    unit: dict[str, object] = {"id": "who", "max_rows": 2}
    replaced = unit | {"neighbours": "replace"}
    few_columns = {name: COLUMNS[name] for name in ("y", "x", "flag")}
    persons = {**many, "who": np.arange(6_000) // 2}
    tails = np.random.default_rng(5)
    skewed = {name: many[name] for name in ("x", "flag", "group")}
    skewed["y"] = many["x"] + np.exp(tails.normal(0, 1.2, 6_000))
    skewed["v"] = np.exp(tails.normal(0, 1.5, 6_000))
    wide = {"y": (0, 400), "x": (2, 10), "v": (0, 500), "group": ["a", "b", "c d"], "flag": "bool"}
    distant = {**many, "v": np.where(np.arange(6_000) < 120, 425.0, many["x"] / 10)}
    reach = {"v": (0, 500), **{name: COLUMNS[name] for name in ("y", "x", "flag", "group")}}
    far = made(distant, discreet.Design("y", reach), 3, 2.0)
    # years, nearly collinear columns and an R^2 close to 1: sums are differences of large numbers
    years = 1990 + many["x"] * 3
    near = {"year": years, "near": years + tails.normal(0, 0.3, 6_000), "y": 7 * years + tails.normal(0, 0.1, 6_000)}
    near |= {f"n{j}": tails.normal(0, 1, 6_000) for j in range(14)}
    line = {"year": (1900, 2100), "near": (1900, 2100), "y": (13_000, 15_000)} | {f"n{j}": (-5, 5) for j in range(14)}
    exact = made(near, discreet.Design("y", line), 8, 200.0)
    boolean = discreet.Design("flag", {name: COLUMNS[name] for name in ("flag", "x", "group")})
    full, tailed = made(many, mixed, 1, 2.0), made(skewed, discreet.Design("y", wide), 3, 2.0)
    whole = {
        "full": Case(full),
        "sub": Case(full, "y ~ group + x", ("group", "x")),
        "swapped": Case(full, "x ~ y + `odd name`", ("y", "odd name"), "x"),
        "all-but": Case(full, "y ~ . - group - late", ("x", "flag", "odd name", "log_w")),
        "origin": Case(full, "y ~ x + flag - 1", ("x", "flag"), intercept=False),
        "constant": Case(full, "y ~ 1", ()),
        "tails": Case(tailed),
        "tails-sub": Case(tailed, "y ~ v", ("v",)),
        "tails-swapped": Case(tailed, "v ~ y + group", ("y", "group"), "v"),
        "weights": Case(far),
        "weights-sub": Case(far, "y ~ v + group", ("v", "group")),
        "weights-swapped": Case(far, "v ~ y + x", ("y", "x"), "v"),
        "near": Case(exact),
        "near-sub": Case(exact, "y ~ year + near", ("year", "near")),
        "near-origin": Case(exact, "y ~ year + near - 1", ("year", "near"), intercept=False),
        "near-swapped": Case(exact, "near ~ y + year + n3", ("y", "year", "n3"), "near"),
        "replace": Case(made(many, fixed, 3, 3.0)),
        "persons": Case(made(persons, discreet.Design("y", few_columns, unit=unit), 4, 3.0)),
        "persons-replace": Case(made(persons, discreet.Design("y", few_columns, unit=replaced), 4, 4.0)),
        "boolean": Case(made(many, boolean, 6, 2.0)),
        "robust": Case(made(many, small, 7, 3.0, robust=True)),
        "real": Case(discreet.release(many, small, epsilon=2.0, delta=1e-6)),
    }
    for seed, epsilon in ((0, 2.0), (1, 1.0), (2, 1.0), (3, 0.5), (4, 0.5), (5, 0.3), (6, 0.3)):
        whole[f"few-{seed}"] = Case(made(few, small, seed, epsilon), "y ~ x + flag", ("x", "flag"))
    return {f"staged-{name}": case for name, case in whole.items()}


def refused():
    plain, many = discreet.Design("y", {"y": (-10, 40), "x": (2, 10)}), table(2_000)
    persons = discreet.Design("y", {"y": (-10, 40), "x": (2, 10)}, unit={"id": "who", "max_rows": 2})
    twice = {**{name: many[name] for name in ("x", "y")}, "who": np.arange(2_000) // 2}
    budget = {"epsilon": 2.0, "delta": 1e-6}
    gaussian = json.loads(testing.seeded_release(many, plain, seed=0, **budget, mechanism="gaussian").to_json())
    odd = json.loads(json.dumps(gaussian))
    odd["design"]["columns"]["x"] = {"formula": "y:group"}
    return {
        "coefficients": discreet.release(many, plain, mechanism="refined", **budget).to_json(),
        "wishart": discreet.release(many, plain, mechanism="wishart", **budget).to_json(),
        "clustered": discreet.release(twice, persons, robust=True, **budget, mechanism="gaussian").to_json(),
        "newer": json.dumps(gaussian | {"schema": SCHEMA_VERSION + 1}),
        "weights": json.dumps(gaussian | {"design": gaussian["design"] | {"weights": "w"}}),
        "declaration": json.dumps(odd),
        "other": "{}",
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("r")
    found = cases()
    for name, case in found.items():
        (folder / f"{name}.release.json").write_text(case.release.to_json())
        (folder / f"{name}.formula").write_text(case.formula + "\n")
    for name, text in refused().items():
        (folder / f"{name}.refused.json").write_text(text)
    bayes = discreet.fit(found["mixed"].release, penalty="bayes")
    (folder / "bayes.fit.json").write_text(json.dumps(bayes.to_dict()))
    (folder / "plain.fit.json").write_text(json.dumps(found["mixed"].fit.to_dict()))
    rows = table(400)
    lines = [
        f"{y!r},{x!r},{flag:d}" for y, x, flag in zip(*(rows[key].tolist() for key in ("y", "x", "flag")), strict=True)
    ]
    (folder / "plain.csv").write_text("\n".join(["y,x,flag", *lines]) + "\n")
    command = [
        RSCRIPT,
        "--vanilla",
        str(Path(__file__).with_name("compare.R")),
        str(ROOT / "r" / "discreet.R"),
        str(folder),
    ]
    subprocess.run(command, check=True, timeout=300)
    return folder, found


def numbers(texts):
    return [math.nan if text.strip() in ("NA", "NaN") else float(text) for text in texts]


def as_number(value):
    return math.nan if known(value) is None else float(value)


def difference(here, there, size):
    """Largest difference relative to what is shown: a coefficient near 0 is held against its standard error."""
    if math.isnan(here) or math.isnan(there) or math.isinf(here) or math.isinf(there):
        return 0.0 if repr(here) == repr(there) else math.inf
    return abs(here - there) / max(abs(here), size, 1e-300)


def differences(folder, name, case):
    """By what is compared: the largest difference of R from Python."""
    fit = case.fit
    first, *others = [line.split("\t") for line in (folder / f"{name}.tsv").read_text().splitlines()]
    sigma = as_number(fit.s2) ** 0.5
    expected = [sigma, as_number(fit.rsquared), as_number(fit.rsquared_adj), fit.nobs, as_number(fit.df_resid)]
    largest = {"model": max(map(difference, expected, numbers(first[1:]), [0.0] * 5))}
    for kind, *cells in others:
        if kind == "cov":
            pairs = zip(np.asarray(fit.cov_params()).ravel(), numbers(cells), strict=True)
            largest["covariance"] = max(difference(here, there, 0.0) for here, there in pairs)
            continue
        level, coefficient = float(cells[0]), cells[1]
        spread = as_number(fit.bse[coefficient])
        size = 0.0 if math.isnan(spread) else spread
        ends = known(fit.conf_int(level)[coefficient])
        assert cells[6] == ("NA" if ends is None else ends.kind), (name, coefficient)
        low, high = (-math.inf, math.inf) if ends is None else (ends.lower, ends.upper)
        values = {
            "coef": (as_number(fit.params[coefficient]), size),
            "std. error": (spread, 0.0),
            "t": (as_number(fit.tvalues[coefficient]), 1.0),
            # below 1e-12 the tails of two libraries differ in digits that nobody reads
            "p": (as_number(fit.pvalues[coefficient]), 1e-12),
            "lower": (low, size),
            "upper": (high, size),
            "privacy share": (as_number(fit.privacy_share[coefficient]), 0.0),
        }
        there = numbers([*cells[2:6], *cells[7:]])
        for (what, (here, scale)), other in zip(values.items(), there, strict=True):
            largest[what] = max(largest.get(what, 0.0), difference(here, other, scale))
    return largest


def test_r_gives_the_numbers_of_python(run):
    folder, found = run
    worst, wrong = {}, []
    for name, case in found.items():
        for what, far in differences(folder, name, case).items():
            worst[what] = max(worst.get(what, (0.0, "")), (far, name))
            if not far < LOOSE.get((name, what), CLOSE):
                wrong.append((name, what, far))
    print("\nlargest relative difference of R from Python:")
    for what, (far, name) in worst.items():
        print(f"  {what:14s} {far:.1e} ({name})")
    assert set(worst) >= {"model", "coef", "std. error", "t", "p", "lower", "upper", "covariance"}
    assert wrong == []


def test_every_kind_of_set_was_compared(run):
    _, found = run
    sets = [ends for case in found.values() for ends in case.fit.conf_int().values()]
    kinds = {ends.kind for ends in sets if known(ends) is not None}
    assert kinds >= {"interval", "outside", "everything"}
    assert any(known(ends) is None for ends in sets)
    assert any(not case.fit.estimable for case in found.values())


def test_every_kind_of_staged_release_was_compared(run):
    _, found = run
    staged = [case for name, case in found.items() if name.startswith("staged")]
    sets = [ends for case in staged for ends in case.fit.conf_int().values()]
    assert {ends.kind for ends in sets if known(ends) is not None} >= {"interval", "outside", "everything"}
    assert any(not case.fit.estimable for case in staged)
    assert any(case.release.staged.missing > 0.01 for case in staged)
    assert any(len(case.release.staged.line) > 12 for case in staged)
    said = [clipped_scores_note(case.fit) for case in staged]
    for words in ("no row was shortened", "shortened.", "adds less than 1% to", "adds up to 28% to"):
        assert any(words in one for one in said)


def test_what_a_staged_release_estimates_is_said_in_the_words_of_python(run):
    folder, found = run
    for name, case in found.items():
        said = " ".join((folder / f"{name}.txt").read_text().split())
        note = clipped_scores_note(case.fit)
        assert ("Ordinary least squares on the table" in said) == (note is not None)
        assert note is None or note in said, name
        robust = case.release.staged is not None and bool(case.release.staged.score_products)
        assert ("Those above are plain: run `discreet fit RELEASE --robust --json" in said) == robust


def test_a_wrong_number_would_be_seen(run):
    folder, found = run
    path = folder / "replace.tsv"
    text = path.read_text()
    wrong = text.replace("\tinterval\t", "\toutside\t", 1)
    path.write_text(wrong)
    with pytest.raises(AssertionError):
        differences(folder, "replace", found["replace"])
    path.write_text(text)
    assert difference(1.0, 1.0 + 1e-8, 0.0) > CLOSE


def test_with_the_noise_off_they_are_those_of_lm(run):
    folder, _ = run
    rows = {key: value for key, value in table(400).items() if key in ("y", "x", "flag")}
    design = discreet.Design("y", {"y": (-10, 40), "x": (2, 10), "flag": "bool"})
    fit = discreet.fit(testing.exact_release(rows, design, grid_bits=26))
    lm = numbers((folder / "plain.lm").read_text().splitlines())
    sets = [list(fit.conf_int()[name]) for name in fit.names]
    ours = [
        *fit.coefficients,
        *fit.bse.values(),
        *fit.tvalues.values(),
        *fit.pvalues.values(),
        fit.s2**0.5,
        fit.rsquared,
        fit.rsquared_adj,
        *(low for low, _ in sets),
        *(high for _, high in sets),
    ]
    # the grid of 2^-26 is all that differs
    np.testing.assert_allclose(ours, lm, rtol=2e-6)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("coefficients", "coefficients of one model"),
        ("wishart", "family wishart"),
        ("clustered", "clustered by person; run `discreet fit RELEASE --formula 'y ~ x' --json"),
        ("newer", "schema version"),
        ("weights", "have weights"),
        ("declaration", 'declaration of "x"'),
        ("other", "no release of discreet"),
    ],
)
def test_what_it_cannot_compute_is_refused_with_the_way_out(run, name, words):
    folder, _ = run
    said = (folder / f"{name}.refused.txt").read_text()
    assert words in said
    if name not in ("newer", "other"):
        assert "read_fit" in said


def test_wrong_calls_are_refused_in_words(run):
    folder, _ = run
    said = (folder / "wrong.txt").read_text().splitlines()
    expected = [
        'no column "nothing"', 'no column "log(x)"', "expected one such as y ~ x", '"group" is not a number',
        "neither features nor an intercept", "read one with read_release", "at least 0.5", "names among",
        "there is no file", "path of a file", "holds no fit", "--level 0.9", "no covariance", "not JSON", "twice",
        "not JSON", "not JSON",
    ]  # fmt: skip
    assert len(said) == len(expected)
    for line, words in zip(said, expected, strict=True):
        assert words in line


def test_a_summary_reads_like_that_of_lm(run):
    folder, _ = run
    said = (folder / "mixed.txt").read_text()
    for words in (
        "Call:",
        "Coefficients:",
        "Estimate Std. Error t value Pr(>|t|)",
        "Residual standard error:",
        "NOT PRIVATE",
    ):
        assert words in said
    assert "epsilon = 2, delta = 1e-06" in (folder / "real.txt").read_text()


def test_a_fit_of_python_is_read(run):
    folder, found = run
    plain, bayes = ((folder / f"{name}.fit.txt").read_text() for name in ("plain", "bayes"))
    low, high = found["mixed"].fit.conf_int()["x"]
    assert f"{low:.6g} to {high:.6g}" in plain
    assert "not estimable" in bayes


def test_the_page_runs(tmp_path):
    page = (ROOT / "docs" / "how-to" / "other-languages.md").read_text()
    block = next(part for part in page.split("```r\n")[1:] if 'source("discreet.R")' in part).partition("```")[0]
    trial = datasets.load("simulated-clinical", rows=2_000)
    release = discreet.release(trial.data, trial.design, epsilon=8.0, delta=1e-6, mechanism="gaussian")
    release.save(tmp_path / "trial.release.json")
    shutil.copy(ROOT / "r" / "discreet.R", tmp_path)
    ran = subprocess.run(
        [RSCRIPT, "--vanilla", "-"], input=block, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    low, high = discreet.fit(release, features=["before", "age", "smoker", "arm"]).conf_int(0.9)["age"]
    assert f"age        {low:.6g} to {high:.6g}" in ran.stdout
