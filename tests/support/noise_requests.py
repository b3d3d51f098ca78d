"""Which variates a release requests, and which ones its file says it has.

Requests are recorded twice while a release is made through the public path: where a mechanism asks the sampler, with
their order, and where the sampler asks OpenDP. What a file says is worked out here from its noise model, design and
settings, entry by entry, without the functions that the mechanisms use for it.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import discreet
from discreet import workflow
from discreet.design.columns import Numeric
from discreet.mechanisms import irls as wishart_moments
from discreet.mechanisms import k_norm, sampler, wishart
from discreet.mechanisms.registry import mechanism_named
from discreet.options import RobustErrors
from discreet.parts import making, merging
from discreet.releases import NoiseDistribution, Release
from support.curators import DESIGN, NAMES, curators, rows

ROWS = 600
COLUMNS = {"x": (0, 10), "z": (-1, 1), "b": bool, "g": ["red", "green", "blue"], "y": (-5, 5)}
SEARCHED = {**COLUMNS, "x": "private"}
UNITS: Mapping[str, Mapping[str, object]] = {
    "rows": {},
    "replace": {"neighbours": "replace"},
    "individuals": {"id": "who", "max_rows": 2},
    "individuals, replace": {"id": "who", "max_rows": 2, "neighbours": "replace"},
}
CENTRED = {"x": (-10, 10), "z": (-1, 1), "y": (-5, 5)}
# with passes that are few enough to be quick
SETTINGS: Mapping[str, Sequence[Mapping[str, object]]] = {
    "wishart": ({"degrees": 60},),
    "ssp": ({}, {"target_square": True}),
    "functional": ({}, {"target_square": True}),
    "adassp": ({}, {"target_square": True}),
    "dpme": ({"bins": 2}, {"bins": 2, "noise": "gaussian"}),
    "frank-wolfe": ({"iterations": 3},),
    "irls": (
        {},
        {"iterations": 3},
        {"form": "moment"},
        {"form": "moment", "iterations": 3},
        {"noise": "laplace"},
        {"form": "moment", "noise": "wishart", "iterations": 3},
    ),
    "gradient": ({"iterations": 3}, {"iterations": 3, "momentum": False}),
    "objective": ({"threshold": 0.5}, {"loss": "squared"}),
}
MODELS = ["y ~ x", "y ~ x + b"]
OPTIONS: Mapping[str, Sequence[Mapping[str, object]]] = {
    "gaussian": (
        {"robust": True},
        {"robust": RobustErrors(models=MODELS), "clip_counts": True},
        {"clip_counts": True},
        {"grid_bits": 12},
        {"weights": "w"},
        {"weights": "w", "robust": True},
        {"weights": "w", "robust": RobustErrors(models=MODELS)},
    ),
    "laplace": ({"clip_counts": True},),
    # refused for individuals with several rows
    "staged": ({"robust": True},),
}
# for every mechanism that takes them
EVERYWHERE: Sequence[Mapping[str, object]] = (
    {"guard": True},
    {"columns": SEARCHED},
    {"columns": SEARCHED, "guard": True},
    {"columns": CENTRED, "intercept": False},
)


class Request(NamedTuple):
    """Variates that are asked for at once: their distribution, and their scales in order, without those of 0."""

    family: str
    scales: tuple[int, ...]


@dataclass
class Recorded:
    """Requests of one release: in order, and by scale as they reach OpenDP."""

    requests: list[Request] = field(default_factory=list)
    drawn: Counter[tuple[str, int]] = field(default_factory=Counter)

    def note(self, family: str, scales: Sequence[int]) -> None:
        self.requests.append(Request(family, tuple(scale for scale in scales if scale)))


@dataclass(frozen=True)
class Case:
    """A release that is asked for."""

    mechanism: str
    unit: str = "rows"
    settings: Mapping[str, object] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    delta: float = 1e-6

    @property
    def label(self) -> str:
        chosen = {name: value for name, value in self.options.items() if name != "columns"}
        chosen |= {"bounds": "private"} if self.options.get("columns") is SEARCHED else {}
        return f"{self.mechanism}, {self.unit}, {dict(self.settings) | chosen}"


def cases(mechanism: str) -> list[Case]:
    """Every neighbouring relation and unit with every setting and option of a mechanism; some are refused."""
    notion = mechanism_named(mechanism).info.notion
    settings = SETTINGS.get(mechanism, ({},))

    def asked(unit: str, given: Mapping[str, object], options: Mapping[str, object]) -> Case:
        pure = notion == "pure" or given.get("noise") == "laplace"
        return Case(mechanism, unit, given, options, 0.0 if pure else 1e-6)

    found = [asked(unit, given, {}) for unit in UNITS for given in settings]
    found += [asked(unit, settings[0], options) for unit in UNITS for options in OPTIONS.get(mechanism, ())]
    return [*found, *(asked("rows", settings[0], options) for options in EVERYWHERE)]


def table(weights: bool) -> dict[str, object]:
    """Rows of persons with two rows each."""
    rng = np.random.default_rng(5)
    x, b = rng.uniform(0, 10, ROWS), rng.random(ROWS) < 0.4
    g = rng.choice(["red", "green", "blue"], ROWS)
    made = {"x": x, "z": rng.uniform(-1, 1, ROWS), "b": b, "g": g, "who": np.arange(ROWS) // 2}
    made["y"] = 0.4 * x - 2 + b + (g == "blue") + rng.normal(0, 0.5, ROWS)
    return made | ({"w": rng.uniform(0.2, 1, ROWS)} if weights else {})


def made(case: Case) -> Release:
    """The release of a case through the public path, read back from its file."""
    options = dict(case.options)
    columns, weights = options.pop("columns", COLUMNS), options.pop("weights", None)
    declared: dict[str, Any] = {"unit": UNITS[case.unit]} if case.unit != "rows" else {}
    if "intercept" in options:
        declared["intercept"] = options.pop("intercept")
    if weights is not None:
        columns, declared["weights"] = {**columns, "w": (0, 1)}, weights
    design = discreet.Design("y", columns, **declared)
    # a budget at which private bounds are found
    asked = {"epsilon": 8.0, "delta": case.delta, "mechanism": case.mechanism, "settings": case.settings or None}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.get("guard"):
            ledger = discreet.Ledger.create(Path(folder) / "ledger.db")
            ledger.declare("table", epsilon=20.0, delta=1e-3)
            options["spend"] = ledger.account("table")
        release = discreet.release(table(weights is not None), design, **asked, **options)
    return Release.from_json(release.to_json())


def merged(noise: str) -> Release:
    """The release of several curators with a share of the noise each, or with that of whoever merges."""
    with tempfile.TemporaryDirectory() as folder:
        given = curators(Path(folder), noise=noise)
        paths = []
        for place, _ in enumerate(NAMES):
            part = discreet.part(rows(place), DESIGN, given.session, key=given.path(place))
            paths.append(Path(folder) / f"{place}.part")
            part.save(paths[-1])
        release = discreet.merge(paths, merger_noise=noise == "merger")
    return Release.from_json(release.to_json())


def recorded(make: Callable[[], Release]) -> tuple[Release, Recorded]:
    """A release and the variates that were requested for it."""
    notes = Recorded()

    class Recording(sampler.ExactSampler):
        def draw(self, sigmas: Sequence[int]) -> list[int]:
            notes.note("discrete-gaussian", sigmas)
            return super().draw(sigmas)

        def laplace(self, scales: Sequence[int]) -> list[int]:
            notes.note("discrete-laplace", scales)
            return super().laplace(scales)

    normal, laplacian = sampler._gaussian, sampler.laplace_variates

    def gaussian(sigma: int, times: int) -> list[int]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sampler, "_opendp", _Noted("discrete-gaussian", notes, sampler._opendp))
            return normal(sigma, times)

    def laplace(scale: float, times: int) -> list[int]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sampler, "_opendp", _Noted("discrete-laplace", notes, sampler._opendp))
            return laplacian(scale, times)

    with pytest.MonkeyPatch.context() as patch:
        for module in (workflow, making, merging):
            patch.setattr(module, "ExactSampler", Recording)
        patch.setattr(sampler, "_gaussian", gaussian)
        patch.setattr(sampler, "laplace_variates", laplace)
        vector = k_norm.k_norm_noise
        patch.setattr(k_norm, "k_norm_noise", lambda scales, source: (
            notes.note("k-norm", scales), vector(scales, source)
        )[1])  # fmt: skip
        for module in (wishart, wishart_moments):
            matrix = module.wishart_noise
            patch.setattr(module, "wishart_noise", lambda scales, degrees, source, matrix=matrix: (
                notes.note("wishart", [*scales, degrees]), matrix(scales, degrees, source)
            )[1])  # fmt: skip
        return make(), notes


class _Noted:
    """OpenDP with the scale and the number of variates of every measurement noted."""

    def __init__(self, family: str, notes: Recorded, source: Callable[[], tuple[Any, Any, Any]]) -> None:
        self._family, self._notes, self._source = family, notes, source

    def __call__(self) -> tuple[Any, Any, Any]:
        domains, self._measurements, metrics = self._source()
        return domains, self, metrics

    def make_gaussian(self, *given: Any, scale: float) -> Callable[[list[int]], list[int]]:
        return self._noting(self._measurements.make_gaussian(*given, scale=scale), scale)

    def make_laplace(self, *given: Any, scale: float) -> Callable[[list[int]], list[int]]:
        return self._noting(self._measurements.make_laplace(*given, scale=scale), scale)

    def _noting(self, noise: Callable[[list[int]], list[int]], scale: float) -> Callable[[list[int]], list[int]]:
        def draw(zeros: list[int]) -> list[int]:
            self._notes.drawn[self._family, int(scale)] += len(zeros)
            return noise(zeros)

        return draw


# -- what a file says --------------------------------------------------------------------------------------------------


def stated(release: Release) -> list[Request]:
    """Every request of a release, from its file alone; in any order, but entries of a matrix in theirs."""
    distribution, counts = release.noise, []
    before = "discrete-gaussian" if distribution.family == "discrete-gaussian" else "discrete-laplace"
    if release.guard is not None:
        counts.append(Request(before, (release.guard.sigma,) * 2))
    if release.discovery is not None:
        cells = sum(len(column) for column in release.discovery.cells.values())
        counts.append(Request(before, (release.discovery.sigma,) * (cells + 1)))
    family = distribution.family if distribution.family.startswith("discrete") else "discrete-gaussian"
    requests = STATED[release.mechanism](release, distribution, len(release.columns))
    return [*counts, *(one if isinstance(one, Request) else Request(family, tuple(one)) for one in requests if one)]


def _fitted(release: Release, size: int) -> int:
    """Number of coefficients."""
    return size - (1 if release.design.intercept else 2)


def _matrix(size: int, diagonal: int, off: int) -> list[int]:
    return [diagonal if i == j else off for i in range(size) for j in range(i, size)]


def _moments(distribution: NoiseDistribution, size: int) -> list[int]:
    """Scales of the upper triangle of the moments of (1, x, y), without entries that have no noise of their own."""
    last, scales = size - 1, []
    copied = {column for first, end in distribution.indicators for column in range(first, end + 1)}
    factor = {column: first for first, end in distribution.factors for column in range(first, end + 1)}
    for i in range(size):
        for j in range(i, size):
            if i == 0:
                block = "count" if j == 0 else "sum_y" if j == last else "sum_x"
            elif j == last:
                block = "target_square" if i == last else "cross"
            else:
                block = "gram_diagonal" if i == j else "gram_off_diagonal"
            same_factor = i != j and i in factor and factor[i] == factor.get(j)
            if not same_factor and not (i == j and i in copied):
                scales.append(distribution.sigma.get(block, 0))
    return [scale for scale in scales if scale]


def _residuals(distribution: NoiseDistribution, size: int) -> list[int]:
    """Scales of the sums over residuals of the full model, of additional ones, and for R^2."""
    if "residual_diagonal" not in distribution.sigma:
        return []
    sizes = {"": size - 1} | {f"_{number}": len(columns) for number, columns in enumerate(distribution.models, start=1)}
    scales = []
    for end, columns in sizes.items():
        scales += _matrix(
            columns, distribution.sigma[f"residual_diagonal{end}"], distribution.sigma[f"residual_off_diagonal{end}"]
        )
    return [*scales, *([distribution.sigma["residual_ratio"]] if "residual_ratio" in distribution.sigma else [])]


def _searches(
    release: Release, distribution: NoiseDistribution, times: Mapping[str, int], columns: Sequence[str]
) -> list[list[int]]:
    """Comparisons of noisy counts: of all numeric columns at once for `columns`, of one number for others."""
    design = release.design
    numeric = sum(isinstance(design.columns[name], Numeric) for name in design.regressors)
    return [
        [distribution.sigma[block]] * (numeric if block in columns else 1)
        for block, many in times.items()
        for _ in range(many if block in distribution.sigma else 0)
    ]


def _gaussian(release: Release, distribution: NoiseDistribution, size: int) -> list[list[int]]:
    moments = [_moments(distribution, size)] * distribution.parameters.get("shares", 1)
    clipped = [distribution.sigma["clipped"]] * len(release.design.clippable) if "clipped" in distribution.sigma else []
    return [
        *moments,
        clipped,
        [distribution.sigma["rows"]] if "rows" in distribution.sigma else [],
        _residuals(distribution, size),
    ]


def _refined(release: Release, distribution: NoiseDistribution, size: int) -> list[list[int]]:
    columns = {"centre": 5, "spread": 2, "zoomed_centre": 4, "zoomed_spread": 2, "one_spread": 3, "mean_square": 2}
    others = {"count": 1, "target_mean": 1, "target_spread": 5, "target_zoom": 1, "radius": 5, "clip": 6, "below": 20}
    searches = _searches(release, distribution, columns | others | {"offset": 1}, list(columns))
    many = _fitted(release, size)
    gram = _matrix(many, distribution.sigma["gram_diagonal"], distribution.sigma["gram_off_diagonal"])
    return [*searches, gram, *[[distribution.sigma["score"]] * many] * 20]


def _staged(release: Release, distribution: NoiseDistribution, size: int) -> list[list[int]]:
    columns = {"centre": 5, "spread": 2, "zoomed_centre": 4, "zoomed_spread": 2, "size": 1}
    others = {"rows": 1, "target_median": 6, "pilot_bound": 10}
    searches = _searches(release, distribution, columns | others, list(columns))
    factor = {column: first for first, end in distribution.factors for column in range(first, end + 1)}
    gram = [
        distribution.sigma[
            "count" if j == 0 else "sum_x" if i == 0 else "gram_diagonal" if i == j else "gram_off_diagonal"
        ]
        for i in range(size - 1)
        for j in range(i, size - 1)
        # products of two levels of one factor have no noise
        if i == j or factor.get(i, -1) != factor.get(j, -2)
    ]
    scores = [distribution.sigma["sum_y"], *[distribution.sigma["cross"]] * (size - 2)]
    products = []
    if "score_diagonal" in distribution.sigma:
        products = _matrix(size - 1, distribution.sigma["score_diagonal"], distribution.sigma["score_off_diagonal"])
    counts = [[distribution.sigma["row_norms"]] * len(release.staged.norms), [distribution.sigma["score_norms"]] * 40]
    pilots = [[distribution.sigma[name]] * (size - 1) for name in ("first_pilot", "second_pilot")]
    return [*searches, gram, *counts, *pilots, scores, [distribution.sigma["target_square"]], products]


def _one_model(release: Release, distribution: NoiseDistribution, size: int) -> list[list[int]]:
    beside = [distribution.sigma["smallest_eigenvalue"]] if "smallest_eigenvalue" in distribution.sigma else []
    return [_moments(distribution, size), beside]


def _irls(release: Release, distribution: NoiseDistribution, size: int) -> list[list[int] | Request]:
    settings, diagonal = release.settings, distribution.sigma["gram_diagonal"]
    laplace, moment = distribution.family == "discrete-laplace", settings["form"] == "moment"
    steps = int(settings["iterations"]) or (10 if moment else 20 if laplace else 100)
    if distribution.family == "wishart":
        row = math.isqrt(diagonal)
        assert row * row == diagonal
        scales = *[row] * (size - 1), distribution.sigma["cross"] // row, distribution.parameters["degrees"]
        return [Request("wishart", scales)] * steps
    many = _fitted(release, size)
    gram = _matrix(many, diagonal, distribution.sigma["gram_off_diagonal"])
    if moment:
        return [gram, [distribution.sigma["cross"]] * many] * steps
    return [gram, *[[distribution.sigma["score"]] * many] * steps]


def _gradient(release: Release, distribution: NoiseDistribution, size: int) -> list[list[int]]:
    count = [distribution.sigma["count"]] if "count" in distribution.sigma else []
    return [count, *[[distribution.sigma["score"]] * _fitted(release, size)] * int(release.settings["iterations"])]


def _wishart(release: Release, distribution: NoiseDistribution, size: int) -> list[Request]:
    x = math.isqrt(distribution.sigma["gram_diagonal"])
    one, y = distribution.sigma["sum_x"] // x, distribution.sigma["cross"] // x
    scales = {"sum_x": one * x, "gram_diagonal": x * x, "sum_y": one * y, "cross": x * y, "target_square": y * y}
    assert scales == {block: distribution.sigma[block] for block in scales}
    assert distribution.sigma["count"] in (0, one * one)
    return [Request("wishart", (one, *[x] * (size - 2), y, distribution.parameters["degrees"]))]


def _minimum(release: Release, distribution: NoiseDistribution, size: int) -> list[list[int]]:
    return [
        [distribution.sigma[name]] * _fitted(release, size)
        for name in ("linear", "coefficients")
        if name in distribution.sigma
    ]


# one entry for every mechanism: a new one says here which variates its files promise
STATED: Mapping[str, Callable[[Release, NoiseDistribution, int], Sequence[Any]]] = {
    "gaussian": _gaussian,
    "laplace": _gaussian,
    "functional": _gaussian,
    "ssp": _one_model,
    "adassp": _one_model,
    "k-norm": lambda release, distribution, size: [Request("k-norm", tuple(_moments(distribution, size)))],
    "wishart": _wishart,
    "dpme": lambda release, distribution, size: [[distribution.sigma["cells"]] * distribution.parameters["cells"]],
    # a choice draws batches of 32 until one is accepted; the least number of them
    "frank-wolfe": lambda release, distribution, size: (
        [[distribution.sigma["selection"]] * 32] * distribution.parameters["iterations"]
    ),
    "irls": _irls,
    "gradient": _gradient,
    "output": _minimum,
    "objective": _minimum,
    "refined": _refined,
    "staged": _staged,
}


def differences(make: Callable[[], Release]) -> list[str]:
    """What separates the variates that a release requests from those that its file states; nothing if it is right."""
    release, notes = recorded(make)
    expected = stated(release)
    if release.mechanism == "frank-wolfe":
        # a choice draws as many batches as it takes
        expected += [expected[-1]] * (notes.requests.count(expected[-1]) - expected.count(expected[-1]))
    wanted, given = _by_scale(expected), _by_scale(notes.requests)
    found = [f"{given[one]} variates of {one[0]} and scale {one[1]}, stated {wanted[one]}" for one in given | wanted
             if given[one] != wanted[one]]  # fmt: skip
    # of OpenDP the same, but for noise that is formed of uniform bits
    drawn = Counter({one: many for one, many in given.items() if one[0].startswith("discrete")})
    found += [f"OpenDP drew {notes.drawn[one]} variates of {one[0]} and scale {one[1]}, requested {drawn[one]}"
              for one in notes.drawn | drawn if notes.drawn[one] != drawn[one]]  # fmt: skip
    # where scales differ within one request their order matters
    mixed = [sorted(one for one in requests if len(set(one.scales)) > 1) for requests in (expected, notes.requests)]
    return found if found or mixed[0] == mixed[1] else ["the scales of a matrix are not those of its entries"]


def _by_scale(requests: Sequence[Request]) -> Counter[tuple[str, int]]:
    return Counter((one.family, scale) for one in requests for scale in one.scales)
