"""What a spend hook is given and what it gives back."""

from __future__ import annotations

from discreet.privacy.budget import PrivacyBudget, PrivacyUnit
from discreet.privacy.spend import Loss, SpendHook, SpendReceipt, SpendRequest, untracked


def test_without_a_ledger_every_spend_passes_and_says_so():
    request = SpendRequest("gaussian", PrivacyBudget(1.0, 1e-6), PrivacyUnit(), "income on age")
    hook: SpendHook = untracked
    assert hook(request=request) == SpendReceipt(anchor="untracked")


def test_a_request_without_a_loss_costs_what_its_budget_says():
    pure = SpendRequest("laplace", PrivacyBudget(0.5), PrivacyUnit(), "income on age")
    assert pure.loss == Loss.pure(0.5)
    both = SpendRequest("wishart", PrivacyBudget(0.5, 1e-7), PrivacyUnit(), "income on age")
    assert both.loss == Loss.approximate(0.5, 1e-7)
    given = Loss.gaussian(0.5, 1e-7, mu=0.1, tau=0.0)
    assert SpendRequest("gaussian", PrivacyBudget(0.5, 1e-7), PrivacyUnit(), "income", given).loss is given
