"""An exact loss is covered if it is no larger than the claim."""

from __future__ import annotations

import pytest

from discreet.audit.runs import ExactLoss


@pytest.mark.parametrize(("value", "covered"), [(0.9, True), (1.0, True), (1.0 + 2**-52, False)])
def test_an_exact_loss_is_compared_without_tolerance(value, covered):
    assert ExactLoss("pair", "epsilon", value, 1.0).covered == covered
