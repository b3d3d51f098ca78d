"""A list with one odd entry: the primitives refuse it in their own words, or read it by itself."""

from __future__ import annotations

import traceback
from fractions import Fraction

import numpy as np
import pytest

from discreet import primitives
from discreet.errors import DataError
from discreet.primitives.arguments import data_floats, data_fractions
from support.odd_cells import MARK, ODD_CELLS

CALLS = {
    "private_mean": lambda values: primitives.private_mean(values, (0, 1), 1.0),
    "laplace": lambda values: primitives.laplace(values, [1.0, 1.0, 1.0], epsilon=1.0),
    "discrete_laplace": lambda values: primitives.discrete_laplace(values, 1, 1.0),
    "gaussian": lambda values: primitives.gaussian(values, 1.0, epsilon=1.0, delta=1e-6),
    "report_noisy_max": lambda values: primitives.report_noisy_max(values, 1.0, 1.0),
    "exponential_mechanism": lambda values: primitives.exponential_mechanism(["a", "b", "c"], values, 1.0, 1.0),
    "counting_queries": lambda values: primitives.counting_queries(values, 1.0),
    "randomised_response": lambda values: primitives.randomised_response(values, q=0.5),
}
# subclasses of numbers are read by the number that they are, whatever their own methods raise
OWN_INTEGERS = {"closing integer"}
OWN_NUMBERS = OWN_INTEGERS | {"evil float", "quitting float", "ending float"}
WHOLE = {"integer", "small integer", "beyond 2**63", "huge integer"}
EXACT = WHOLE | {"float16", "float32", "longdouble", "huge longdouble", "longest double", "Fraction", "huge Fraction"}
READ = {
    "private_mean": EXACT - {"huge integer", "huge longdouble", "huge Fraction"} | {"True"},
    "discrete_laplace": WHOLE | OWN_INTEGERS,
    "counting_queries": WHOLE | OWN_INTEGERS,
    "randomised_response": {"integer", "small integer", "True", "NumPy true"} | OWN_INTEGERS,
}


@pytest.mark.parametrize("name", CALLS)
def test_an_odd_entry_is_refused_without_a_word_about_it_or_read_by_itself(name):
    for kind, odd in ODD_CELLS.items():
        if kind in READ.get(name, EXACT | OWN_NUMBERS):
            CALLS[name]([1, odd, 0])
            continue
        with pytest.raises(DataError) as caught:
            CALLS[name]([1, odd, 0])
        assert MARK not in "".join(traceback.format_exception(caught.value)), kind
        assert caught.value.__context__ is None, kind


def test_an_entry_does_not_change_how_another_is_read():
    values = [0.1, np.float32(0.1), 2**60 + 1, np.float16(0.1)]
    for odd in (0.5, np.float32(0.5), 1, 2**70):
        assert data_fractions("values", [*values, odd])[:4] == data_fractions("values", values)
        assert data_floats("values", [*values, odd])[:4].tolist() == data_floats("values", values).tolist()


class InterruptedFraction(Fraction):
    """A value at which the user presses Ctrl-C."""

    def __float__(self):
        raise KeyboardInterrupt

    @property
    def numerator(self):
        raise KeyboardInterrupt


def test_an_interrupt_while_a_value_is_read_is_the_user_s():
    for read in (data_fractions, data_floats):
        with pytest.raises(KeyboardInterrupt):
            read("values", [InterruptedFraction(1, 2)])
