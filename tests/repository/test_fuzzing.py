"""Whatever bytes a file holds and whatever Python is given, it is read or refused in the package's own words."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.testing import exact_release
from support import fuzzing
from support.fuzzing import CANARIES, LONGEST, MANY, TOKENS, Readers, mutated, spawned, verdict

QUICK = 420
MOST_MB = 1000
TABLE = {"x": [0.1, 0.2, 0.3] * 10, "y": [0.1, 0.2, 0.25] * 10, "g": ["a", "b", "a"] * 10}
DESIGN = discreet.Design("y", {"x": (0, 1), "y": (0, 1), "g": ["a", "b"]})
RELEASE = exact_release(TABLE, DESIGN)
FIT = discreet.fit(RELEASE)
# inputs that stood out in earlier runs, by kind and number: designs that are right, whose plan takes seconds
KEPT = [("toml", 488)]

NAMES = st.sampled_from(
    ["x", "y", "g", "1", "Intercept", "", " x", "bounds", "levels", "target", "columns", "unit", "id"]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-2, 3), st.floats(), st.text(max_size=6), NAMES,
    st.binary(max_size=4), st.complex_numbers(),
    st.sampled_from([10**400, -(10**400), float, bool, object, np.float64(0.5), np.array([0.0, 1.0]),
                     np.array(["a", "b"]), np.zeros((2, 2)), "x + 1", "log(x)", "y ~ x", "auto", "drop"]),
)  # fmt: skip
ODD = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3) | st.tuples(inner, inner),
    max_leaves=6,
)
COLUMN = st.one_of(
    ODD,
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ("bounds", "levels", "reference", "dtype", "missing", "formula", "release", "other"), ODD
        ),
    ),
    st.tuples(st.floats(), st.floats()),
)


def check(call: Any) -> None:
    """It ends well or in our own words."""
    _, wrong = verdict(call)
    assert wrong == ""


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "target": NAMES | ODD,
            "columns": st.dictionaries(NAMES | st.text(max_size=4), COLUMN, max_size=4) | ODD,
            "intercept": ODD,
            "radius": ODD,
            "unit": ODD | st.fixed_dictionaries({}, optional={"neighbours": ODD, "id": ODD, "max_rows": ODD}),
            "odd": ODD,
        },
    )
)
def test_any_design(table: dict[str, Any]) -> None:
    def call() -> None:
        design = discreet.Design.from_dict(table)
        assert discreet.Design.from_toml(design.to_toml()) == design

    check(call)


@given(NAMES, COLUMN)
def test_any_column(name: str, column: object) -> None:
    check(lambda: discreet.Design("y", {"y": (0, 1), "x": (0, 1), name: column}))


ARGUMENTS = {
    "release": ("epsilon", "delta", "mechanism", "settings", "robust", "clip_counts", "grid_bits",
                "reading", "compute", "spend", "sign", "guard", "allow_weak_privacy"),
    "fit": ("formula", "target", "features", "intercept", "penalty", "strength", "l1_ratio"),
    "plan": ("rows", "epsilon", "delta", "rsquared", "spread", "target_spread", "assume", "correlation", "level",
             "mechanism", "robust", "settings", "clip_counts", "guard", "grid_bits"),
    "path": ("penalty", "target", "features", "intercept", "l1_ratio"),
}  # fmt: skip


@pytest.mark.parametrize("function", ARGUMENTS)
def test_any_argument(function: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))
    ordinary: dict[str, tuple[tuple[object, ...], dict[str, object]]] = {
        "release": ((TABLE, DESIGN), {"epsilon": 1.0, "delta": 1e-6}),
        "fit": ((RELEASE,), {}),
        "plan": ((DESIGN,), {"rows": 1000, "epsilon": 1.0, "delta": 1e-6}),
        "path": ((RELEASE,), {}),
    }

    @given(st.sampled_from(ARGUMENTS[function]), ODD)
    def tried(name: str, odd: object) -> None:
        first, more = ordinary[function]
        check(lambda: getattr(discreet, function)(*first, **{**more, name: odd}))

    tried()


@given(ODD | st.dictionaries(NAMES, st.lists(SCALARS, max_size=3) | ODD, max_size=4))
def test_any_table(table: object) -> None:
    def call() -> None:
        exact_release(table, DESIGN)
        discreet.check(table, DESIGN)

    check(call)
    check(lambda: FIT.predict(table))


@given(ODD)
def test_any_hypothesis_and_level(odd: Any) -> None:
    for call in (FIT.t_test, FIT.f_test, FIT.conf_int, FIT.rsquared_conf_int, FIT.conf_int()["x"].contains):
        check(lambda call=call: call(odd))


def problems(found: dict[str, Any]) -> list[str]:
    assert found["peak_mb"] < MOST_MB
    assert all(count > 0 for count in found["refused"].values()), "no input of some kind was refused"
    return list(found["finds"])


@pytest.mark.full
@pytest.mark.no_cover
def test_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    found = spawned(QUICK, 0, tmp_path)
    assert problems(found) == []
    assert sum(found["tried"].values()) == QUICK


@pytest.mark.slow
def test_many_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    found = spawned(MANY, 0, tmp_path)
    print(f"\n{found['tried']} tried, {found['refused']} refused, peak {found['peak_mb']} MB, {found['cpu_s']:.0f} s")
    assert problems(found) == []
    assert sum(found["tried"].values()) == MANY >= 20_000


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Readers:
    return Readers(tmp_path_factory.mktemp("readers"))


@pytest.mark.no_cover
@pytest.mark.parametrize(("kind", "number"), KEPT)
def test_earlier_finds_stay_fixed(kind: str, number: int, readers: Readers) -> None:
    path = readers.folder / readers.names[kind]
    path.write_bytes(readers.content(kind, number))
    check(lambda: readers.read(kind, path, number))


def test_an_input_is_the_same_every_time(readers: Readers) -> None:
    for kind in TOKENS:
        first = [readers.content(kind, number) for number in range(20)]
        assert first == [readers.content(kind, number) for number in range(20)]
        assert len(set(first)) > 15
    whole = bytes(1000)
    lengths = {len(mutated(random.Random(number), whole, (b"word",), b"x" * 300)) for number in range(60)}
    assert min(lengths) < 1000 < max(lengths)


def test_what_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise ValueError("of Python")

    def quotes() -> None:
        raise discreet.DiscreetError(f"the cell {CANARIES[0]}")

    def chatters() -> None:
        raise discreet.DiscreetError("x" * (LONGEST + 1))

    assert verdict(fails)[1].startswith("ValueError at test_fuzzing.py:")
    assert verdict(quotes)[1].startswith("a cell is quoted")
    assert verdict(chatters) == (True, f"{LONGEST + 1} characters")
    assert verdict(lambda: None) == (False, "")
    monkeypatch.setattr(fuzzing.limited.__wrapped__, "__defaults__", (1, 30))

    def burns() -> None:
        end = time.process_time() + 5
        while time.process_time() < end:
            pass

    assert verdict(burns)[1].startswith("took more than")
