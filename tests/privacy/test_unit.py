"""What one person is: rows, neighbours and the sentences that say so."""

from __future__ import annotations

import dataclasses
import json

import pytest

from discreet.errors import SpecError
from discreet.privacy.budget import PrivacyUnit


@pytest.mark.parametrize("name", ["p\x1b[31m", "p\n", "p\u202e", "\ud800"])
def test_an_id_that_cannot_be_seen_is_refused(name):
    with pytest.raises(
        SpecError, match=r"unit id: expected a column name without invisible characters, got .*; rename the column"
    ):
        PrivacyUnit(id=name)


@pytest.mark.parametrize("name", ["", " ", "  ", " person", "person ", "\u00a0"])
def test_an_id_is_a_column_name_without_blanks_at_its_ends(name):
    with pytest.raises(
        SpecError, match=r"the name of a column, without blanks at its ends, got .*; leave out id if the unit"
    ):
        PrivacyUnit(id=name)
    assert PrivacyUnit(id="the person").id == "the person"


def test_a_unit_is_one_row_added_or_removed_by_default():
    assert PrivacyUnit() == PrivacyUnit(neighbours="add-remove", id=None, max_rows=1)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_unit_survives_json(neighbours):
    unit = PrivacyUnit(neighbours=neighbours)
    assert PrivacyUnit.from_dict(json.loads(json.dumps(unit.to_dict()))) == unit


def test_the_two_sentences_say_whether_the_number_of_rows_is_hidden():
    assert "added or removed" in PrivacyUnit().sentence
    assert "exact row count" in PrivacyUnit().sentence
    assert "same public number of rows" in PrivacyUnit(neighbours="replace").sentence


def test_a_unit_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PrivacyUnit().neighbours = "replace"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"neighbours": "add_remove"}, "allowed: add-remove, replace. Did you mean 'add-remove'"),
        ({"neighbours": 3}, "unknown neighbours 3"),
        ({"id": ""}, "name of a column"),
        ({"id": 5}, "name of a column"),
        ({"max_rows": 0}, "integer"),
        ({"max_rows": True}, "integer"),
        ({"max_rows": 1.0}, "integer"),
        ({"max_rows": 3}, "needs an id column"),
        ({"id": "person", "max_rows": 10_001}, "expected an integer of at most 10000, got 10001"),
        ({"neighbors": "replace"}, "unknown unit field 'neighbors'; .* Did you mean 'neighbours'"),
    ],
)
def test_a_unit_that_cannot_be_promised_is_refused(fields, message):
    with pytest.raises(SpecError, match=message):
        PrivacyUnit.from_dict(fields)


@pytest.mark.parametrize("thing", [None, 3, "replace", ["replace"]])
def test_a_unit_is_read_from_a_table_only(thing):
    with pytest.raises(SpecError, match="table of named values"):
        PrivacyUnit.from_dict(thing)


def test_a_number_of_rows_that_is_blank_is_to_be_filled_in():
    with pytest.raises(
        SpecError,
        match="max_rows is blank; set the maximum number of rows used per person",
    ):
        PrivacyUnit(id="person", max_rows="")
