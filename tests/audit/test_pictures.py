"""The picture shows every case, its claim and its verdict."""

from __future__ import annotations

import sys

import pytest

from discreet.audit.audit_result import AuditedCase, AuditResult, audit_figure
from discreet.audit.judging import Claim, Judgement
from discreet.errors import SpecError


def result(*epsilons):
    cases = [
        AuditedCase(f"m{k}", "p", Judgement(Claim(1.0), e, None, None, None), (), (), 100, 0.1)
        for k, e in enumerate(epsilons)
    ]
    return AuditResult(tuple(cases), 0.99)


def test_bars_end_at_what_is_certified_and_a_violation_looks_different():
    picture = audit_figure(result(0.5, 1.5))
    (axes,) = picture.axes
    bars = sorted(axes.patches, key=lambda bar: -bar.get_y())
    assert [bar.get_width() for bar in bars] == [0.5, 1.5]
    assert bars[0].get_facecolor() != bars[1].get_facecolor()
    assert [bar.get_hatch() for bar in bars] == ["", "//"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["m1", "m0"]
    assert "not a proof" in axes.get_title()


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SpecError, match=r"pip install 'discreet\[plots\]'"):
        audit_figure(result(0.5))
