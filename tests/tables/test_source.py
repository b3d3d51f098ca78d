"""How the work is done is checked, reported, and changes nothing."""

from __future__ import annotations

import pytest

from discreet.errors import SpecError
from discreet.tables.source import ComputeOptions


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "many"])
def test_bad_compute_options_are_refused(value):
    with pytest.raises(SpecError, match="chunk_rows"):
        ComputeOptions(chunk_rows=value)
