"""Views made by hand for the snapshots, and releases with fixed noise for whole pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from discreet.analyst.bound_costs import ClippedShare
from discreet.analyst.diagnostics import Diagnostic
from discreet.analyst.plots.coefficient_plots import Effect
from discreet.design.design import Design
from discreet.pages.attacker import attacker
from discreet.pages.provenance import DeclaredColumn, NoiseLine, Provenance
from discreet.pages.view import Coefficient, CoefficientTrace, ModelView, Promise, ReportView, Usage
from discreet.privacy.budget import PrivacyBudget, PrivacyUnit
from discreet.privacy.guarantee import Guarantee
from discreet.releases import NoiseDistribution, Release
from discreet.testing.not_private import seeded_release

PROMISE = Guarantee(1.0, 1e-6, PrivacyUnit(), ("each person appears in at most one row",))

MODEL = ModelView(
    target="income",
    features=("age", "region"),
    intercept=True,
    penalty="none (ordinary least squares)",
    penalised=False,
    interval_target="least squares",
    no_intervals=None,
    rsquared=0.64,
    rsquared_low=0.5,
    rsquared_high=0.75,
    rsquared_reason=None,
    residual_sd=15_000.0,
    notes=("A note.",),
)
PROVENANCE = Provenance(
    kind="moments",
    mechanism="gaussian",
    version="1",
    settings=(),
    numerics="exact",
    family="discrete Gaussian",
    calibration="exact",
    grid_bits=16,
    anchor="untracked: repeated releases of this table are not counted",
    made_by="discreet 0",
    digest="sha256:00",
    target="income",
    intercept=True,
    radius=1.5,
    units_public=1000,
    noise=(NoiseLine("number of rows", 24.4, 0.00122), NoiseLine("sums of regressors", 10.0, None)),
    columns=(
        DeclaredColumn("income", "target", "number", "0 to 200000", "table refused"),
        DeclaredColumn("region", "regressor", "levels", "north (reference), south", "row dropped"),
    ),
)
PLAIN = ReportView(
    private=True,
    rows=20_074.3,
    rows_sd=24.39,
    level=0.95,
    promise=Promise(
        1.0, 1e-6, "add-remove", "one row", "This release hides a row.", PROMISE.conditions, "All of it.", mu=0.2367
    ),
    attacker=attacker(replace(PROMISE, mu=0.2367, mu_gap=2.7e-9)),
    refusal=None,
    model=MODEL,
    coefficients=(
        Coefficient(
            "Intercept", -18_458.3, 10_416.0, -41_981.0, 94.59, 0.051, 5000.0, 9137.0, 0.77, None, kind="interval"
        ),
        Coefficient("age", 793.2, 17.84, 758.5, 828.4, 1e-9, 5.4, 17.0, 0.909, None, kind="interval"),
        Coefficient("region[south]", 8142.5, None, None, None, None, None, None, None, "the noise is too large"),
    ),
    effects=(
        Effect("age", 57_110.0, 54_612.0, 59_645.0, 56_000.0, 58_000.0, kind="interval"),
        Effect("region[south]", None, None, None, None, None),
    ),
    target_width=200_000.0,
    trace=(),
    diagnostics=(
        Diagnostic("D003", "A title", "A text.", "serious"),
        Diagnostic("D009", "Another", "More text.", "note"),
    ),
    provenance=PROVENANCE,
    usage=Usage("Any number of models.", ("discreet fit R.json",), ("import discreet",)),
)
SHRUNK = replace(
    PLAIN,
    model=replace(
        MODEL, penalty="adaptive", penalised=True, interval_target="penalised", intercept=False, rsquared=None,
        rsquared_low=None, rsquared_high=None, rsquared_reason="it is penalised", residual_sd=None,
    ),
)  # fmt: skip
LASSO = replace(
    PLAIN,
    promise=replace(PLAIN.promise, mu=None, rho=0.024),
    attacker=attacker(replace(PROMISE, rho=0.024)),
    model=replace(MODEL, penalty="lasso", penalised=True, interval_target="none", no_intervals="no intervals here"),
    coefficients=(replace(PLAIN.coefficients[2], reason="no intervals here"),),
    effects=(Effect("region[south]", 8142.5, None, None, None, None),),
)
PERSONS = replace(
    PLAIN,
    promise=replace(PLAIN.promise, unit="all rows of one person", neighbours="replace", delta=0.0, conditions=()),
    attacker=attacker(Guarantee(1e6, 0.5, PrivacyUnit(), ())),
    rows_sd=0.0,
    diagnostics=(),
    provenance=replace(
        PROVENANCE,
        radius=None,
        units_public=None,
        anchor="ledger 7",
        clipped=(ClippedShare("income", (0.0, 200_000.0), 14_650.0, 36.6, 0.73, 0.726, 0.734),),
    ),
)
BARE = replace(PLAIN, private=False, promise=None, attacker=None, model=None, coefficients=(), effects=())
WEAK = replace(
    PLAIN,
    model=replace(MODEL, rsquared_low=0.0, rsquared_high=1.0, rsquared_reason="the noise is too large"),
    coefficients=(
        Coefficient("gap", -1234.56, None, -2100.0, -300.0, 0.04, None, None, 0.7, "noise", kind="outside"),
        Coefficient("all", 1234.56, None, None, None, 0.8, None, None, 0.99, "noise", kind="everything"),
        Coefficient("up", 1234.56, None, 12.0, None, 0.02, None, None, 0.99, "noise", kind="above"),
        Coefficient("down", 1234.56, None, None, 1e6, 0.4, None, None, 0.99, "noise", kind="below"),
    ),
    effects=(
        Effect("gap", -20_000.0, -60_000.0, -30_000.0, None, None, kind="outside"),
        Effect("all", None, None, None, None, None, kind="everything"),
        Effect("up", 1234.56, 12.0, None, None, None, kind="above"),
        Effect("down", 1234.56, None, 100_000.0, None, None, kind="below"),
    ),
)
NOTHING = replace(
    PLAIN,
    refusal="the sums are not positive definite",
    model=replace(
        MODEL, rsquared=None, rsquared_low=0.0, rsquared_high=1.0, rsquared_reason="not definite", residual_sd=None
    ),
    coefficients=(
        Coefficient("age", None, None, None, None, 1.0, None, None, None, "not definite", kind="everything"),
    ),
    effects=(Effect("age", None, None, None, None, None, kind="everything"),),
)
INSIDE = replace(
    PLAIN,
    promise=replace(PLAIN.promise, mu=None),
    attacker=attacker(PROMISE),
    rows=None,
    rows_sd=0.0,
    model=replace(
        MODEL, penalty="fitted by the mechanism 'steps'", interval_target="none", no_intervals="no sums",
        rsquared=None, rsquared_low=None, rsquared_high=None, rsquared_reason="no sums", residual_sd=None,
    ),
    coefficients=tuple(
        Coefficient(name, 793.2, None, None, None, None, None, None, None, "no sums") for name in ("Intercept", "age")
    ),
    effects=(Effect("age", 57_110.0, None, None, None, None),),
    trace=(
        CoefficientTrace("Intercept", (0.0, 0.2, 0.1), 0.1), CoefficientTrace("age", (0.5, 0.5, 0.5), 0.5),
        CoefficientTrace("zero", (0.0,), 0.0),
    ),
    provenance=replace(
        PROVENANCE, kind="coefficients", mechanism="steps", settings=(("passes", "3"), ("averaged", "yes")),
        numerics="idealised", family="discrete Laplace", noise=(NoiseLine("score", 8.4, None),), units_public=None,
    ),
    usage=Usage("One model.", ("discreet fit R.json",), ("fit.params",)),
)  # fmt: skip
ADDED = replace(
    INSIDE,
    promise=replace(INSIDE.promise, delta=0.0),
    attacker=attacker(replace(PROMISE, delta=0.0)),
    coefficients=tuple(replace(one, privacy_sd=12.5, table_low=768.7, table_high=817.7) for one in INSIDE.coefficients),
    effects=(replace(INSIDE.effects[0], table_low=55_346.0, table_high=58_874.0),),
    trace=(),
)
CASES: dict[str, ReportView] = {
    "plain": PLAIN, "shrunk": SHRUNK, "lasso": LASSO, "persons": PERSONS, "bare": BARE, "inside": INSIDE,
    "added": ADDED, "weak": WEAK, "nothing": NOTHING,
}  # fmt: skip


def promised(release: Release, guarantee: Guarantee | None = None) -> Release:
    """The numbers of a release by `gaussian` as a private one: the noise is fixed so that a test can be repeated."""
    return replace(
        release,
        guarantee=guarantee or Guarantee.promised(release.design.unit, PrivacyBudget(4.0, 1e-6)),
        mechanism="gaussian",
        mechanism_version="1",
        noise=NoiseDistribution(release.noise.grid_bits, release.noise.sigma, "gaussian"),
    )


def table(names: Sequence[str], rows: int, *, seed: int = 0) -> dict[str, list[float]]:
    """Columns in [0, 1], the first one a mixture of the others and of chance."""
    random = np.random.default_rng(seed)
    columns = {name: random.uniform(0, 1, rows) for name in names[1:]}
    mixed = 0.7 * sum(columns.values()) / len(columns) + random.uniform(0, 0.3, rows)
    return {name: values.tolist() for name, values in ({names[0]: mixed} | columns).items()}


def example(rows: int = 4000, *, epsilon: float = 4.0, data: Mapping[str, list[float]] | None = None) -> Release:
    """A release of y on a, b and c by `gaussian`, with fixed noise."""
    names = ("y", "a", "b", "c")
    design = Design("y", dict.fromkeys(names, (0, 1)))
    made = seeded_release(data or table(names, rows), design, seed=1, epsilon=epsilon, delta=1e-6, mechanism="gaussian")
    return promised(made)
