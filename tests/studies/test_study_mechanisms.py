"""Every mechanism at epsilon = 1 on the same tables, in one table of errors. Figures for the record: make slow."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet.errors import SpecError
from discreet.mechanisms.registry import mechanism_named, mechanisms
from discreet.testing.not_private import exact_release

RELEASES = int(os.environ.get("MECHANISM_RELEASES", "9"))
TABLES = Path(__file__).parents[3] / "shared" / "data"
ROWS = 10_000
WINE_BOUNDS = {
    "x0": (3, 15), "x1": (0, 1.5), "x2": (0, 2), "x3": (0, 70), "x4": (0, 0.4), "x5": (0, 300), "x6": (0, 450),
    "x7": (0.98, 1.04), "x8": (2.5, 4), "x9": (0, 1.5), "x10": (8, 15), "y": (0, 10),
}  # fmt: skip
CENSUS_BOUNDS = {"x0": (0, 20), "x1": (0, 60), "x2": (0, 3600), "y": (0, 12)}


@dataclass(frozen=True)
class Case:
    """A table with its design and the scaled slopes that errors are held against."""

    name: str
    design: discreet.Design
    table: object
    truth: np.ndarray


def synthetic(d: int) -> Case:
    """Columns that fill their bounds evenly; the errors are against the true slopes."""
    random = np.random.default_rng(100 + d)
    slopes = random.normal(size=d)
    slopes *= 0.5 / np.linalg.norm(slopes)
    X = random.uniform(-1, 1, (ROWS, d))
    y = X @ slopes + random.normal(0, 0.15, ROWS)
    table = {**{f"x{j}": X[:, j] for j in range(d)}, "y": y}
    return Case(f"d = {d}", discreet.Design("y", dict.fromkeys(table, (-1, 1))), table, slopes)


def real(name: str, bounds: dict[str, tuple[float, float]]) -> Case:
    """A table that is read where it is present; the errors are against its own clipped least squares."""
    design = discreet.Design("y", bounds)
    path = TABLES / f"{name}.parquet"
    exact = discreet.fit(exact_release(str(path), design))
    return Case(name, design, str(path), exact.scaled_coefficients[1:])


def cases() -> list[Case]:
    found = [synthetic(d) for d in (3, 8, 20)]
    for name, bounds in (("census2000", CENSUS_BOUNDS), ("wine_white", WINE_BOUNDS)):
        if (TABLES / f"{name}.parquet").exists():
            found.append(real(name, bounds))
    return found


def error(case: Case, fit: discreet.Fit) -> float:
    return float(np.sqrt(np.mean((fit.scaled_coefficients[1:] - case.truth) ** 2)))


def variants(name: str) -> list[str]:
    """Penalties of the fit for moments; for coefficients the settings that make another estimator."""
    if mechanism_named(name).kind == "moments":
        return ["none", "adaptive"]
    return {"objective": ["loss=huber", "loss=squared"], "irls": ["form=score", "form=moment"]}.get(name, [""])


def one_release(case: Case, name: str, variant: str) -> float:
    """Error of one release; infinite where noise leaves no estimate."""
    mechanism = mechanism_named(name)
    # the Laplace noise of dpme makes no use of delta
    delta = 0.0 if mechanism.info.notion == "pure" or name == "dpme" else 1e-6
    settings = dict([variant.split("=")]) if "=" in variant else None
    release = discreet.release(case.table, case.design, epsilon=1.0, delta=delta, mechanism=name, settings=settings)
    fit = discreet.fit(release, **({"penalty": variant} if release.kind == "moments" else {}))
    return error(case, fit) if fit.estimable else np.inf


def cell(case: Case, name: str, variant: str) -> str:
    try:
        errors = [one_release(case, name, variant) for _ in range(RELEASES)]
    except SpecError:
        return "refused"
    middle = float(np.median(errors))
    return f"{middle:.4f}" if np.isfinite(middle) else "no fit"


@pytest.mark.slow
def test_every_mechanism_on_the_same_tables():
    """Root of the mean squared error of the scaled slopes, median over releases; least squares and adaptive ridge."""
    tables = cases()
    print(f"\nepsilon = 1, delta = 1e-6 or 0, {RELEASES} releases; error of scaled slopes")
    print(f"{'':24s}" + "".join(f"{case.name:>12s}" for case in tables))
    plain = [error(case, discreet.fit(exact_release(case.table, case.design))) for case in tables]
    print(f"{'no privacy':24s}" + "".join(f"{one:12.4f}" for one in plain))
    zero = [float(np.sqrt(np.mean(case.truth**2))) for case in tables]
    print(f"{'all slopes 0':24s}" + "".join(f"{one:12.4f}" for one in zero), flush=True)
    shown: dict[tuple[str, str], list[str]] = {}
    for name in mechanisms():
        for variant in variants(name):
            shown[name, variant] = [cell(case, name, variant) for case in tables]
            print(f"{name + ' ' + variant:24s}" + "".join(f"{one:>12s}" for one in shown[name, variant]), flush=True)
    easy = {name: float(row[0]) for (name, variant), row in shown.items() if variant == variants(name)[0]
            if row[0] not in ("refused", "no fit")}  # fmt: skip
    # three regressors and ten thousand rows: the joint Gaussian release is close to no privacy, and beats zero by far
    assert easy["gaussian"] < 0.2 * zero[0]
