"""Measure releases by `staged`: width over least squares, coverage, bias, and the share of bounded sets.

Run: python -m benchmarks.staged [CELL ...] [--rows N ...] [--epsilons E ...] [--releases K] [--mechanism NAME]
     [--robust] [--public] [--itself] [--folder FOLDER] [--save FILE] [--seed N]

Cells are named in `benchmarks/staged_cells.py`; without names all simulated ones are measured. Every release is made
from a new table, or with --itself from a real table itself. A line has these figures of the slopes:

width      of a 95% set over that of least squares on the same rows, as a median over slopes and releases. Least squares
           has robust errors where errors are not equally variable.
coverage   of the true slopes by all sets, with its standard error, and by bounded sets. The true slopes of a real table
           are those of least squares on it.
bias       mean distance from least squares on the same rows in standard errors of the release, of the slope where it is
           largest, with its Monte Carlo error.
bounded    share of the sets that are intervals.
allowance  part of the variance of the noise of the scores that is added for clipped scores, as a median.
OLS        coverage of robust least squares on the same rows.

Results that FILE has are not measured again. The noise is seeded: NOT PRIVATE. With --public it comes from the system,
as in a release that is published.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

import numpy as np

import discreet
from benchmarks.staged_cells import REAL, SIMULATED, Cell, Columns, Model, clipped
from discreet.analyst.confidence_sets import ConfidenceSet
from discreet.exact.arrays import FloatArray
from discreet.releases.fields import released_count
from discreet.releases.release import Release
from discreet.releases.staged_rules import ALLOWANCE, chosen_bound, effective_mu
from discreet.testing import seeded_release

SEED: Final = 20261118
DELTA: Final = 1e-6
Z: Final = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Key:
    """What a line of results is about. `rows` is 0 for a real table."""

    cell: str
    model: str
    rows: int
    epsilon: float
    mechanism: str
    robust: bool
    public: bool
    itself: bool
    seed: int


# -- one release -------------------------------------------------------------------------------------------------------


def least_squares(
    columns: dict[str, FloatArray], target: str, names: tuple[str, ...]
) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Return coefficients of least squares, their standard errors and their robust ones (HC1), by name."""
    X, y = np.stack([columns[name] for name in names], axis=1), columns[target]
    H = np.linalg.inv(X.T @ X)
    theta = H @ (X.T @ y)
    residual = y - X @ theta
    scores, free = X * residual[:, None], len(y) - len(names)
    plain = np.sqrt(np.diag(H) * (residual @ residual / free))
    robust = np.sqrt(np.diag(H @ (scores.T @ scores) @ H) * (len(y) / free))
    by_name = [dict(zip(names, values.tolist(), strict=True)) for values in (theta, plain, robust)]
    return by_name[0], by_name[1], by_name[2]


def released(table: Columns, cell: Cell, key: Key, seed: int) -> Release:
    """Release a table, with noise from a seed or from the system."""
    options: dict[str, Any] = {"delta": DELTA, "mechanism": key.mechanism, "robust": key.robust}
    if key.public:
        return discreet.release(table, cell.design, epsilon=key.epsilon, **options)
    return seeded_release(table, cell.design, seed=seed, epsilon=key.epsilon, **options)


def clipping(release: Release) -> dict[str, float]:
    """Return the share of the allowance in the noise of the scores, the expected number of clipped rows, and n mu."""
    part, count = release.staged, released_count(release)
    if part is None or count is None:
        return {}
    choice = chosen_bound(part, release.design, release.noise, count.value)
    allowed = ALLOWANCE * choice.lost**2
    share = allowed / ((part.score_bound * release.noise.sd("cross")) ** 2 + allowed)
    n_mu = count.value * effective_mu(release.noise, release.design)
    return {"allowance": share, "clipped": choice.clipped, "n_mu": n_mu}


def number(value: object) -> float:
    """Return a number, or NaN for one that is not estimable."""
    return float(value) if isinstance(value, float | int) else math.nan


