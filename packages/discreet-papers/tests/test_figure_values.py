"""The verdict on a figure is the worst of its criteria."""

import pytest

from discreet_papers.figure import Criterion, Outcome, verdict_of

DIFFERS = Criterion("a", "a < b", lambda numbers: Outcome(True, ""), "differs", "")
REFUTED = Criterion("b", "b < c", lambda numbers: Outcome(True, ""), "refuted", "")


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (True, True, "reproduced"),
        (False, True, "differs"),
        (True, False, "refuted"),
        (False, False, "refuted"),
        (None, True, "not run"),
        (None, False, "refuted"),
        (False, None, "differs"),
    ],
)
def test_the_worst_criterion_decides(first, second, verdict):
    assert verdict_of([(DIFFERS, Outcome(first, "")), (REFUTED, Outcome(second, ""))]) == verdict
