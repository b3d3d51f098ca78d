"""Pages of releases by other mechanisms: coefficients alone, sums left out, other laws of the noise."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import pytest

from discreet.analyst.model import fit
from discreet.design.model import Design
from discreet.pages.page import render
from discreet.pages.provenance import provenance
from discreet.pages.trace import coefficient_traces
from discreet.pages.view import report_view
from discreet.privacy.guarantee import Guarantee
from discreet.releases import BLOCKS, Coefficients, NoiseLaw, Release
from discreet.releases.law import CALIBRATIONS, FAMILIES
from discreet.testing.not_private import seeded_release
from support.page_reading import Reader
from support.report_cases import PROMISE, example, table

PARAMETERS = {"k-norm": {"dimension": 15}, "wishart": {"degrees": 40}}


def inside(*, intercept: bool = True, trace: bool = True, numerics: str = "idealised") -> Release:
    """The coefficients of y on a, b and c, with a promise."""
    plain = example()
    design = Design("y", plain.design.columns, intercept=intercept)
    values = (0.125 if intercept else 0.0, 0.5, -0.25, 0.0)
    steps = tuple(tuple(share * value for value in values) for share in (0.25, 0.5, 1.0)) if trace else ()
    return replace(
        plain, design=design, mechanism="steps", mechanism_version="1", totals=(),
        coefficients=Coefficients(values, steps),
        noise=NoiseLaw(16, {"score": 2**35, "first_sum": 2**33}, "composed", "discrete-laplace"),
        settings={"passes": 3, "averaged": True, "rate": 0.5, "loss": "huber"}, numerics=numerics,
    )  # fmt: skip


def page_of(release: Release, **spec: object) -> str:
    return render(report_view(release, fit(release, **spec)))


def words(page: str) -> str:
    """The text of a page on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_a_page_of_coefficients_promises_shows_and_explains_and_has_no_interval() -> None:
    page = page_of(inside())
    reader = Reader().read(page)
    text = words(page)
    assert {"promise", "attacker", "coefficients", "forest", "trace", "diagnostics", "provenance", "usage"} <= set(
        reader.ids
    )
    assert "Largest power of a 5% test" in text.replace("\N{NO-BREAK SPACE}", " ")
    assert "No standard errors, intervals or p-values: the mechanism 'steps' publishes coefficients and no sums" in text
    assert "what privacy adds" not in text, "the legend of intervals"
    assert "std. error" not in text
    assert "not released" in text
    assert "idealised: the proof is for real numbers" in text
    assert "steps, version 1; it publishes the coefficients of one model" in text
    assert "several pieces, added up by an accountant" in text
    assert "discrete Laplace: each number has independent noise" in text
    assert "Setting averaged yes Setting loss huber Setting passes 3 Setting rate 0.5" in text
    assert "Noise inside the mechanism, by statistic" in text
    assert "first sum" in text
    assert "after each of the 3 iterations" in text
    assert "Another model needs another release" in text
    assert "fit.conf_int" not in text
    assert "D012" in text
    assert "D013" in text
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)


def test_the_view_of_coefficients_is_plain_and_complete() -> None:
    release = inside()
    model = fit(release)
    view = report_view(release, model)
    json.dumps(view.to_dict(), allow_nan=False)
    assert (view.rows, view.rows_sd) == (None, 0.0)
    assert [row.estimate for row in view.coefficients] == list(model.params.values())
    assert all(row.std_error is row.low is row.p is None for row in view.coefficients)
    assert [effect.estimate for effect in view.effects] == pytest.approx([0.5, -0.25, 0.0])
    assert all(effect.low is None for effect in view.effects)
    assert [way.name for way in view.trace] == ["Intercept", "a", "b", "c"]
    assert view.trace[1].values == (0.125, 0.25, 0.5)
    assert {line.block: line.sd for line in view.provenance.noise} == {
        "first sum": release.noise.sd("first_sum"), "score": release.noise.sd("score"),
    }  # fmt: skip
    assert {line.per_row for line in view.provenance.noise} == {None}


def test_noise_that_was_added_to_the_coefficients_is_shown_with_what_it_does_not_cover() -> None:
    release = replace(inside(trace=False), noise=NoiseLaw(16, {"coefficients": 2**28}, "gaussian"))
    model = fit(release)
    view = report_view(release, model, level=0.9)
    assert {row.name: row.privacy_sd for row in view.coefficients} == dict(model.privacy_sd)
    assert {row.name: (row.table_low, row.table_high) for row in view.coefficients} == {
        name: tuple(ends) for name, ends in model.table_conf_int(0.9).items()
    }
    assert all(row.std_error is row.low is row.p is None for row in view.coefficients)
    widths = [1.0, 1.0, 1.0]
    for effect, row, width in zip(view.effects, view.coefficients[1:], widths, strict=True):
        assert (effect.table_low, effect.table_high) == pytest.approx((row.table_low * width, row.table_high * width))
        assert effect.low is effect.high is None
    text = words(render(view)).replace("\N{NO-BREAK SPACE}", " ")
    assert "with 90% intervals for this table" in text
    assert "privacy noise, without sampling error" in text
    assert "what sampling alone would leave open" not in text
    assert "No standard errors, p-values or intervals for a population: the mechanism 'steps' publishes" in text
    assert "privacy sd 90% interval, this table" in text
    assert "They count no sampling error and are not intervals for a population." in text
    assert text.count("no sampling error") == 1, "said once, beside the numbers"
    assert "interval, this table" not in words(page_of(inside()))


