"""Mistakes that can be put into the mechanism `staged` while it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from discreet.mechanisms import staged

_SEARCHES = ("centre", "spread", "zoomed_centre", "zoomed_spread")


def searches_free(patch: pytest.MonkeyPatch) -> None:
    """The moments get the share of the searches for centres and scales too, which keep their noise."""
    shares = staged.staged_shares

    def free(design: Any) -> Any:
        made = shares(design)
        spent = sum(staged.query_share(query) for query in staged.earlier_queries(design) if query.block in _SEARCHES)
        return replace(made, score=made.score + spent)

    patch.setattr(staged, "staged_shares", free)
