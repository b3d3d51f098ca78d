"""A penalty, its strength and its share of L1: what goes together and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.analyst.model import fit
from discreet.analyst.solvers.penalised import LARGEST_STRENGTH, checked_spec
from discreet.errors import SpecError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "laso"}, r"unknown penalty 'laso'; allowed: none, ridge, .* Did you mean 'lasso'"),
        ({"penalty": None}, "unknown penalty None"),
        ({"penalty": ["ridge"]}, "unknown penalty"),
        ({"l1_ratio": 0.5}, "got l1_ratio 0.5 with penalty 'none', but only 'elastic-net' has an l1_ratio"),
        ({"penalty": "lasso", "strength": 0.1, "l1_ratio": 1.0}, "got l1_ratio 1.0 with penalty 'lasso'"),
        ({"penalty": "elastic-net", "strength": 0.1}, "expected a number from 0 .* for l1_ratio, got None"),
        ({"penalty": "elastic-net", "strength": 0.1, "l1_ratio": -0.1}, "from 0 .* to 1 .*, got -0.1"),
        ({"penalty": "elastic-net", "strength": 0.1, "l1_ratio": 1.1}, "for l1_ratio, got 1.1"),
        ({"penalty": "elastic-net", "strength": 0.1, "l1_ratio": math.nan}, "for l1_ratio, got nan"),
        ({"penalty": "elastic-net", "strength": 0.1, "l1_ratio": True}, "for l1_ratio, got True"),
        ({"penalty": "elastic-net", "strength": 0.1, "l1_ratio": "half"}, "for l1_ratio, got 'half'"),
        ({"penalty": "elastic-net", "strength": 0.1, "l1_ratio": 10**400}, "from 0"),
        ({"penalty": "elastic-net", "l1_ratio": 0.5}, "penalty 'elastic-net' needs a strength: a positive"),
        ({"penalty": "lasso"}, "penalty 'lasso' needs a strength: a positive number, or 'criterion'"),
        ({"penalty": "lasso", "strength": 0.0}, "expected a number above 0 and at most 1e"),
        ({"penalty": "lasso", "strength": "critical"}, "for strength, got 'critical'"),
        ({"strength": 0.5}, "with penalty 'none', but only ridge, lasso, elastic-net use a strength; leave strength"),
        ({"strength": "criterion"}, "with penalty 'none', but only ridge"),
        ({"penalty": "adaptive", "strength": 0.5}, "with penalty 'adaptive', but only ridge"),
        ({"penalty": "ridge"}, "penalty 'ridge' needs a strength: a positive number"),
        ({"penalty": "ridge", "strength": "1"}, "for strength, got '1'"),
        ({"penalty": "ridge", "strength": True}, "for strength, got True"),
        ({"penalty": "ridge", "strength": 0}, "expected a number above 0 and at most 1e"),
        ({"penalty": "ridge", "strength": -1.0}, "expected a number above 0 and at most 1e"),
        ({"penalty": "ridge", "strength": math.nan}, "expected a number above 0 and at most 1e"),
        ({"penalty": "ridge", "strength": math.inf}, "expected a number above 0 and at most 1e"),
        ({"penalty": "ridge", "strength": 10**400}, "expected a number above 0 and at most 1e"),
        ({"penalty": "ridge", "strength": 1e308}, "expected a number above 0 and at most 1e"),
        ({"target": "nobody"}, "unknown target"),
    ],
)
def test_options_that_mean_nothing_are_refused(source, options, message):
    with pytest.raises(SpecError, match=message) as caught:
        fit(source.release, **options)
    assert caught.value.exit_code == 2


def test_the_share_of_absolute_values_follows_from_the_name_unless_it_is_given():
    shares = {name: checked_spec(name, 0.1, None).l1_share for name in ("ridge", "lasso")}
    assert shares == {"ridge": 0.0, "lasso": 1.0}
    assert [checked_spec("elastic-net", 0.1, ratio).l1_share for ratio in (0, 0.3, 1)] == [0.0, 0.3, 1.0]
    assert checked_spec("none", None, None).l1_share == 0.0


def test_numbers_of_numpy_are_numbers_and_become_plain_floats():
    spec = checked_spec("elastic-net", np.int64(2), np.float32(0.5))
    assert (spec.strength, spec.l1_ratio) == (2.0, 0.5)
    assert type(spec.strength) is type(spec.l1_ratio) is float
    assert checked_spec("lasso", LARGEST_STRENGTH, None).strength == LARGEST_STRENGTH
    with pytest.raises(SpecError, match="at most 1e"):
        checked_spec("lasso", np.nextafter(LARGEST_STRENGTH, np.inf), None)
