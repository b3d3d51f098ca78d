"""The scikit-learn regressor: each `fit` makes one release of the rows and fits one model to it.

The estimator keeps the release and no rows. Declarations, the choice of mechanism and messages never depend on cells.
"""

from __future__ import annotations

from discreet.errors import MissingDependencyError

try:
    from discreet.estimator.inputs import check_pipeline
    from discreet.estimator.regression import PrivateLinearRegression
except ImportError as error:
    raise MissingDependencyError("sklearn", "scikit-learn") from error

__all__ = ["PrivateLinearRegression", "check_pipeline"]
