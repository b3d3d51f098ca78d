"""A new run beside a stored one of the same sizes: which ratios are worse, and which are no longer there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.measuring import Spread

WORSE = 1.3  # times the stored median, and no repeat as good as the worst stored one


def figures(run: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Figures of a run by name."""
    return {one["name"]: one for case in run["cases"] for one in case["figures"]}


def regressions(new: Mapping[str, Any], stored: Mapping[str, Any]) -> list[str]:
    """What is worse in a new run, in words; ratios alone, as seconds depend on the machine.

    A ratio is worse if its median is more than 30% beyond the stored one and all its repeats are beyond all stored
    ones. A ratio that was stored and is a gap now is worse, too.
    """
    if new["profile"] != stored["profile"]:
        raise ValueError(f"expected a run of the profile {stored['profile']}, got one of {new['profile']}")
    now, found = figures(new), []
    for name, before in figures(stored).items():
        if before["bottom"] is None or not before["values"] or name not in now:
            continue
        label, values = before["label"], now[name]["values"]
        if not values:
            found.append(f"{label}: was {_median(before):.3g}, is a gap now ({now[name]['gap']})")
            continue
        # of a rival over ours, the smaller is the worse
        old, fresh = (_spread(one, inverted=bool(before["least"])) for one in (before, now[name]))
        if fresh.median > WORSE * old.median and fresh.low > old.high:
            found.append(f"{label}: was {_median(before):.3g}, is {_median(now[name]):.3g}")
    return found


def _spread(figure: Mapping[str, Any], *, inverted: bool) -> Spread:
    """Repeats of a ratio, as larger is worse."""
    return Spread.of([1 / value for value in figure["values"]] if inverted else figure["values"])


def _median(figure: Mapping[str, Any]) -> float:
    return _spread(figure, inverted=False).median
