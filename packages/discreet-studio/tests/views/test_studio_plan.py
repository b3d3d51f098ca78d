"""A plan from declarations alone: widths, attackers, bounds, mechanisms, and bad input beside its field."""

from __future__ import annotations

import html
import re

import pytest

import discreet
from discreet_studio.views import expected_results
from discreet_studio.views.release_settings import OPTIONS, ROBUST
from support.studio_client import DESIGN, Browser, errors, hidden


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    return Browser(tmp_path_factory.mktemp("plan")).declared()


# what the studio supposes where a field is blank
CAUTIOUS = {"spread": 0.2, "rsquared": 0.1}
GOOD = {"rows": "30,000", "epsilon": "1", "delta": "1e-6", "by": "epsilon"}


def test_what_is_expected_is_what_the_library_says(browser):
    text = browser.post("/plan", GOOD).text
    made = discreet.plan(DESIGN, rows=30_000, epsilon=1.0, delta=1e-6, **CAUTIOUS)
    for one in made.coefficients:
        assert f"<td>{one.width:.4g}</td>" in text or f"<td>{one.width:,.0f}</td>" in text
    assert "What an attacker could learn" in text
    assert text.count("<svg") == 1


def test_bounds_that_cost_most_are_shown_where_the_noise_depends_on_them(browser):
    assert "Which bounds cost most" not in browser.post("/plan", GOOD).text
    assert "Which bounds cost most" in browser.post("/plan", GOOD | {"mechanism": "gaussian"}).text


def test_what_is_supposed_stands_beside_the_chart(browser):
    text = browser.post("/plan", GOOD).text
    assert "is <strong>0.2</strong> times half the width of its bounds, and" in text
    assert "<strong>10%</strong> of the variance" in text
    assert "<details open>\n<summary>Assumptions" in text
    stated = browser.post("/plan/live", GOOD | {"spread": "0.4", "rsquared": "0.25", "sd:age": "9"}).text
    assert "is <strong>0.4</strong> times half the width of its bounds, except where you state it (age)" in stated
    assert "<strong>25%</strong> of the variance" in stated


def test_the_live_part_is_a_part(browser):
    answer = browser.post("/plan/live", GOOD | {"epsilon": "2"})
    assert "<html" not in answer.text
    assert "epsilon 2" in answer.text
    assert browser.space.state.plan["epsilon"] == "2"
    refused = browser.post("/plan/live", GOOD | {"epsilon": "much"})
    assert "expected a number" in refused.text


@pytest.mark.no_cover
@pytest.mark.parametrize(("field", "value"), [
    ("rows", ""), ("rows", "-5"), ("rows", "many"), ("epsilon", "0"), ("epsilon", "-1"), ("epsilon", "50"),
    ("epsilon", "x"), ("delta", "2"), ("delta", "-1"), ("delta", "?"), ("level", "10"), ("level", "100"),
    ("rsquared", "2"), ("spread", "-1"), ("correlation", "5"),
])  # fmt: skip
def test_bad_input_is_refused_beside_its_field(browser, field, value):
    answer = browser.post("/plan", GOOD | {field: value})
    assert answer.status_code == 422
    assert len(errors(answer.text)) == 1
    assert f'id="{field}-error"' in answer.text


def test_every_option_of_a_release_has_a_field_and_its_error_is_beside_it(browser):
    text = html.unescape(browser.get("/plan").text)
    for name, one in (OPTIONS | ROBUST).items():
        assert one.label in text
        assert one.help in text
        assert f'name="{name}"' in text
    answer = browser.post("/plan", GOOD | {"grid_bits": "27"})
    assert answer.status_code == 422
    assert 'id="grid_bits-error"' in answer.text
    # what depends on the mechanism is known only with the design
    answer = browser.post("/plan", GOOD | {"mechanism": "refined", "clip_counts": "yes"})
    assert 'id="clip_counts-error">“Clip counts” on the plan page needs one of' in answer.text
    planned = browser.post("/plan", GOOD | {"clip_counts": "yes", "guard": "yes"}).text
    made = discreet.plan(DESIGN, rows=30_000, epsilon=1.0, delta=1e-6, clip_counts=True, guard=True, **CAUTIOUS)
    assert f"<td>{made.coefficients[1].width:.4g}</td>" in planned


def test_a_mechanism_that_is_not_there(browser):
    answer = browser.post("/plan", GOOD | {"mechanism": "magic"})
    assert 'id="mechanism-error"' in answer.text


@pytest.mark.parametrize(("field", "place"), [("mean:age", "mean1"), ("sd:age", "sd1"), ("share:region", "share2")])
def test_an_assumption_that_is_no_number_is_refused_beside_it(browser, field, place):
    answer = browser.post("/plan", GOOD | {field: "much"})
    assert answer.status_code == 422
    assert f'id="{place}-error"' in answer.text


