"""Every baseline and reference by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Final, Literal, cast

from discreet_papers.baselines.boxed_rows import BoxedRegressor


@dataclass(frozen=True)
class Baseline:
    """A method that is not a mechanism of this library.

    `module` and `defined` say where the class is defined. A `baseline` has a proved guarantee, a `reference` no
    privacy.
    """

    module: str
    defined: str
    kind: Literal["baseline", "reference"]
    about: str

    def load(self) -> type[BoxedRegressor]:
        """Import and return the class."""
        module = import_module(f"discreet_papers.baselines.{self.module}")
        return cast("type[BoxedRegressor]", getattr(module, self.defined))


BASELINES: Final[Mapping[str, Baseline]] = MappingProxyType({
    "ols": Baseline("boxed_rows", "LeastSquares", "reference", "least squares"),
    "ridge": Baseline("boxed_rows", "Ridge", "reference", "ridge regression, penalty 1"),
    "mean": Baseline("boxed_rows", "Mean", "reference", "the mean of the target"),
    "adassp-published": Baseline(
        "boxed_rows", "PublishedAdaSSP", "baseline", "AdaSSP with the constants of its code (2018)"),
    "boosted-adassp": Baseline(
        "boosted_adassp", "BoostedAdaSSP", "baseline", "boosted AdaSSP, 10 rounds, correct noise (2023)"),
    "dp-gd": Baseline("gradient_descent", "AdaptiveClipping", "baseline", "gradient descent, adaptive clipping (2021)"),
    "hessian-mixing": Baseline("hessian_mixing", "HessianMixing", "baseline", "iterative Hessian mixing (2026)"),
    "tukey-em": Baseline("tukey", "TukeyEM", "baseline", "exponential mechanism on Tukey depth, correct test (2023)"),
})  # fmt: skip
