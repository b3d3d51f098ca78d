"""A reader's method is found by module:factory, or refused in words."""

import sys

import numpy as np
import pytest

from discreet.errors import SpecError
from discreet_papers.methods import reader_method, reader_model, reader_predictions, source_digest


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
    with pytest.raises(SpecError, match="the module 'math' has no function or regressor 'make'"):
        reader_method("math:make")
    with pytest.raises(SpecError, match="the module 'math' has no function or regressor 'pi'"):
        reader_method("math:pi")


@pytest.mark.parametrize(
    ("source", "words"), [("def f(:", "SyntaxError"), ("raise RuntimeError('stop')", "RuntimeError: stop")]
)
def test_a_module_that_fails_on_import_is_named(tmp_path, monkeypatch, source, words):
    (tmp_path / "reader_module_fails.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SpecError, match=words):
        reader_method("reader_module_fails:make")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def make():\n    return 1", "the factory 'reader_model_here:make' raised TypeError"),
        ("def make(**given):\n    return None", "expected an object with fit and predict, got one of type NoneType"),
        ("class make:\n    predict = fit = lambda self, *rows: 1 / 0\n    __init__ = lambda self, **given: None",
         "your method failed: fit raised ZeroDivisionError"),
    ],
)  # fmt: skip
def test_a_factory_or_a_fit_that_fails_is_named(tmp_path, monkeypatch, source, words):
    (tmp_path / "reader_model_here.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "reader_model_here", raising=False)
    with pytest.raises(SpecError, match=words):
        reader_model("reader_model_here:make", np.ones((3, 2)), np.ones(3), epsilon=1.0, delta=0.0)


class InPlace:
    """Overwrites what it is given."""

    def __init__(self, *, epsilon, delta, bounds, target_bounds):
        self.given = (epsilon, delta, bounds, target_bounds)

    def fit(self, X, y):
        X[:], y[:] = 0, 0

    def predict(self, X):
        X[:] = 0
        return X[:, 0]


def test_a_method_that_overwrites_rows_changes_only_copies():
    x, y = np.ones((3, 2)), np.ones(3)
    model = reader_model(f"{__name__}:InPlace", x, y, epsilon=0.5, delta=1e-6)
    assert model.given == (0.5, 1e-6, [(-1.0, 1.0)] * 2, (-1.0, 1.0))
    assert reader_predictions(model, x).tolist() == [0, 0, 0]
    assert (x == 1).all()
    assert (y == 1).all()


def test_a_method_is_given_the_bounds_of_the_caller():
    given = {"bounds": [(0.0, 5.0)], "target_bounds": (1.0, 2.0)}
    model = reader_model(InPlace, np.ones((3, 1)), np.ones(3), epsilon=0.5, delta=1e-6, **given)
    assert model.given == (0.5, 1e-6, [(0.0, 5.0)], (1.0, 2.0))


ready = InPlace(epsilon=1, delta=0, bounds=[], target_bounds=())


def test_an_object_with_fit_and_predict_is_a_method_too_and_is_copied():
    for method in (ready, f"{__name__}:ready"):
        model = reader_model(method, np.ones((3, 1)), np.ones(3), epsilon=0.5, delta=1e-6)
        assert isinstance(model, InPlace)
        assert model is not ready
    assert source_digest(f"{__name__}:ready")


class _Predicts:
    def __init__(self, found):
        self._found = found

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self._found


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (np.zeros((2, 1)), r"expected predictions of shape \(2,\), got \(2, 1\)"),
        (np.zeros(3), r"got \(3,\)"),
        (np.array([1.0, np.nan]), "got 1 of 2"),
        (["a", "b"], "did not return numbers"),
    ],
)
def test_predictions_that_are_not_a_finite_number_for_each_row_are_refused(found, words):
    with pytest.raises(SpecError, match=words):
        reader_predictions(_Predicts(found), np.zeros((2, 1)))


def test_good_predictions_are_handed_on():
    assert reader_predictions(_Predicts([1, 2]), np.zeros((2, 1))).tolist() == [1.0, 2.0]


def test_an_edited_module_has_another_digest(tmp_path, monkeypatch):
    path = tmp_path / "reader_module_edited.py"
    path.write_text("def make(**given):\n    return 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = source_digest("reader_module_edited:make")
    path.write_text("def make(**given):\n    return 2\n")
    assert source_digest("reader_module_edited:make") != before
