"""How many passes there are and what each may spend."""

from __future__ import annotations

import pytest

from discreet.accounting.privacy_loss import PURE_ITERATIONS, USUAL_ITERATIONS, iteration_count, split
from discreet.privacy.textbook import advanced_composition


def test_passes_are_those_asked_for_or_the_usual_ones():
    assert iteration_count({"iterations": 7, "form": "score"}) == 7
    for form, usual in USUAL_ITERATIONS.items():
        assert iteration_count({"iterations": 0, "form": form}) == usual
    assert iteration_count({"iterations": 0, "form": "score"}, pure=True) == PURE_ITERATIONS


@pytest.mark.parametrize("releases", [2, 50])
def test_parts_add_up_to_the_budget_and_not_to_much_less(releases):
    each, delta = split("basic", 1.0, 1e-6, releases)
    assert 0.999 < each * releases <= 1
    assert delta * releases <= 1e-6
    each, delta = split("advanced", 1.0, 1e-6, releases)
    together, _ = advanced_composition(each, 0.0, releases, 5e-7)
    assert 0.999 < together <= 1
    assert delta * releases <= 5e-7