def observed(
    release: Release, model: Model, columns: dict[str, FloatArray], whole: dict[str, FloatArray] | None, robust: bool
) -> dict[str, Any]:
    """Return estimates, errors and sets of the slopes of a model, and least squares on the same rows."""
    fit = discreet.fit(release, target=model.target, features=model.features, cov_type="HC1" if robust else None)
    theta, plain, sandwich = least_squares(columns, fit.target, fit.names)
    true = least_squares(whole, fit.target, fit.names)[0] if whole is not None else model.truth
    names = [name for name in fit.names if name != "Intercept"]
    params, sets, errors = fit.params, fit.conf_int(), fit.bse
    found: dict[str, Any] = {"names": names}
    for name in names:
        given = sets[name]
        interval = given if isinstance(given, ConfidenceSet) else ConfidenceSet("everything")
        values = {
            "ols": theta[name],
            "plain": plain[name],
            "robust": sandwich[name],
            "estimate": number(params[name]),
            "error": number(errors[name]),
            "low": interval.lower,
            "high": interval.upper,
            "bounded": interval.bounded,
            "covered": interval.contains(true[name]),
            "ols_covered": abs(theta[name] - true[name]) <= Z * sandwich[name],
        }
        for field, value in values.items():
            found.setdefault(field, []).append(value)
    return found


# -- many releases -----------------------------------------------------------------------------------------------------


def measured(name: str, cell: Cell, keys: list[Key], releases: int) -> list[dict[str, Any]]:
    """Release tables at every epsilon and return the observations of all releases: one line for each key."""
    code = zlib.crc32(name.encode())
    whole = None if cell.table is None else clipped(cell.table, cell.design)
    lines: list[dict[str, Any]] = [{**asdict(key), "releases": releases, "each": []} for key in keys]
    models = {model.label: model for model in cell.models}
    rows = keys[0].rows if cell.table is None else len(next(iter(cell.table.values())))
    for k in range(releases):
        if cell.table is not None and keys[0].itself:
            table = cell.table
        else:
            table = cell.draw(np.random.default_rng([keys[0].seed, code, rows, k]), rows)
        columns = clipped(table, cell.design)
        made: dict[float, Release] = {}
        clips: dict[float, dict[str, float]] = {}
        for key, line in zip(keys, lines, strict=True):
            if key.epsilon not in made:
                seed = np.random.SeedSequence([key.seed, code, rows, k, round(1000 * key.epsilon)]).generate_state(2)
                made[key.epsilon] = released(table, cell, key, int(seed[0]) << 32 | int(seed[1]))
                clips[key.epsilon] = clipping(made[key.epsilon])
            found = observed(made[key.epsilon], models[key.model], columns, whole, key.robust)
            line["each"].append(found | clips[key.epsilon])
    return lines


def figures(line: dict[str, Any], robust: bool) -> dict[str, Any]:
    """Return the figures of a line of results. Least squares has robust errors if `robust`."""
    each = line["each"]

    def array(name: str) -> FloatArray:
        return np.array([one[name] for one in each], dtype=np.float64)

    bounded, covered = array("bounded") > 0, array("covered")
    usual = array("robust" if robust else "plain")
    width = np.where(bounded, (array("high") - array("low")) / (2 * Z * usual), np.inf)
    by_release = covered.mean(axis=1)
    with np.errstate(invalid="ignore"):
        distance = np.where(bounded, (array("estimate") - array("ols")) / array("error"), np.nan)
    known = np.isfinite(distance)
    count = np.maximum(known.sum(axis=0), 1)
    bias = np.where(known, distance, 0.0).sum(axis=0) / count
    spread = np.sqrt(np.where(known, (distance - bias) ** 2, 0.0).sum(axis=0) / count)
    # a slope with few intervals has no mean worth quoting
    enough = known.sum(axis=0) >= max(len(each) / 2, 2)
    largest = int(np.argmax(np.where(enough, np.abs(bias), -1.0)))
    return {
        "width": float(np.median(width)),
        "widths": dict(zip(each[0]["names"], np.median(width, axis=0).tolist(), strict=True)),
        "coverage": float(covered.mean()),
        "coverage_error": float(by_release.std() / math.sqrt(len(each))),
        "given_interval": float(covered[bounded].mean()) if bounded.any() else math.nan,
        "bias": float(bias[largest]) if enough.any() else math.nan,
        "bias_error": float(spread[largest] / math.sqrt(count[largest])) if enough.any() else math.nan,
        "biased": each[0]["names"][largest],
        "biases": dict(zip(each[0]["names"], np.where(enough, bias, np.nan).tolist(), strict=True)),
        "bounded": float(bounded.mean()),
        "allowance": float(np.median([one.get("allowance", 0.0) for one in each])),
        "n_mu": float(np.median([one.get("n_mu", math.nan) for one in each])),
        "ols": float(array("ols_covered").mean()),
    }


