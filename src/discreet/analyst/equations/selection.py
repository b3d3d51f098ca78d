"""Which model to read from a release: target, regressors and intercept, by declared names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.design.columns import Boolean, Numeric
from discreet.design.model import Design
from discreet.design.parts import INTERCEPT
from discreet.errors import SpecError, shown
from discreet.privacy.checks import listed
from discreet.releases import Release


@dataclass(frozen=True, slots=True)
class SubModel:
    """One linear model among all those that a release can answer.

    Attributes
    ----------
    target
        Declared name of the column to explain.
    features
        Declared names of the regressors; a categorical name means all its indicators. One indicator by itself has its
        released name, such as `region[south]`.
    intercept
        Whether the model has a free constant.
    names
        Coefficient names: `Intercept` first if there is one, then the released columns of the features.
    positions
        Positions of the released columns of the features in `release.columns`; the constant is at 0.
    target_position
        Position of the target in `release.columns`.
    """

    target: str
    features: tuple[str, ...]
    intercept: bool
    names: tuple[str, ...]
    positions: tuple[int, ...]
    target_position: int

    @property
    def slopes(self) -> tuple[str, ...]:
        """Coefficient names without the intercept."""
        return self.names[1:] if self.intercept else self.names

    @property
    def columns(self) -> tuple[int, ...]:
        """Positions of the features from left to right, and of the target last: the same however a model is written."""
        return (*sorted(self.positions), self.target_position)


def has_all_regressors(design: Design, features: Iterable[str]) -> bool:
    """Whether these are all regressors of the design, so that the length of a row, which its radius is about, is known.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1), "w": (0, 1)}, radius=1.0)
    >>> has_all_regressors(design, ["w", "x"]), has_all_regressors(design, ["x"])
    (True, False)
    """
    return set(features) == set(design.regressors)


def is_feature(design: Design, name: str) -> bool:
    """Whether a model can have this column: one that is offered, or one indicator of a category.

    >>> design = Design("y", {"y": (0, 1), "g": ["a", "b", "c"]})
    >>> is_feature(design, "g"), is_feature(design, "g[b]"), is_feature(design, "g[a]")
    (True, True, False)
    """
    return name in design.offered or (name in design.parts and name not in design.columns)


def choose(
    release: Release,
    target: str | None = None,
    features: Iterable[str] | None = None,
    intercept: bool | None = None,
) -> SubModel:
    """Pick a model by declared names; what is left out follows the design, features default to every other column."""
    return model_of(release.design, target, features, intercept)


def model_of(
    design: Design,
    target: str | None = None,
    features: Iterable[str] | None = None,
    intercept: bool | None = None,
) -> SubModel:
    """The same for a design, before there is a release."""
    chosen_target = _checked_target(design, design.target if target is None else target)
    if features is None:
        chosen = tuple(name for name in design.offered if name != chosen_target)
    else:
        chosen = _checked_features(design, chosen_target, features)
    with_intercept = design.intercept if intercept is None else intercept
    if not isinstance(with_intercept, bool):
        raise SpecError(f"intercept is {shown(intercept)}; allowed: True, False, or None for what the design says")
    if not chosen and not with_intercept:
        raise SpecError("the model has neither features nor an intercept; name a feature or keep the intercept")
    slopes = tuple(name for declared in chosen for name in design.parts[declared].released(declared))
    for name in slopes:
        if slopes.count(name) > 1:
            raise SpecError(f"{name!r} is named by itself and as a part of its category; name one of the two")
    return SubModel(
        target=chosen_target,
        features=chosen,
        intercept=with_intercept,
        names=(INTERCEPT, *slopes) if with_intercept else slopes,
        positions=tuple(design.released.index(name) for name in slopes),
        target_position=design.released.index(chosen_target),
    )


def _checked_target(design: Design, target: str) -> str:
    targets = [name for name in design.offered if isinstance(design.columns[name], Numeric | Boolean)]
    if not isinstance(target, str) or target not in design.offered:
        raise SpecError.unknown_name("target", target, targets)
    if not isinstance(design.columns[target], Numeric | Boolean):
        raise SpecError(f"the target {shown(target)} is categorical; a target is numeric or boolean")
    return target


def _checked_features(design: Design, target: str, features: Iterable[str]) -> tuple[str, ...]:
    chosen = listed(features)
    if chosen is None:
        raise SpecError(
            f"features: expected a list of declared names such as [{design.regressors[0]!r}], got {shown(features)}"
        )
    for name in chosen:
        if not isinstance(name, str) or not is_feature(design, name):
            raise SpecError.unknown_name("feature", name, design.offered)
        if name == target:
            raise SpecError(f"{name!r} is both the target and a feature; remove it from the features")
        if chosen.count(name) > 1:
            raise SpecError(f"the feature {name!r} is named twice; name each feature once")
    return tuple(chosen)
