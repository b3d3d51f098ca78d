"""Public numbers are checked once, in one wording."""

from __future__ import annotations

import pytest

from discreet.errors import SpecError
from discreet.privacy.budget import PrivacyBudget, check_strength


@pytest.mark.parametrize("consent", ["no", 1, None, float("nan")])
def test_consent_to_weak_privacy_is_true_or_false(consent):
    with pytest.raises(SpecError, match="expected true or false, got"):
        check_strength(PrivacyBudget(500.0, 1e-6), allow_weak_privacy=consent)
