"""The picture has a panel for each budget, with every line named."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from discreet.audit.judging import Claim
from discreet.audit.membership_result import (
    NOT_PRIVATE,
    Attack,
    MembershipResult,
    certain,
    measured,
    membership_figure,
    thresholds,
)
from discreet.errors import SpecError


def result(*claims):
    rng = np.random.default_rng(5)
    roc = measured(rng.normal(0.5, 1, 500), rng.normal(-0.5, 1, 500), thresholds(1.0), 0.01)
    bare = [Attack(NOT_PRIVATE, row, None, None, 3, certain(known=True), 0) for row in ("worst row", "typical row")]
    made = [
        Attack(f"gaussian, epsilon {claim.epsilon:g}", row, claim, 1.0, None, roc, 500)
        for claim in claims
        for row in ("worst row", "typical row")
    ]
    return MembershipResult((*bare, *made), "census2000", 0.99, 1.0)


def test_every_line_is_named_in_its_panel():
    picture = membership_figure(result(Claim(1.0, 1e-6, 1.0), Claim(4.0)))
    assert [axes.get_title() for axes in picture.axes] == ["epsilon 1, delta 1e-6", "epsilon 4"]
    for axes, curve in zip(picture.axes, (True, False), strict=True):
        lines = {line.get_gid(): line.get_color() for line in axes.lines if line.get_gid()}
        names = {text.get_text(): text.get_color() for text in axes.texts}
        assert names == lines
        assert NOT_PRIVATE in names
        assert ("the mechanism's curve allows" in names) is curve
        assert len(set(names.values())) == len(names)


def test_no_budget_leaves_an_empty_picture():
    assert len(membership_figure(result()).axes) == 1


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SpecError, match=r"pip install 'discreet\[plots\]'"):
        membership_figure(result())
