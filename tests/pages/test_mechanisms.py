"""Pages of releases by other mechanisms: coefficients alone, sums left out, other distributions of the noise."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from discreet.analyst.model import fit
from discreet.design.design import Design
from discreet.pages.page import render
from discreet.pages.provenance import provenance
from discreet.pages.view import report_view
from discreet.privacy.guarantee import Guarantee
from discreet.releases import BLOCKS, NoiseDistribution
from discreet.testing.not_private import seeded_release
from support.page_reading import Reader
from support.report_cases import PROMISE, table
from support.report_pages import inside, page_of, words


def test_a_page_of_coefficients_promises_shows_and_explains_and_has_no_interval() -> None:
    page = page_of(inside())
    reader = Reader().read(page)
    text = words(page)
    assert {"promise", "attacker", "coefficients", "forest", "trace", "diagnostics", "provenance", "usage"} <= set(
        reader.ids
    )
    assert "Largest power of a 5% test" in text.replace("\N{NO-BREAK SPACE}", " ")
    assert "No standard errors, intervals or p-values: the mechanism 'steps' publishes coefficients but no sums" in text
    assert "what privacy adds" not in text, "the legend of intervals"
    assert "std. error" not in text
    assert "not released" in text
    assert "idealised: the proof is for real numbers" in text
    assert "steps, version 1; it publishes the coefficients of one model" in text
    assert "several mechanisms, composed by an accountant" in text
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
    release = replace(inside(trace=False), noise=NoiseDistribution(16, {"coefficients": 2**28}, "gaussian"))
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
    assert "added by privacy noise" not in text
    assert "No standard errors, p-values or intervals for a population: the mechanism 'steps' publishes" in text
    assert "privacy sd 90% interval, this table" in text
    assert "They include no sampling error and are not intervals for a population." in text
    assert text.count("no sampling error") == 1, "said once, beside the numbers"
    assert "interval, this table" not in words(page_of(inside()))


@pytest.mark.parametrize("absent", [("target_square",), ("target_square", "sum_x", "sum_y")], ids=str)
def test_a_page_of_sums_left_out_says_so_and_no_nan_leaks(absent: tuple[str, ...]) -> None:
    names = ("y", "a", "b", "c")
    design = Design("y", dict.fromkeys(names, (-1, 1)), intercept="sum_x" not in absent)
    whole = seeded_release(table(names, 4000), design, seed=1, epsilon=4.0, delta=1e-6, mechanism="gaussian")
    sigma = {block: scale for block, scale in whole.noise.sigma.items() if block not in absent}
    kept = NoiseDistribution(16, {block: int(block in sigma) for block in BLOCKS}, "none").steps(len(whole.columns))
    release = replace(
        whole,
        noise=replace(whole.noise, sigma=sigma, calibration="gaussian"),
        totals=tuple(total if keep else None for total, keep in zip(whole.totals, kept, strict=True)),
        guarantee=PROMISE,
    )
    for spec in ({}, {"penalty": "adaptive"}):
        page = page_of(release, **spec)
        text = words(page)
        assert "No standard errors, intervals or p-values: the release has no sum of squares of the target" in text
        assert not re.search(r"\bnan\b", text, re.IGNORECASE)
        assert "square of the target" not in [line.block for line in provenance(release).noise]
        json.dumps(report_view(release, fit(release, **spec)).to_dict(), allow_nan=False)


def test_a_promise_without_delta_is_told_without_one() -> None:
    release = replace(inside(), guarantee=Guarantee(1.0, 0.0, PROMISE.unit, ()))
    text = words(page_of(release))
    assert "except with a probability" not in text
