"""Pages of releases and what stands in them."""

from __future__ import annotations

import html
import re
from dataclasses import replace

from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.pages.page import render
from discreet.pages.view import report_view
from discreet.releases import Coefficients, NoiseDistribution, Release
from support.report_cases import example


def inside(*, intercept: bool = True, trace: bool = True, numerics: str = "idealised") -> Release:
    """The coefficients of y on a, b and c, with a promise."""
    plain = example()
    design = Design("y", plain.design.columns, intercept=intercept)
    values = (0.125 if intercept else 0.0, 0.5, -0.25, 0.0)
    steps = tuple(tuple(share * value for value in values) for share in (0.25, 0.5, 1.0)) if trace else ()
    return replace(
        plain, design=design, mechanism="steps", mechanism_version="1", totals=(),
        coefficients=Coefficients(values, steps),
        noise=NoiseDistribution(16, {"score": 2**35, "first_sum": 2**33}, "composed", "discrete-laplace"),
        settings={"passes": 3, "averaged": True, "rate": 0.5, "loss": "huber"}, numerics=numerics,
    )  # fmt: skip


def page_of(release: Release, **spec: object) -> str:
    return render(report_view(release, fit(release, **spec)))


def words(page: str) -> str:
    """The text of a page on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