def row(line: dict[str, Any], found: dict[str, Any]) -> str:
    """Return the figures of a line as text."""
    return (
        f"{line['cell']:13s} {line['model']:14s} {line['mechanism']:8s} {'robust' if line['robust'] else 'plain':6s} "
        f"n {line['rows'] or 'real':>6} epsilon {line['epsilon']:<4g} width {found['width']:6.2f}  "
        f"coverage {100 * found['coverage']:5.1f} ({100 * found['coverage_error']:.1f}) "
        f"given interval {100 * found['given_interval']:5.1f}  "
        f"bias {found['bias']:+.2f} ({found['bias_error']:.2f}) {found['biased']:9s}  "
        f"bounded {100 * found['bounded']:5.1f}  allowance {found['allowance']:.2f}  n mu {found['n_mu']:.0f}  "
        f"OLS {100 * found['ols']:.1f}  releases {line['releases']}"
    )


def widths(found: dict[str, Any]) -> str:
    """Return the widths and biases of each slope as text."""
    return "    " + "  ".join(f"{name} {w:.2f} ({found['biases'][name]:+.2f})" for name, w in found["widths"].items())


# -- program -----------------------------------------------------------------------------------------------------------


def compact(value: object) -> object:
    """Round floats to six digits, so that files stay small."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [compact(one) for one in value]
    if isinstance(value, dict):
        return {name: compact(one) for name, one in value.items()}
    return value


def saved(path: Path | None) -> dict[Key, dict[str, Any]]:
    """Return the lines of a file of results by their keys."""
    if path is None or not path.exists():
        return {}
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    return {Key(**{name: line[name] for name in Key.__dataclass_fields__}): line for line in lines}


def main() -> None:
    """Measure cells and print a line for each model, number of rows and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", metavar="CELL")
    parser.add_argument("--rows", nargs="*", type=int, default=[10_000])
    parser.add_argument("--epsilons", nargs="*", type=float, default=[1.0])
    parser.add_argument("--releases", type=int, default=400)
    parser.add_argument("--mechanism", default="staged")
    parser.add_argument("--robust", action="store_true", help="release robust errors for cells that need them")
    parser.add_argument("--public", action="store_true", help="draw noise from the system")
    parser.add_argument("--itself", action="store_true", help="release real tables themselves")
    parser.add_argument("--each", action="store_true", help="print widths and biases of each slope")
    parser.add_argument("--folder", type=Path, default=Path("../shared/data"), help="folder with the file of the CPS")
    parser.add_argument("--save", type=Path, help="file of results, one JSON object in a line")
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    done = saved(asked.save)
    for name in asked.cells or SIMULATED:
        try:
            cell = SIMULATED[name]() if name in SIMULATED else REAL[name](asked.folder)
        except (FileNotFoundError, discreet.DiscreetError) as error:
            print(f"{name:13s} left out: {error}")
            continue
        for rows in asked.rows if cell.table is None else [0]:
            keys = [
                Key(
                    name, model.label, rows, epsilon, asked.mechanism, asked.robust and cell.robust, asked.public,
                    asked.itself and cell.table is not None, asked.seed,
                )
                for epsilon in asked.epsilons
                for model in cell.models
            ]  # fmt: skip
            missing = [key for key in keys if key not in done or done[key]["releases"] < asked.releases]
            start = time.perf_counter()
            lines = measured(name, cell, missing, asked.releases) if missing else []
            done |= dict(zip(missing, lines, strict=True))
            if asked.save:
                with asked.save.open("a") as file:
                    file.writelines(json.dumps(compact(line)) + "\n" for line in lines)
            for key in keys:
                found = figures(done[key], cell.robust)
                print(row(done[key], found) + (f"\n{widths(found)}" if asked.each else ""), flush=True)
            if missing:
                print(f"    {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