@pytest.mark.parametrize(
    ("mechanism", "settings", "parameters", "told"),
    [
        ("steps", {"iterations": 0, "passes": 0}, {}, (("iterations", "0 (here 3)"), ("passes", "0"))),
        ("steps", {"iterations": 3}, {}, (("iterations", "3"),)),
        ("cells", {"bins": 0, "bound": 0.0}, {"bins": 12, "cells": 144}, (("bins", "0 (here 12)"), ("bound", "0"))),
        ("pull", {"strength": 0.0}, {"strength": 5 * 2**31}, (("strength", "0 (here 2.5)"),)),
        ("pull", {"strength": 7.0}, {"strength": 7 * 2**32}, (("strength", "7"),)),
    ],
)  # fmt: skip
def test_what_an_automatic_setting_stood_for_is_told(
    mechanism: str, settings: dict[str, float], parameters: dict[str, int], told: tuple[tuple[str, str], ...]
) -> None:
    made = inside()
    release = replace(made, mechanism=mechanism, settings=settings, noise=replace(made.noise, parameters=parameters))
    assert provenance(release).settings == told
    here = [f"{name} {text}" for name, text in told if "here" in text]
    line = report_view(release, fit(release)).model.penalty
    assert line == ", ".join([f"as the mechanism {mechanism!r} fitted it, before the release", *here])
    summary = " ".join(fit(release).summary().split())
    assert all(words in summary for words in here)


def test_no_off_switch_is_taken_for_an_automatic_setting() -> None:
    assert provenance(replace(inside(), settings={"iterations": False})).settings == (("iterations", "no"),)


def test_ways_are_drawn_inside_their_box_and_only_where_they_were_published() -> None:
    for way in coefficient_traces(inside(intercept=False)):
        indices = [tuple(map(float, pair.split(","))) for pair in way.points.split()]
        assert len(indices) == 3
        assert all(0 <= x <= 180 and 0 <= y <= 28 for x, y in indices)
    assert [way.name for way in coefficient_traces(inside(intercept=False))] == ["a", "b", "c"]
    assert coefficient_traces(inside(trace=False)) == coefficient_traces(example()) == ()
    assert 'id="trace"' not in page_of(inside(trace=False))


def test_exact_arithmetic_and_a_public_count_are_said_too() -> None:
    release = inside(numerics="exact")
    design = Design("y", release.design.columns, unit={"neighbours": "replace"})
    public = replace(release, design=design, guarantee=replace(PROMISE, unit=design.unit), units_public=4000)
    text = words(page_of(public))
    assert "exact: noise and sums are integers" in text
    assert "rows 4,000" in text
    assert "D012" not in text
    lines = {line.block: line.per_row for line in provenance(public).noise}
    assert lines["score"] == public.noise.sd("score") / 4000


@pytest.mark.parametrize("absent", [("target_square",), ("target_square", "sum_x", "sum_y")], ids=str)
def test_a_page_of_sums_left_out_says_so_and_no_nan_leaks(absent: tuple[str, ...]) -> None:
    names = ("y", "a", "b", "c")
    design = Design("y", dict.fromkeys(names, (-1, 1)), intercept="sum_x" not in absent)
    whole = seeded_release(table(names, 4000), design, seed=1, epsilon=4.0, delta=1e-6)
    sigma = {block: scale for block, scale in whole.noise.sigma.items() if block not in absent}
    kept = NoiseLaw(16, {block: int(block in sigma) for block in BLOCKS}, "none").steps(len(whole.columns))
    release = replace(
        whole,
        noise=replace(whole.noise, sigma=sigma, calibration="gaussian"),
        totals=tuple(total if keep else None for total, keep in zip(whole.totals, kept, strict=True)),
        guarantee=PROMISE,
    )
    for spec in ({}, {"penalty": "adaptive"}):
        page = page_of(release, **spec)
        text = words(page)
        assert "No standard errors, intervals or p-values: the release holds no sum of squares of the target" in text
        assert not re.search(r"\bnan\b", text, re.IGNORECASE)
        assert "square of the target" not in [line.block for line in provenance(release).noise]
        json.dumps(report_view(release, fit(release, **spec)).to_dict(), allow_nan=False)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_every_law_and_calibration_has_its_words(family: str, calibration: str) -> None:
    plain = example()
    law = replace(plain.noise, family=family, calibration=calibration, parameters=PARAMETERS.get(family, {}))
    release = replace(plain, noise=law)
    made = provenance(release)
    assert family.split("-")[-1] in made.family.lower().replace("k-norm", "norm")
    assert ("independent noise" in made.family) == (family in ("discrete-gaussian", "discrete-laplace"))
    assert made.calibration
    lines = {line.block: line.sd for line in made.noise}
    assert lines["number of rows"] == law.sd("count")
    assert lines["regressors times target"] == law.sd("cross")


def test_a_mean_that_was_left_in_is_said() -> None:
    law = replace(example().noise, family="wishart", parameters={"degrees": 40})
    release = replace(example(), noise=law, settings={"debiased": False})
    assert "its mean left in" in provenance(release).family
    assert "less its mean" in provenance(replace(release, settings={"debiased": True})).family


def test_a_promise_without_delta_is_told_without_one() -> None:
    release = replace(inside(), guarantee=Guarantee(1.0, 0.0, PROMISE.unit, ()))
    text = words(page_of(release))
    assert "except with a probability" not in text
