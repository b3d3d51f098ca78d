"""Shared settings of the tests."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

# doctest collection would import every conftest under one module name
collect_ignore_glob = ["*conftest.py"]

# folders and files in which every test is marked `full`
FULL = (
    "packages/",
    "tests/audit/test_production_mutants.py",
    "tests/ledger/test_faults.py",
    "tests/r/",
    "tests/repository/test_benchmarks.py",
    "tests/repository/test_docs.py",
    "tests/repository/test_golden.py",
    "tests/repository/test_injection.py",
    "tests/repository/test_markers.py",
    "tests/repository/test_mutants.py",
    "tests/repository/test_wheel.py",
)

hypothesis.settings.register_profile("quick", max_examples=40, deadline=None)
hypothesis.settings.register_profile("thorough", max_examples=1000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what `make test` leaves to `make test-all`."""
    if item.nodeid.startswith(FULL):
        item.add_marker("full")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the import of modules in which every test is left out."""
    left_out = "not full" in config.option.markexpr
    return (left_out and collection_path.relative_to(config.rootpath).as_posix().startswith(FULL)) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from traversing modules and tests, which stay until the process ends."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        atexit.register(gc.unfreeze)  # extension modules report what is still alive at the end as leaks


@pytest.fixture(scope="session", autouse=True)
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Rows wait in a folder of this run: every table looks through all of it for what a killed process left."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("scratch")))
        yield