@pytest.mark.parametrize("wrong", [{"mean:age": "500"}, {"share:region": "north=2, south=-1"}])
def test_what_the_library_refuses_is_said(browser, wrong):
    answer = browser.post("/plan", GOOD | wrong)
    assert "Traceback" not in answer.text
    assert 'role="alert"' in answer.text


def test_assumptions_change_the_widths(browser):
    plain = browser.post("/plan", GOOD).text
    narrow = browser.post(
        "/plan", GOOD | {"mean:age": "40", "sd:age": "2", "share:region": "north=0.9, south=0.1"}
    ).text
    assert "mean 40" in narrow
    assert plain != narrow


@pytest.mark.no_cover
def test_by_accuracy(browser, monkeypatch):
    # the second search is like the first
    monkeypatch.setattr(discreet.planning, "smallest_rows", lambda *_, **__: 12345.0)
    browser.post("/plan", GOOD | {"by": "accuracy", "coefficient": "age", "width": "40"})
    text = browser.get("/plan/smallest").text
    assert "12,345" in text
    found = float(hidden(text, "epsilon"))
    width = {
        one.name: one.width
        for one in discreet.plan(DESIGN, rows=30_000, epsilon=found, delta=1e-6, **CAUTIOUS).coefficients
    }
    assert width["age"] == pytest.approx(40, rel=0.02)
    assert browser.post("/plan/epsilon", {"epsilon": str(found)}).status_code == 200
    assert browser.space.state.plan["epsilon"] == f"{found:.4g}"
    browser.post("/plan", GOOD | {"by": "accuracy", "coefficient": "age", "width": "-1"})
    assert "above 0" in browser.get("/plan/smallest").text


def options(text):
    block = text[text.index('id="mechanism"') :]
    return dict(re.findall(r'<option value="([^"]+)"[^>]*>([^<]*)<', block[: block.index("</select>")]))


def test_mechanisms_are_a_choice_of_those_that_fit(browser):
    text = browser.post("/plan", GOOD | {"delta": "0"}).text
    fitting = [one for one in discreet.mechanism_choices(DESIGN, epsilon=1.0) if not one.refusal]
    assert list(options(text)) == ["auto", *(one.name for one in fitting)]
    assert all(html.escape(one.summary) in text.replace("&#39;", "&#x27;") for one in fitting)
    assert "gaussian" not in options(text)
    assert "needs delta above 0" in text
    # one that was chosen before stays in sight, with the reason
    kept = browser.post("/plan", GOOD | {"delta": "0", "mechanism": "gaussian"}).text
    assert options(kept)["gaussian"] == "gaussian: does not fit"
    assert 'id="mechanism-error"' in kept


def test_the_choice_follows_the_budget_while_it_is_typed(browser):
    browser.post("/plan", GOOD)
    assert 'id="choices"' not in browser.post("/plan/live", GOOD | {"rows": "20000"}).text
    changed = browser.post("/plan/live", GOOD | {"delta": "0"}).text
    assert 'id="choices" hx-swap-oob="true"' in changed
    assert "gaussian" not in options(changed)
    assert "gaussian" in options(browser.post("/plan/live", GOOD).text)


def test_mechanisms_and_widths(browser):
    browser.post("/plan", GOOD)
    assert "laplace" in browser.get("/plan/mechanisms").text
    assert "<svg" in browser.get("/plan/widths").text
    assert "What an attacker could learn" in browser.get("/plan/curve").text


@pytest.mark.no_cover
def test_many_columns_are_live_and_drawn_after_the_page(tmp_path):
    browser = Browser(tmp_path)
    names = ["y", *(f"x{number}" for number in range(45))]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n")
    browser.post("/table/read", {"file": "wide.csv"})
    discreet.Design("y", dict.fromkeys(names, (0, 1))).save(tmp_path / "wide.toml")
    browser.post("/design/load", {"design": "wide.toml"})
    text = browser.post("/plan", GOOD | {"rows": "10000000"}).text
    assert "Expected 95% intervals" in text
    assert "<svg" not in text
    assert "<svg" in browser.get("/plan/picture").text
    browser.post("/plan", GOOD | {"rows": "10"})
    assert "no interval width to plot" in browser.get("/plan/picture").text


@pytest.mark.no_cover
def test_more_columns_than_the_limit_are_computed_as_work(browser, monkeypatch):
    monkeypatch.setitem(expected_results.LIVE_COLUMNS, "plan", 2)
    asked = GOOD | {"rows": "31234"}
    assert "Compute it" in browser.post("/plan", asked).text
    browser.post("/plan/compute", {"request": "a"})
    browser.waited(60)
    assert "Expected 95% intervals" in browser.get("/plan").text


def test_without_a_design_it_says_so(tmp_path):
    assert "no design yet" in Browser(tmp_path).get("/plan").text
