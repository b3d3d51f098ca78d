"""A cost says before any data what a release then spends and promises."""

from __future__ import annotations

import pytest

import discreet

DESIGN = discreet.Design("y", {"y": (0, 10), "x": (0, 5)})
TABLE = {"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}


@pytest.mark.parametrize("options", [{"delta": 1e-6}, {}, {"delta": 1e-6, "robust": True}])
def test_it_is_what_the_release_spends_and_promises(options):
    asked = []

    def spend(request):
        asked.append(request)
        return discreet.privacy.SpendReceipt("elsewhere:1")

    planned = discreet.cost(DESIGN, epsilon=0.5, **options)
    made = discreet.release(TABLE, DESIGN, epsilon=0.5, spend=spend, **options)
    assert planned.loss == asked[0].loss
    assert planned.guarantee == made.guarantee
    assert planned.mechanism == made.mechanism


def test_the_ledger_takes_its_loss(tmp_path):
    ledger = discreet.Ledger.create(tmp_path / "books.db")
    ledger.declare("trial", epsilon=1.0, delta=1e-6)
    after = ledger.planned("trial", discreet.cost(DESIGN, epsilon=0.5, delta=1e-7).loss)
    assert after is not None
    assert after.spent_epsilon > 0
    assert ledger.planned("trial", discreet.cost(DESIGN, epsilon=5.0, delta=1e-6).loss) is None


def test_the_attacker_learns_less_at_a_smaller_epsilon():
    small, large = (discreet.cost(DESIGN, epsilon=epsilon, delta=1e-6).attacker for epsilon in (0.1, 2.0))
    assert small.power < large.power


@pytest.mark.parametrize("wrong", [{"epsilon": 0}, {"epsilon": 1.0, "delta": 2.0}, {"epsilon": 1.0, "mechanism": "?"}])
def test_bad_input_is_refused(wrong):
    with pytest.raises(discreet.DiscreetError):
        discreet.cost(DESIGN, **wrong)


def test_what_is_no_design_is_refused():
    with pytest.raises(discreet.DiscreetError, match="expected a Design"):
        discreet.cost({"y": (0, 1)}, epsilon=1.0)


def test_choices_refuse_what_a_release_refuses():
    found = {one.name: one for one in discreet.mechanism_choices(DESIGN, epsilon=1.0, delta=0.0)}
    for name, one in found.items():
        if one.refusal:
            with pytest.raises(discreet.DiscreetError) as refused:
                discreet.release(TABLE, DESIGN, epsilon=1.0, mechanism=name)
            assert str(refused.value) == one.refusal
        else:
            assert discreet.cost(DESIGN, epsilon=1.0, mechanism=name).mechanism == name
    assert {"gaussian", "wishart"} <= {name for name, one in found.items() if one.refusal}
    assert not found["laplace"].refusal


@pytest.mark.filterwarnings("error")
def test_choices_are_silent_and_refuse_what_no_mechanism_can_serve():
    robust = discreet.mechanism_choices(DESIGN, epsilon=1.0, delta=1e-6, robust=True)
    assert [one.name for one in robust if not one.refusal] == ["gaussian", "staged"]
    with pytest.raises(discreet.DiscreetError, match="epsilon"):
        discreet.mechanism_choices(DESIGN, epsilon=-1.0)
