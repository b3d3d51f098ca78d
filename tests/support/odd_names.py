"""A table whose names have a meaning in Markdown, LaTeX, HTML and spreadsheets."""

from __future__ import annotations

import numpy as np

ODD = {"income_$": (0, 200_000), "age|years": (18, 90), "re<gi&on": ["north", "so^uth"], "=cmd_%": (0, 1)}


def odd_table(rows=600, seed=4):
    rng = np.random.default_rng(seed)
    age, flag = rng.uniform(18, 90, rows), rng.choice(["north", "so^uth"], rows)
    income = 20_000 + 500 * age + 8_000 * (flag == "so^uth") + rng.normal(0, 15_000, rows)
    return {"income_$": income, "age|years": age, "re<gi&on": flag, "=cmd_%": rng.uniform(0, 1, rows)}
