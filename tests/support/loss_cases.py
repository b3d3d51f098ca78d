"""Every mechanism with several settings, units and budgets, and the loss of its noise computed forwards."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.privacy_loss import keeps
from discreet.accounting.privacy_maps import loss_of
from discreet.design.design import Design
from discreet.errors import SpecError
from discreet.mechanisms.protocol import Mechanism
from discreet.mechanisms.registry import chosen_mechanism
from discreet.options import ReleaseOptions, RobustErrors
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.spend import Loss

UNITS = (
    {},
    {"neighbours": "replace"},
    {"id": "p", "max_rows": 3},
    {"neighbours": "replace", "id": "p", "max_rows": 2},
)
COLUMNS = {"y": (0, 10), "x": (0, 5), "z": (-1, 1), "b": bool, "g": ["a", "b", "c"]}
SETTINGS: Mapping[str, tuple[Mapping[str, object], ...]] = {
    "wishart": ({"degrees": 500}, {"fewest": True}, {"debiased": False, "degrees": 500}),
    "ssp": ({}, {"target_square": True}),
    "functional": ({}, {"target_square": True}),
    "adassp": ({}, {"eigenvalue_share": 0.1}),
    "dpme": ({"bins": 2}, {"bins": 3, "noise": "gaussian"}, {}),
    "frank-wolfe": ({}, {"iterations": 3}, {"iterations": 500}),
    "irls": (
        {},
        {"form": "moment"},
        {"composition": "basic"},
        {"form": "moment", "composition": "zcdp"},
        {"form": "moment", "composition": "advanced", "iterations": 60},
        {"noise": "laplace"},
        {"form": "moment", "noise": "wishart"},
        {"form": "moment", "noise": "wishart", "composition": "advanced", "iterations": 60},
    ),
    "gradient": ({}, {"momentum": False, "iterations": 5}),
    "output": ({}, {"strength": 5.0, "bound": 10.0}),
    "objective": ({}, {"loss": "squared"}, {"loss": "squared", "strength": 500.0}),
}
BESIDE = {"gaussian": ({}, {"robust": True}, {"clip_counts": True}), "laplace": ({}, {"clip_counts": True})}
BUDGETS = ((1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-3), (18.0, 1e-6), (1.0, 0.0))


@dataclass(frozen=True)
class Case:
    """A mechanism's noise for a budget, from public quantities."""

    mechanism: Mechanism
    design: Design
    distribution: NoiseDistribution
    settings: Settings
    epsilon: float
    delta: float

    @property
    def loss(self) -> Loss:
        return self.loss_with(self.distribution)

    def loss_with(self, distribution: NoiseDistribution, **settings: object) -> Loss:
        public = {**self.settings, **settings}
        return loss_of(self.mechanism.name, self.design, distribution, public, self.epsilon, self.delta)

    @property
    def kept(self) -> bool:
        return keeps(self.loss, self.epsilon, self.delta)

    def kept_with_half(self, block: str) -> bool:
        """Whether the promise would be kept with half the scale of one statistic; a refusal counts as not kept."""
        sigma = {**self.distribution.sigma, block: max(1, self.distribution.sigma[block] // 2)}
        try:
            return keeps(self.loss_with(replace(self.distribution, sigma=sigma)), self.epsilon, self.delta)
        except SpecError:
            return False


def designs() -> Iterator[Design]:
    for unit in UNITS:
        yield Design("y", COLUMNS, unit=unit)
        yield Design("y", {"y": (0, 1), "x": (0, 1)}, unit=unit)
        yield Design("y", {"y": bool, "x": (-1, 1), "z": (-1, 1)}, unit=unit, intercept=False)
        yield Design("y", {"y": (0, 1), "x": (0, 1), "z": (0, 1), "v": (0, 2)}, unit=unit, radius=1.0)


def cases(name: str, budgets=BUDGETS, grids=(16,)) -> Iterator[Case]:
    """Everything the mechanism offers; what it refuses is left out."""
    choices = itertools.product(designs(), SETTINGS.get(name, ({},)), BESIDE.get(name, ({},)), budgets, grids)
    for design, given, beside, (epsilon, delta), bits in choices:
        try:
            one, settings, distribution = chosen_mechanism(
                design,
                PrivacyBudget(epsilon, delta),
                ReleaseOptions(mechanism=name, settings=given, grid_bits=bits, **beside),
            )
        except SpecError:
            continue
        yield Case(one, design, distribution, settings, epsilon, 0.0 if distribution.calibration == "pure" else delta)


def one_case(name: str, design: Design | None = None, epsilon=1.0, delta=1e-6, beside=None, **settings) -> Case:
    design = design or Design("y", {"y": (0, 10), "x": (0, 5), "z": (-1, 1)})
    more = dict(beside or {})
    if "models" in more:
        # columns of the features and of the target, as formulas
        names = [["1", *(design.released[index] for index in columns)] for columns in more.pop("models")]
        formulas = [f"{target} ~ {' + '.join(features)}" for *features, target in names]
        more["robust"] = RobustErrors(models=formulas)
    one, public, distribution = chosen_mechanism(
        design,
        PrivacyBudget(epsilon, delta),
        ReleaseOptions(mechanism=name, settings=settings or None, **more),
    )
    return Case(one, design, distribution, public, epsilon, 0.0 if distribution.calibration == "pure" else delta)
