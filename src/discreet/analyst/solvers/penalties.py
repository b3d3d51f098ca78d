"""Which penalty a model has: its name, its strength and its share of L1, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from discreet.errors import SpecError, shown

Penalty = Literal["none", "ridge", "lasso", "elastic-net", "adaptive", "bayes"]
PENALTIES: Final[tuple[Penalty, ...]] = get_args(Penalty)
WITH_STRENGTH: Final[tuple[Penalty, ...]] = ("ridge", "lasso", "elastic-net")
Criterion = Literal["criterion"]
LARGEST_STRENGTH: Final = 1e100
# from privately scaled rows `bayes` predicts inside so many released scales from the centre of each column
MIDDLE: Final = 3.0


@dataclass(frozen=True, slots=True)
class PenaltySpec:
    """A penalty as it was asked for; only `elastic-net` has an `l1_ratio`.

    The strength is a positive number, `criterion` for one chosen from the release, or none where the penalty takes
    none.
    """

    penalty: Penalty
    strength: float | Criterion | None
    l1_ratio: float | None

    @property
    def l1_share(self) -> float:
        """Share of the absolute values in the penalty: 0 is ridge, 1 is lasso."""
        if self.l1_ratio is not None:
            return self.l1_ratio
        return 1.0 if self.penalty == "lasso" else 0.0


def checked_spec(penalty: object, strength: object, l1_ratio: object) -> PenaltySpec:
    """Check a penalty, its strength and its share of L1 against each other.

    >>> checked_spec("lasso", 1, None)
    PenaltySpec(penalty='lasso', strength=1.0, l1_ratio=None)
    """
    name = checked_name(penalty, PENALTIES)
    ratio = checked_ratio(name, l1_ratio)
    if name in WITH_STRENGTH:
        chosen = isinstance(strength, str) and strength == "criterion"
        return PenaltySpec(name, "criterion" if chosen else checked_strength(name, strength), ratio)
    if strength is not None:
        raise SpecError(
            f"got strength {shown(strength)} with penalty {name!r}; only {', '.join(WITH_STRENGTH)} take a strength; "
            "leave it out"
        )
    return PenaltySpec(name, None, ratio)


def checked_name(penalty: object, allowed: tuple[Penalty, ...]) -> Penalty:
    """Check the name of a penalty."""
    for name in allowed:
        if isinstance(penalty, str) and name == penalty:
            return name
    raise SpecError.unknown_name("penalty", penalty, allowed)


def checked_ratio(penalty: Penalty, l1_ratio: object) -> float | None:
    """Check that `elastic-net`, and nothing else, has a share of L1 between 0 and 1."""
    if penalty != "elastic-net":
        if l1_ratio is not None:
            raise SpecError(
                f"got l1_ratio {shown(l1_ratio)} with penalty {shown(penalty)}; only 'elastic-net' takes an l1_ratio; "
                "leave it out"
            )
        return None
    value = _number(l1_ratio)
    if value is None or not 0 <= value <= 1:
        raise SpecError(
            f"l1_ratio is {shown(l1_ratio)}; penalty 'elastic-net' needs a number from 0 (ridge) to 1 (lasso), "
            "such as 0.5 (--l1-ratio 0.5)"
        )
    return value


def checked_strength(penalty: Penalty, strength: object) -> float:
    """Check that a strength is a positive number."""
    value = _number(strength)
    if value is None:
        given = "missing" if strength is None else shown(strength)
        raise SpecError(
            f"strength is {given}; penalty {shown(penalty)} needs a positive number such as 0.1 "
            '(--strength 0.1), or, in fit, "criterion" (--strength criterion) to have it chosen from the release'
        )
    # beyond the limit every slope is 0 anyway, and strength times rows would leave double precision
    if not 0 < value <= LARGEST_STRENGTH:
        raise SpecError(
            f"strength is {shown(strength)}; it must be positive and at most {LARGEST_STRENGTH:g}; "
            'for no penalty use the penalty "none" (--penalty none)'
        )
    return value


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float | np.integer | np.floating):
        return None
    try:
        return float(given)
    except OverflowError:
        return math.inf
