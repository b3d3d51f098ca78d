"""Sessions: everything public in one file, equal fingerprints for equal sessions alone, contradictions refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

import discreet
from discreet.design.design import Design
from discreet.errors import PrivacyNotice, SpecError
from discreet.parts.agreement import Session, design_digest
from discreet.parts.keys import CuratorKey
from discreet.privacy.budget import PrivacyUnit
from support.curators import DESIGN

PEOPLE = tuple(CuratorKey.new(name).public for name in ("north", "süd", "west", "east"))


def session(count=3, **terms):
    return Session.new(DESIGN, PEOPLE[:count], **({"epsilon": 1.0, "delta": 1e-6} | terms))


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"honest": 1, "parts_per_person": 3, "grid_bits": 12, "epsilon": 0.1},
        {"noise": "merger", "mechanism": "laplace", "delta": 0},
        {"noise": "merger", "parts_per_person": 2},
    ],
)
def test_a_session_is_read_back(terms, tmp_path):
    made = session(**terms)
    made.save(tmp_path / "S.toml")
    assert Session.load(tmp_path / "S.toml") == made
    assert Session.load(tmp_path / "S.toml").fingerprint == made.fingerprint == made.terms.session
    assert repr(made).startswith(f"<Session {made.id[:8]}: 3 curators")


def test_the_unit_is_in_the_file(tmp_path):
    design = Design("y", {"y": (0, 1), "x": (0, 1)}, unit={"id": "p", "max_rows": 3})
    made = Session.new(design, PEOPLE, epsilon=1.0, delta=1e-6)
    made.save(tmp_path / "S.toml")
    assert Session.load(tmp_path / "S.toml").unit == PrivacyUnit(id="p", max_rows=3)
    assert made.honest == 3


def test_an_id_is_new_every_time_and_so_is_the_fingerprint():
    one, other = session(), session()
    assert one.id != other.id
    assert one.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"id": "0" * 32}, {"design": "sha256:00"}, {"unit": PrivacyUnit(id="p")}, {"grid_bits": 17}, {"epsilon": 2.0},
        {"delta": 1e-7}, {"honest": 1}, {"parts_per_person": 2}, {"curators": PEOPLE[1:]},
        {"curators": (PEOPLE[1], PEOPLE[0], PEOPLE[2])}, {"noise": "merger", "honest": 0},
        {"curators": (replace(PEOPLE[0], name="n"), *PEOPLE[1:3])},
        {"noise": "merger", "honest": 0, "mechanism": "ssp"},
    ],
)  # fmt: skip
def test_any_change_is_another_fingerprint(change):
    made = session()
    assert replace(made, **change).fingerprint != made.fingerprint


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "00"}, "expected 32 hexadecimal digits as the id of a session, got '00'"),
        ({"id": 5}, "the id of a session"),
        ({"design": 5}, "expected a digest such as sha256"),
        ({"unit": None}, "expected a PrivacyUnit as the unit of a session"),
        ({"grid_bits": 27}, "expected an integer from 8 to 26 for grid_bits, got 27"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"mechanism": 5}, "expected the name of a mechanism"),
        ({"mechanism": "ssp"}, "noise in shares requires the mechanism 'gaussian', got 'ssp'"),
        ({"noise": "merger", "honest": 0, "mechanism": "ssp", "parts_per_person": 2}, "parts_per_person above 1"),
        ({"parts_per_person": 2, "unit": PrivacyUnit(neighbours="replace")}, "with 'replace' neighbours requires 1"),
        ({"curators": PEOPLE[:2]}, "expected at least 3 curators in a session, got 2: with two curators, each"),
        ({"curators": (*PEOPLE[:2], PEOPLE[0])}, "a public key is listed twice"),
        ({"curators": (*PEOPLE[:2], replace(PEOPLE[2], sign_key=PEOPLE[0].sign_key))}, "a public key is listed twice"),
        ({"curators": (*PEOPLE[:2], replace(PEOPLE[2], name="north"))}, "have the same name"),
        ({"curators": (*PEOPLE[:2], replace(PEOPLE[2], name="su\u0308d"))}, "have the same name"),
        ({"curators": ("north", "west", "east")}, "expected a list of Curator"),
        ({"curators": list(PEOPLE)}, "expected a list of Curator"),
    ],
)  # fmt: skip
def test_a_contradiction_is_refused(change, message):
    with pytest.raises(SpecError, match=message):
        replace(session(), **change)


@pytest.mark.parametrize("given", [None, "north", 5, ["north"], PEOPLE[:2]])
def test_what_is_no_list_of_curators_is_refused(given):
    with pytest.raises(SpecError, match=r"expected a list of Curator|expected at least 3"):
        Session.new(DESIGN, given, epsilon=1.0, delta=1e-6)


def test_what_is_no_design_is_refused():
    with pytest.raises(SpecError, match="expected a Design, got str"):
        Session.new("design.toml", PEOPLE, epsilon=1.0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('format = "discreet-session"', 'format = "x"', "expected a session of format"),
        ("version = 1", "version = 2", "and version 1, got"),
        ("version = 1", "version = true", "and version 1, got"),
        ("epsilon = 1.0", 'epsilon = "1"', "epsilon of a session: expected a number"),
        ("epsilon = 1.0", "epsilon = true", "epsilon of a session: expected a number"),
        ("epsilon = 1.0", "", "session lacks epsilon"),
        ("epsilon = 1.0", "epsilon = 1.0\nextra = 2", "extra"),
        ("honest = 2", "honest = 3", "from 1 to 2, got 3"),
        ('name = "west"', 'name = "west"\nage = 3', "unknown curator field 'age'"),
        ("[[curators]]", "[curators.a]", "has a duplicate key or table on line 22"),
    ],
)
def test_an_edited_file_is_refused_by_name(old, new, message, tmp_path):
    session().save(tmp_path / "S.toml")
    text = (tmp_path / "S.toml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "S.toml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(SpecError, match=message) as found:
        Session.load(tmp_path / "S.toml")
    assert "S.toml" in str(found.value)


def test_curators_that_are_no_list_are_refused():
    with pytest.raises(SpecError, match="must have one table"):
        Session.from_dict(session().to_dict() | {"curators": {}})


def test_the_digest_of_a_design_keeps_the_order_of_columns():
    ends = {"y": (0, 1), "x": (0, 1)}
    other = {"x": (0, 1), "y": (0, 1)}
    assert design_digest(Design("y", ends)) != design_digest(Design("y", other))


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"delta": 0.0}, "'gaussian' needs delta above 0"),
        ({"noise": "merger", "delta": 0.0}, "'gaussian' needs delta above 0"),
        ({"noise": "merger", "mechanism": "auto"}, "name the mechanism that all curators agree on"),
        ({"noise": "merger", "mechanism": "irls"}, "a single pass of sums of products"),
        ({"noise": "merger", "mechanism": "gausian"}, "Did you mean 'gaussian'"),
        ({"epsilon": 1e9, "grid_bits": 8, "allow_weak_privacy": True}, "expected a scale of at least 16 grid steps"),
        ({"epsilon": 1e-9, "grid_bits": 26}, "which the 64-bit sampler cannot draw"),
        ({"epsilon": 21.0}, "allow_weak_privacy=True"),
        ({"delta": 0.01}, "allow_weak_privacy=True"),
    ],
)
@pytest.mark.filterwarnings("ignore::discreet.errors.PrivacyNotice")
def test_what_part_or_merge_would_refuse_is_refused_when_a_session_is_made(terms, message):
    with pytest.raises(SpecError, match=message):
        session(**terms)


def test_a_weak_budget_of_a_session_has_the_notice_of_a_release():
    with pytest.warns(PrivacyNotice, match="WEAK PRIVACY: epsilon = 30"):
        session(epsilon=30.0, allow_weak_privacy=True)


@pytest.mark.parametrize(
    "names",
    [
        ("north", "NORTH"), ("north", "n\u043erth"), ("caf\xe9", "cafe\u0301"), ("ward 1", "ward\u00a01"),
        ("ward 1", "ward  1"), ("\uff4eorth", "north"), ("\u0412ERN", "BERN"), ("stra\xdfe", "STRASSE"),
    ],
)  # fmt: skip
def test_names_that_look_alike_are_refused(names):
    people = [replace(one, name=name) for one, name in zip(PEOPLE, (*names, "west"), strict=False)]
    with pytest.raises(SpecError, match="the same name, or names that look alike"):
        Session.new(DESIGN, people, epsilon=1.0, delta=1e-6)


def test_names_of_any_script_that_differ_are_taken():
    people = [
        replace(one, name=name)
        for one, name in zip(PEOPLE, ("s\xfcd", "sud", "\u6771", "\u041e\u043c\u0441\u043a"), strict=True)
    ]
    assert len(Session.new(DESIGN, people, epsilon=1.0, delta=1e-6).curators) == 4


@pytest.mark.parametrize("given", [5, None, "", []])
def test_what_is_no_session_is_said(given, tmp_path):
    with pytest.raises(SpecError, match="session: expected a Session or the path of its file, got"):
        Session.given(given)
    with pytest.raises(SpecError, match="session: expected a Session"):
        discreet.part({}, DESIGN, given, key=tmp_path / "a.key")


def test_curators_that_are_no_list_are_said():
    with pytest.raises(SpecError, match=r"curators: expected a list of Curator, .*, got NoneType"):
        Session.new(DESIGN, None, epsilon=1.0, delta=1e-6)
