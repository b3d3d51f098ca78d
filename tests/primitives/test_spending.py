"""Every primitive asks before it draws, is recorded as answered, and costs what its distribution says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet import primitives
from discreet.errors import AfterSpendError, BudgetError, LedgerError, SpecError
from discreet.ledger.ledger import Ledger
from discreet.primitives.spending import lattice_loss, spent
from discreet.privacy.budget import PrivacyUnit
from discreet.privacy.gaussian_dp import delta_from
from discreet.privacy.spend import Loss, SpendReceipt, SpendRequest, untracked

CALLS: dict[str, Callable[..., object]] = {
    "counting_queries": lambda **given: primitives.counting_queries([5, 7], 0.5, **given),
    "counting_queries with delta": lambda **given: primitives.counting_queries([5, 7], 0.5, delta=1e-6, **given),
    "gaussian": lambda **given: primitives.gaussian([1.0, 2.0], 1.0, 0.5, 1e-6, **given),
    "discrete_laplace": lambda **given: primitives.discrete_laplace([3], 1, 0.5, **given),
    "laplace": lambda **given: primitives.laplace([3.0], 1.0, epsilon=0.5, **given),
    "private_mean": lambda **given: primitives.private_mean([1.0] * 9, (0, 2), 0.5, **given),
    "report_noisy_max": lambda **given: primitives.report_noisy_max([1, 2], 1, 0.5, **given),
    "exponential_mechanism": lambda **given: primitives.exponential_mechanism(["a", "b"], [1, 2], 1, 0.5, **given),
    "randomised_response": lambda **given: primitives.randomised_response([True], epsilon=0.5, **given),
    "mean under replace": lambda **given: primitives.private_mean(
        [1.0] * 9, (0, 2), 0.5, neighbours="replace", **given
    ),
    "mean by absolute error": lambda **given: primitives.private_mean(
        [1.0] * 9, (0, 2), 0.5, neighbours="replace", method="absolute-error", **given
    ),
    "mean by squared error": lambda **given: primitives.private_mean(
        [1.0] * 9, (0, 2), 0.5, neighbours="replace", method="squared-error", **given
    ),
}
REPLACE = {"randomised_response", "mean under replace", "mean by absolute error", "mean by squared error"}


class Refusing:
    """Keeps what it is asked and refuses."""

    def __init__(self) -> None:
        self.asked: list[SpendRequest] = []

    def __call__(self, request: SpendRequest) -> SpendReceipt:
        self.asked.append(request)
        raise BudgetError("no")


def test_every_primitive_that_draws_is_here():
    named = {name for name in CALLS if name in primitives.__all__}
    # an alias is the same function
    drawing = {getattr(primitives, name).__name__ for name in primitives.__all__ if name.islower()}
    drawing -= {"laplace_epsilon", "laplace_scales"}
    assert named == drawing


@pytest.mark.parametrize("name", CALLS)
def test_a_refused_spend_draws_no_noise(name, monkeypatch):
    import discreet.mechanisms.sampler as coins
    from discreet.mechanisms import sampler

    def draw(*given, **named):
        raise AssertionError("noise was drawn")

    for module, function in ((sampler, "laplace_variates"), (coins, "bernoulli"), (coins, "below")):
        monkeypatch.setattr(module, function, draw)
    monkeypatch.setattr(sampler.ExactSampler, "draw", draw)
    hook = Refusing()
    with pytest.raises(BudgetError):
        CALLS[name](spend=hook)
    (request,) = hook.asked
    assert request.budget.epsilon == 0.5
    assert request.loss.epsilon == 0.5
    assert request.unit == PrivacyUnit(neighbours="replace" if name in REPLACE else "add-remove")
    assert request.specification


@pytest.mark.parametrize("name", CALLS)
def test_a_ledger_counts_a_primitive_once_and_refuses_to_answer_it_again(name, tmp_path):
    ledger = Ledger.create(tmp_path / "books.db")
    unit = PrivacyUnit(neighbours="replace" if name in REPLACE else "add-remove")
    ledger.declare("numbers", epsilon=1.0, delta=1e-5, rule="basic", unit=unit)
    with pytest.raises(SpecError, match="pass request_id="):
        CALLS[name](spend=ledger.account("numbers"))
    account = ledger.account("numbers", "first")
    assert CALLS[name](spend=account)
    assert ledger.status("numbers").spent_epsilon == 0.5
    with pytest.raises(SpecError, match="was completed earlier, and its result was not stored"):
        CALLS[name](spend=account)
    assert CALLS[name](spend=ledger.account("numbers", new_release=True))
    with pytest.raises(BudgetError):
        CALLS[name](spend=ledger.account("numbers", new_release=True))
    assert ledger.status("numbers").waiting == ()


def test_a_request_that_was_cut_off_is_answered_at_no_further_cost(tmp_path):
    ledger = Ledger.create(tmp_path / "books.db")
    ledger.declare("numbers", epsilon=0.5)
    account = ledger.account("numbers", "first")
    with pytest.raises(ZeroDivisionError), spent(account, "laplace", Loss.pure(0.5), "add-remove"):
        raise ZeroDivisionError
    with spent(account, "laplace", Loss.pure(0.5), "add-remove"):
        pass
    assert ledger.status("numbers").requests == 1


def test_of_twins_that_draw_at_the_same_time_one_is_answered(tmp_path):
    ledger = Ledger.create(tmp_path / "books.db")
    ledger.declare("numbers", epsilon=0.5)
    account, both, answered, refused = ledger.account("numbers", "first"), threading.Barrier(2), [], []

    def draw() -> None:
        try:
            with spent(account, "laplace", Loss.pure(0.5), "add-remove"):
                # both have leave to draw, and neither is recorded as answered
                both.wait(30)
            answered.append("noise")
        except AfterSpendError as error:
            refused.append(str(error))

    twins = [threading.Thread(target=draw) for _ in range(2)]
    for twin in twins:
        twin.start()
    for twin in twins:
        twin.join()
    assert answered == ["noise"]
    assert len(refused) == 1
    assert "at the same time" in refused[0]
    assert ledger.status("numbers").requests == 1


def test_an_error_in_the_data_costs_nothing():
    hook = Refusing()
    for call in (
        lambda: primitives.discrete_laplace([1.5], 1, 0.5, spend=hook),
        lambda: primitives.report_noisy_max(["x"], 1, 0.5, spend=hook),
        lambda: primitives.private_mean([None], (0, 1), 0.5, spend=hook),
        lambda: primitives.private_mean([1.0], (0, 1), 1e-9, spend=hook),
        lambda: primitives.counting_queries([-1], 0.5, spend=hook),
    ):
        with pytest.raises((SpecError, ValueError)):
            call()
    assert hook.asked == []


def test_coins_alone_cost_next_to_nothing():
    hook = Refusing()
    with pytest.raises(BudgetError):
        primitives.randomised_response([True], q=0, spend=hook)
    assert hook.asked[0].loss.epsilon == 1e-9


def test_a_hook_that_is_none_is_refused():
    for hook in (None, 5):
        with pytest.raises(SpecError, match="expected a function"):
            primitives.discrete_laplace([3], 1, 0.5, spend=hook)
    for receipt in (None, SpendReceipt("")):
        with pytest.raises(LedgerError, match="must return a SpendReceipt with a nonempty anchor"):
            primitives.discrete_laplace([3], 1, 0.5, spend=lambda request, receipt=receipt: receipt)


def test_a_hook_that_records_nothing_is_enough():
    with spent(untracked, "laplace", Loss.pure(0.5), "add-remove"):
        pass


def test_gaussian_noise_costs_its_own_curve():
    hook = Refusing()
    with pytest.raises(BudgetError):
        CALLS["gaussian"](spend=hook)
    loss = hook.asked[0].loss
    assert delta_from(0.5, loss.mu) <= 1e-6
    assert 0 < loss.tau < 1e-15
    assert loss.failure == 0
    assert lattice_loss(Fraction(1), 10**6, 1, 1.0, 1e-6).tau < 1
    # every number that is drawn has a step to the lattice of its own
    assert lattice_loss(Fraction(1), 3, 10, 1.0, 1e-6).tau == pytest.approx(3 / 1600, rel=1e-9)


def test_values_that_are_rounded_to_a_grid_cost_what_rounding_moves_them():
    hook = Refusing()
    with pytest.raises(BudgetError):
        primitives.gaussian([1.0, 2.0], 1.0, 0.5, 1e-6, step=0.5, spend=hook)
    (request,) = hook.asked
    # two steps of change, and up to half a step at each end of both coordinates
    assert request.loss.mu * int(request.specification["sigma"]) == pytest.approx(2 + 2**0.5, rel=1e-9)
