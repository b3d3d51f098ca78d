"""The scikit-learn regressor: arrays and tables in, one release, one fit. It has no statistics of its own.

Sees: the rows that `fit` and `predict` are given, as `discreet.release` sees them.
Never: keeps a row; lets a cell decide what is declared, which mechanism runs or what is said.
Hands on: a fitted estimator that holds a release; whether a pipeline learns from rows in front of it.
"""

from __future__ import annotations

from discreet.errors import missing_extra

try:
    from discreet.estimator.inputs import check_pipeline
    from discreet.estimator.regression import PrivateLinearRegression
except ImportError as error:
    raise missing_extra("sklearn", "scikit-learn") from error

__all__ = ["PrivateLinearRegression", "check_pipeline"]
