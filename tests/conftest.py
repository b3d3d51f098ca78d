"""Shared settings of the tests."""

from __future__ import annotations

import os

import hypothesis

# doctest collection would import every conftest under one module name
collect_ignore_glob = ["*conftest.py"]

hypothesis.settings.register_profile("quick", max_examples=60, deadline=None)
hypothesis.settings.register_profile("thorough", max_examples=1000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
