"""What a spend hook is given and what it gives back."""

from __future__ import annotations

from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.spend import SpendHook, SpendReceipt, SpendRequest, untracked
from discreet.privacy.unit import PrivacyUnit


def test_without_a_ledger_every_spend_passes_and_says_so():
    request = SpendRequest("gaussian", PrivacyBudget(1.0, 1e-6), PrivacyUnit(), "income on age")
    hook: SpendHook = untracked
    assert hook(request=request) == SpendReceipt(anchor="untracked")
