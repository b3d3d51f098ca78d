"""A fit as plain text."""

from __future__ import annotations

import html

from discreet.analyst.model import fit
from discreet.analyst.summary import row_count
from discreet.design.design import Design
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
    assert "fraction of the variance that is privacy noise" in flat
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
    weak = made(Design("y", COLUMNS), table(), sigma=3.0).release
    assert "ridge, strength 0.1, ridge " in fit(private, penalty="ridge", strength=0.1).summary()
    strong = made(Design("y", COLUMNS), table(), sigma=1e-6).release
    none, some = (fit(one, penalty="adaptive") for one in (strong, weak))
    assert (none.ridge, some.ridge > 0) == (0.0, True)
    assert "adaptive (the smallest ridge that the noise requires): none needed" in none.summary()
    assert f"the noise requires): ridge {some.ridge:.6g} on the" in " ".join(some.summary().split())
    text = " ".join(fit(private, penalty="bayes").summary().split())
    assert "Penalty: bayes (posterior mean)" in text
    assert "Penalty:  lasso, strength 0.1\n" in fit(private, penalty="lasso", strength=0.1).summary()
    for options in ({"penalty": "bayes"}, {"penalty": "lasso", "strength": 0.1}):
        assert "ridge 0" not in fit(private, **options).summary()


def test_a_notebook_shows_rows_r_squared_and_residual_spread(private, source):
    for one in (private, source.release):
        result = fit(one)
        shown, lines = html.unescape(result._repr_html_()), " ".join(result.summary().split())
        statistics = lines[lines.index("Adjusted R^2") :].split(". Residual")[0]
        assert f"<p>Rows: {row_count(result)}. Penalty: none (ordinary least squares).</p>" in shown
        assert f"<p>{statistics}. Residual standard deviation: {result.s2**0.5:.4g}.</p>" in shown


def test_the_summary_tells_of_shrunk_rows_and_public_counts():
    release = made(Design("y", COLUMNS, radius=2.0), table(), sigma=0.1, units_public=True).release
    text = " ".join(fit(release).summary().split())
    assert "60 (public)" in text
    assert "coefficients describe the shrunk rows" in text
