"""Every rival and reference by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Final, Literal, cast

from discreet.papers.rivals.rows import BoxedRegressor


@dataclass(frozen=True)
class Rival:
    """A method that is no mechanism of this library.

    Attributes
    ----------
    module, defined
        Where it is.
    kind
        A `rival`, whose privacy is proved, or a `reference` without any.
    about
        One line for people.
    """

    module: str
    defined: str
    kind: Literal["rival", "reference"]
    about: str

    def load(self) -> type[BoxedRegressor]:
        """The class; no other is loaded."""
        module = import_module(f"discreet.papers.rivals.{self.module}")
        return cast("type[BoxedRegressor]", getattr(module, self.defined))


RIVALS: Final[Mapping[str, Rival]] = MappingProxyType({
    "ols": Rival("references", "LeastSquares", "reference", "least squares"),
    "ridge": Rival("references", "Ridge", "reference", "ridge regression, penalty 1"),
    "mean": Rival("references", "Mean", "reference", "the mean of the target"),
    "adassp-published": Rival("adassp", "PublishedAdaSSP", "rival", "AdaSSP with the constants of its code (2018)"),
    "boosted-adassp": Rival("boosted", "BoostedAdaSSP", "rival", "boosted AdaSSP, 10 rounds, correct noise (2023)"),
    "dp-gd": Rival("gradient_descent", "AdaptiveClipping", "rival", "gradient descent, adaptive clipping (2021)"),
    "hessian-mixing": Rival("hessian_mixing", "HessianMixing", "rival", "iterative Hessian mixing (2026)"),
    "tukey-em": Rival("tukey", "TukeyEM", "rival", "exponential mechanism on Tukey depth, correct test (2023)"),
})  # fmt: skip
