"""The table of coefficients."""

from __future__ import annotations

import json

from discreet.analyst.model import fit
from support.other_releases import fitted_inside

REASON = "the mechanism 'steps' publishes coefficients and no sums"


def test_tables_and_json_have_null_and_the_reason():
    result = fit(fitted_inside())
    frame = result.to_frame()
    assert frame["estimate"].null_count == 0
    assert frame["std_error"].null_count == frame["low"].null_count == len(frame)
    assert all(str(reason).startswith(REASON) for reason in frame["reason"].to_pylist())
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["nobs"] is None
    assert "no number of rows" in plain["nobs_reason"]
    assert not plain["nobs_public"]
    assert plain["df_resid"] is None
    assert set(plain["bse"].values()) == {None}
    assert plain["s2_reason"].startswith(REASON)
    text = " ".join(result.summary().split())
    assert "Rows: not released" in text
    assert "as the mechanism 'steps' fitted it" in text
    assert "no other can be read from it" in text
    assert f"Not estimable (Intercept, a, g[q], g[r], b): {REASON}" in text
    assert "nan" not in text.lower().split()
    assert "steps" in result._repr_html_()
    assert "Fit of y" in repr(result)
