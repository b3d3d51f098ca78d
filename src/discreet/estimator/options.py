"""What an estimator fits to its release, checked before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from discreet.analyst.model import Fit, fit
from discreet.analyst.values.not_estimable import REMEDY
from discreet.design.model import Design
from discreet.errors import SpecError, shown
from discreet.releases import BLOCKS, NoiseLaw, Release

FIT_OPTIONS: Final = ("penalty", "strength", "l1_ratio")


def fit_options(given: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """How a release of moments is fitted: the best predictor where no penalty is named. Coefficients take none.

    >>> fit_options({"penalty": None, "strength": None, "l1_ratio": None}, "moments")["penalty"]
    'bayes'
    """
    if kind != "moments":
        return {}
    return {name: given[name] for name in FIT_OPTIONS} | {
        "penalty": REMEDY if given["penalty"] is None else given["penalty"]
    }


def check_fit_options(given: Mapping[str, Any]) -> None:
    """Refuse what no release can be fitted with."""
    for name in ("strength", "l1_ratio"):
        if given["penalty"] is None and given[name] is not None:
            raise SpecError(
                f"got {name}={shown(given[name])} without a penalty; name the one it belongs to, such as "
                "penalty='elastic-net', or leave it out"
            )
    _tried(given, Design("y", {"y": (-1, 1), "x": (-1, 1)}), None)


def check_formula(formula: str | None, given: Mapping[str, Any], design: Design) -> None:
    """Refuse a model that a release of this design will not have."""
    if formula is None:
        return
    model = _tried(given, design, formula)
    if model.target != design.target:
        raise SpecError(
            f"the formula explains {model.target!r}, but y is {design.target!r}; write {design.target} ~ ..."
        )


def check_kind(formula: str | None, penalty: object, kind: str, mechanism: str) -> None:
    """Refuse a penalty, and a formula, for a mechanism that fits its model by itself."""
    if kind == "moments":
        return
    if formula is not None:
        raise SpecError(
            f"got formula={shown(formula)}, but the mechanism {mechanism!r} publishes the coefficients of one model "
            'on all columns; leave the formula out, or fit with mechanism="gaussian"'
        )
    if penalty not in (None, "none"):
        raise SpecError(
            f"got penalty={shown(penalty)}, but the mechanism {mechanism!r} publishes the coefficients of one "
            'model and leaves nothing to penalise; leave the penalty out, or fit with mechanism="gaussian", which '
            "publishes moments: any penalty can be fitted to them, at no further cost, and they have intervals"
        )


def _tried(given: Mapping[str, Any], design: Design, formula: str | None) -> Fit:
    """Fit a made-up release of moments, as a refusal after the spend would come too late."""
    size = len(design.released)
    totals = tuple((4**9 if i == j else 0) for i in range(size) for j in range(i, size))
    law = NoiseLaw(8, dict.fromkeys(BLOCKS, 0), "none")
    stand_in = Release(design, None, "none", "0", law, totals, None, "untracked", "a stand-in")
    return fit(stand_in, formula, **fit_options(given, "moments"))
