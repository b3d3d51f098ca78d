"""A release of two rows, of sums by `gaussian` or of coefficients."""

from __future__ import annotations

from dataclasses import replace

import discreet
from discreet.planning import noise_distribution_for
from discreet.releases import Coefficients, Release


def a_release(**options) -> Release:
    design = discreet.Design("y", {"x": (0, 1), "b": bool, "g": ["u", "v", "w"], "y": (0, 10)}, **options)
    table = {"x": [0.1, 0.9], "b": [True, False], "g": ["u", "w"], "y": [3.0, 4.0]}
    return discreet.release(table, design, epsilon=1.0, delta=1e-6, mechanism="gaussian")


def fitted_inside(**options) -> Release:
    """A release of the coefficients of one model, as a mechanism of that kind makes it."""
    plain = a_release(**options)
    values = (0.25 if plain.design.intercept else 0.0, 0.5, -0.125, 1e-17, 2.0)
    # its noise depends on the unit alone
    any_columns = discreet.Design("y", {"x": (0, 1), "y": (0, 1)}, unit=plain.design.unit)
    distribution = noise_distribution_for(any_columns, 1.0, 1e-6, mechanism="frank-wolfe", settings={"iterations": 2})
    promise = replace(plain.guarantee, mu=None, mu_gap=None)
    return replace(
        plain, guarantee=promise, mechanism="frank-wolfe", mechanism_version="1", noise=distribution, totals=(),
        coefficients=Coefficients(values, (values, values)),
        settings={"iterations": 2, "radius_l1": 1.0, "residual_bound": 1.0}, numerics="idealised",
    )  # fmt: skip
