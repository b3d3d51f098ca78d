"""Numbers on which every claim of the technical report holds, to be changed until one does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame

from discreet_papers.dandekar.dandekar_experiment import (
    CORRECTED,
    EXTRACT_BOUNDS,
    NOT_PRIVATE,
    NOT_PRIVATE_PUBLIC,
    OURS,
    VARIANTS,
    WRITTEN,
    ZERO,
)
from discreet_papers.dandekar.dandekar_methods import REGRESSIONS

LOW, HIGH = 0.1, 1.0
PANEL = "simulated-ipums, stand-in for the census"
_PLAIN = {NOT_PRIVATE: 1.0, NOT_PRIVATE_PUBLIC: 1.0, CORRECTED: 1.0, OURS: 1.0, ZERO: 1.1}


def _written(regression: str, epsilon: float, repeat: int) -> float:
    if regression == "DPME":
        return (60.0 if epsilon == LOW else 2.0) + 0.01 * repeat
    # two outliers in ten runs of the elastic net
    if regression == "elastic net" and epsilon == LOW and repeat >= 8:
        return 40.0 + repeat
    spread = 2 if regression == "linear" else 1
    return 3.0 + spread * repeat if epsilon == LOW else 1.02 + 0.004 * spread * repeat


def extract(folder: Path, rows: int = 50) -> Path:
    """Write a small extract with the columns of the report and one unknown income; give the folder."""
    rng = np.random.default_rng(1)
    lines = [",".join(name.upper() for name in EXTRACT_BOUNDS)]
    for _ in range(rows):
        cells = [rng.integers(low, min(high, low + 40) + 1) for low, high in list(EXTRACT_BOUNDS.values())[:-1]]
        lines.append(",".join(map(str, [*cells, rng.integers(0, 90_000)])))
    lines.append(lines[-1].rsplit(",", 1)[0] + ",9999999")
    (folder / "ipums.csv").write_text("\n".join(lines))
    return folder


def claimed_numbers() -> DataFrame:
    """Rows as the cells give them: two budgets, ten runs, every line of every figure."""
    rows: list[dict[str, Any]] = []

    def add(regression: str, line: str, penalty: str, value: Any) -> None:
        for epsilon in (LOW, HIGH):
            for repeat in range(10):
                rows.append(
                    {
                        "panel": PANEL,
                        "regression": regression,
                        "line": line,
                        "penalty": penalty,
                        "epsilon": epsilon,
                        "repeat": repeat,
                        "strength": 1.0,
                        "refused": 0,
                        "value": value(epsilon, repeat),
                    }
                )

    for penalty in ("cv", "n/100"):
        for one in REGRESSIONS:
            add(one, WRITTEN, penalty, lambda epsilon, repeat, one=one: _written(one, epsilon, repeat))
            for line, level in _PLAIN.items():
                add(one, line, penalty, lambda epsilon, repeat, level=level: level + 1e-4 * repeat)
    add("DPME", WRITTEN, "none", lambda epsilon, repeat: _written("DPME", epsilon, repeat))
    add("DPME", CORRECTED, "none", lambda epsilon, repeat: 1.5)
    for name in (*VARIANTS, NOT_PRIVATE, ZERO):
        add("variants", name, "none", lambda epsilon, repeat: 1.0 + 1e-3 * repeat)
    return DataFrame(rows)
