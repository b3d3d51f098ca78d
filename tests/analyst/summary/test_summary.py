"""A fit as plain text."""

from __future__ import annotations

from discreet.analyst.model import fit
from discreet.design.model import Design
from support.fitted_tables import COLUMNS, PROMISE, table
from support.made_releases import made


def test_the_summary_of_a_private_fit_gives_the_promise_and_the_errors(private):
    text = fit(private).summary()
    flat = " ".join(text.split())
    assert PROMISE.sentence() in flat
    assert "NOT PRIVATE" not in text
    assert "(noisy count, standard deviation " in text
    assert "none (ordinary least squares)" in text
    header = next(line for line in text.splitlines() if "coef" in line)
    assert header.split() == ["coef", "std", "err", "t", "p", "[0.025", "0.975]", "privacy"]
    assert "share of the variance due to privacy noise" in flat
    assert "clipped" in text
    assert "radius" not in text
    assert "nan" not in text.lower()
    assert all(len(line) <= 88 for line in text.splitlines())
    for name, value in fit(private).params.items():
        assert any(line.split()[:2] == [name, f"{value:.6g}"] for line in text.splitlines() if line)


def test_the_summary_of_an_exact_fit_says_not_private(source):
    result = fit(source.release)
    assert result.summary().count("NOT PRIVATE") == 2
    assert "Rows:     60\n" in result.summary()
    assert "NOT PRIVATE" in repr(result)


def test_the_summary_names_the_penalty(private):
    assert "ridge, strength 0.1, ridge " in fit(private, penalty="ridge", strength=0.1).summary()
    assert "adaptive, ridge " in fit(private, penalty="adaptive").summary()


def test_the_summary_tells_of_shrunk_rows_and_public_counts():
    release = made(Design("y", COLUMNS, radius=2.0), table(), sigma=0.1, units_public=True).release
    text = " ".join(fit(release).summary().split())
    assert "60 (public)" in text
    assert "coefficients describe the shrunk rows" in text
