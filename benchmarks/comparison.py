"""Compare a new run with a stored one of the same sizes: which ratios got worse, and which are missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.measuring import Spread

WORSE = 1.3  # times the stored median; also, every repeat must be worse than every stored repeat


def figures(run: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the figures of a run by name."""
    return {one["name"]: one for case in run["cases"] for one in case["figures"]}


def regressions(new: Mapping[str, Any], stored: Mapping[str, Any]) -> list[str]:
    """Describe every regression of a new run. Only ratios are compared, because seconds depend on the machine.

    A ratio has regressed if its median is more than 30% worse than the stored one and every repeat is worse than every
    stored repeat. A stored ratio that is missing from the new run is also a regression.
    """
    if new["profile"] != stored["profile"]:
        raise ValueError(f"expected a run of the profile {stored['profile']}, got one of {new['profile']}")
    now, found = figures(new), []
    for name, before in figures(stored).items():
        if before["bottom"] is None or not before["values"] or name not in now:
            continue
        label, values = before["label"], now[name]["values"]
        if not values:
            found.append(f"{label}: was {_median(before):.3g}, is missing now ({now[name]['gap']})")
            continue
        # for the cost of a baseline relative to ours, smaller is worse
        old, fresh = (_spread(one, inverted=bool(before["least"])) for one in (before, now[name]))
        if fresh.median > WORSE * old.median and fresh.low > old.high:
            found.append(f"{label}: was {_median(before):.3g}, is {_median(now[name]):.3g}")
    return found


def _spread(figure: Mapping[str, Any], *, inverted: bool) -> Spread:
    """Return the repeats of a ratio such that larger is worse."""
    return Spread.of([1 / value for value in figure["values"]] if inverted else figure["values"])


def _median(figure: Mapping[str, Any]) -> float:
    return _spread(figure, inverted=False).median
