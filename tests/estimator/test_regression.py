"""What scikit-learn's metadata routing is told about weights and groups."""

from __future__ import annotations

import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from discreet.errors import SpecError
from discreet.estimator import PrivateLinearRegression

MODEL = {"epsilon": 1.0, "delta": 1e-6, "bounds": (0, 1), "target_bounds": (0, 1)}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"sample_weight": [1.0, 1.0]}, r"weights need a public bound.*weights=\"w\""),
        ({"groups": [1, 1]}, "every row is treated as a separate individual"),
    ],
)
def test_weights_and_groups_are_refused_with_the_reason(given, reason):
    model = PrivateLinearRegression(**MODEL)
    with pytest.raises(SpecError, match=reason):
        model.fit([[0.5], [0.6]], [0.5, 0.6], **given)
    assert not hasattr(model, "release_")


def test_routing_sends_no_metadata_to_fit_and_says_why():
    with sklearn.config_context(enable_metadata_routing=True):
        model = PrivateLinearRegression(**MODEL)
        assert "sample_weight" not in model.get_metadata_routing().fit.requests
        assert not hasattr(model, "set_fit_request")
        with pytest.raises(AttributeError, match="no metadata to route: weights need a public bound"):
            model.set_fit_request(sample_weight=True)
        # a score may be weighted: it spends nothing
        assert "sample_weight" in model.set_score_request(sample_weight=True).get_metadata_routing().score.requests
        pipe = make_pipeline(FunctionTransformer(), model)
        with pytest.raises(Exception, match="sample_weight"):
            pipe.fit([[0.5], [0.6]], [0.5, 0.6], sample_weight=[1.0, 1.0])
    assert not hasattr(model, "release_")
