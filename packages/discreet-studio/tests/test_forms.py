"""Forms are read by type, and numbers as people write them."""

from __future__ import annotations

import pytest

from discreet_studio.forms import MOST_FIELDS, Form, as_number
from discreet_studio.studio_folder import FieldError
from support.studio_client import SAME, Browser


def test_fields_by_name():
    form = Form([("a", " 1 "), ("b", "x"), ("a", "2")])
    assert (form.get("a"), form.every("a"), form.get("c", "none"), "b" in form, "c" in form) == (
        "2", ["1", "2"], "none", True, False,
    )  # fmt: skip
    assert form.optional("c", "C") is None
    assert form.number("a", "A") == 2


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), ("30 000", 30000), ("30,000", 30000), ("1e-6", 1e-6), ("-2.5", -2.5)]
)
def test_numbers(text, value):
    assert as_number(text, "n", "N") == value


@pytest.mark.parametrize("text", ["", "x", "1,5", "nan", "inf", "1e999", "0x10", "1;2", "=1+1"])
def test_what_is_no_number_is_refused_beside_its_field(text):
    with pytest.raises(FieldError) as caught:
        as_number(text, "rows", "Rows")
    assert caught.value.field == "rows"


@pytest.mark.parametrize(("kind", "body"), [
    ("application/json", b"{}"), ("text/plain", b"csrf=x"), ("", b"csrf=x"), ("multipart/form-data", b"x"),
    ("multipart/form-data; boundary=a", b"--a\r\nnonsense"), ("application/x-www-form-urlencoded", b"\xff\xfe"),
    ("application/x-www-form-urlencoded", b"&".join([b"a=1"] * (MOST_FIELDS + 1))),
])  # fmt: skip
def test_malformed_bodies_are_refused(tmp_path, kind, body):
    answer = Browser(tmp_path).client.post("/design", content=body, headers=SAME | {"content-type": kind})
    assert answer.status_code == 403
    assert "Traceback" not in answer.text
