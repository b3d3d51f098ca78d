"""Shared settings of the tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator

import hypothesis
import pytest

# doctest collection would import every conftest under one module name
collect_ignore_glob = ["*conftest.py"]

hypothesis.settings.register_profile("quick", max_examples=40, deadline=None)
hypothesis.settings.register_profile("thorough", max_examples=1000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay to the end: the collector of garbage does not go through them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Rows wait in a folder of this run: every table looks through all of it for what a killed process left."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("scratch")))
        yield
