"""Releases and the diagnostics found in them."""

from __future__ import annotations

import numpy as np

from discreet.analyst.diagnostics import Diagnostic, findings
from discreet.design.design import Design
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.guarantee import Guarantee
from discreet.releases import Release
from support.made_releases import made

ROWS = 400
PROMISE = Guarantee(1.0, 1e-6, PrivacyUnit(), ())


def table(seed: int = 1, rows: int = ROWS, *, twin: float = 1.0) -> dict[str, list[object]]:
    """Columns x and z in [-1, 1], z a mixture of x and something else, and a target."""
    random = np.random.default_rng(seed)
    x, other = random.uniform(-0.9, 0.9, (2, rows))
    z = (1 - twin) * x + twin * other
    y = 0.3 * x + 0.2 * z + random.uniform(-0.2, 0.2, rows)
    return {"y": y.tolist(), "x": x.tolist(), "z": z.tolist()}


def release(columns=None, *, design: Design | None = None, sigma: float = 0.5, guarantee=PROMISE, **more) -> Release:
    chosen = design or Design("y", {"y": (-1, 1), "x": (-1, 1), "z": (-1, 1)})
    return made(chosen, columns or table(), sigma=sigma, guarantee=guarantee, **more).release


def found(number: str, *arguments, **more) -> Diagnostic | None:
    return next((finding for finding in findings(*arguments, **more) if finding.number == number), None)


def piled(side: int, *, inside: float = 0.02) -> dict[str, list[object]]:
    """The table with nearly every target at one of its bounds, as clipping leaves it."""
    columns = table()
    keep = int(inside * ROWS)
    columns["y"] = [*columns["y"][:keep], *([float(side)] * (ROWS - keep))]
    return columns
