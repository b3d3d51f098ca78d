"""A reader's method is found by module:factory, or refused in words."""

import sys

import pytest

from discreet.errors import SpecError
from discreet.papers.methods import reader_method


@pytest.mark.parametrize("text", ["", "module", ":factory", "module:"])
def test_anything_but_module_and_factory_is_refused(text):
    with pytest.raises(SpecError, match="expected a method as module:factory"):
        reader_method(text)


def test_a_module_of_the_working_directory_is_found(tmp_path, monkeypatch):
    (tmp_path / "reader_module_here.py").write_text("def make(**given):\n    return given\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert reader_method("reader_module_here:make")(epsilon=1) == {"epsilon": 1}
    assert reader_method("reader_module_here:make")(epsilon=2) == {"epsilon": 2}


def test_a_module_or_a_function_that_is_not_there_is_named():
    with pytest.raises(SpecError, match="cannot import the module of the method 'no_such_module:make'"):
        reader_method("no_such_module:make")
    with pytest.raises(SpecError, match="the module 'math' has no function 'make'"):
        reader_method("math:make")
    with pytest.raises(SpecError, match="the module 'math' has no function 'pi'"):
        reader_method("math:pi")
