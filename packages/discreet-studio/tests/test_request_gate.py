"""Every way past the door that we know is tried here, and fails."""

from __future__ import annotations

import logging

import pytest

from discreet_studio.request_gate import FRAME_POLICY, MOST_FORM_BYTES
from support.studio_client import HOST, SAME, Browser

EVIL = "http://evil.example"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    return Browser(tmp_path_factory.mktemp("gate"))


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8642", "localhost:8642", "127.0.0.1", "127.0.0.1:80", ""]
)
def test_a_name_that_is_bound_to_this_machine_gets_nothing(browser, host):
    # DNS rebinding: the browser believes that it talks to evil.example, and sends its cookies for that name
    answer = browser.get("/table", host=host)
    assert answer.status_code == 421
    assert "Your own table" not in answer.text


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none, same-origin", "SAME-ORIGIN", ""])
@pytest.mark.parametrize("path", ["/table", "/static/htmx.js", "/frames/preview", "/files?name=x"])
def test_another_page_cannot_load_anything_even_with_the_cookie(browser, site, path):
    answer = browser.client.get(path, headers={"sec-fetch-site": site})
    assert answer.status_code == 403


@pytest.mark.parametrize("headers", [
    {"sec-fetch-site": "cross-site", "origin": EVIL}, {"origin": EVIL}, {"origin": "null"}, {},
    {"sec-fetch-site": "same-origin", "origin": EVIL}, {"origin": "http://127.0.0.1:9999"}, {"origin": f"https://{HOST}"},
    {"sec-fetch-site": "none"}, {"sec-fetch-site": "cross-site", "origin": f"http://{HOST}"},
])  # fmt: skip
def test_a_form_of_another_page_changes_nothing(browser, headers):
    before = browser.space.state.version
    data = {"csrf": browser.studio.keys.csrf}
    answer = browser.client.post("/table/sample", data=data, headers=headers)
    assert answer.status_code == 403
    assert browser.space.state.version == before
    assert list(browser.folder.glob("*.parquet")) == []


@pytest.mark.parametrize("headers", [{"origin": f"http://{HOST}"}, SAME, SAME | {"origin": "null"}])
def test_our_own_pages_pass(browser, headers):
    assert browser.client.get("/table", headers=headers).status_code == 200


def test_a_typed_address_shows_nothing_and_asks_again_from_here(browser):
    answer = browser.client.get("/table?x=1", headers={"sec-fetch-site": "none"})
    assert answer.status_code == 200
    assert "Your own table" not in answer.text
    assert 'content="0;url=/table?x=1"' in answer.text
    odd = browser.client.get("//evil.example/%22%3E", headers={"sec-fetch-site": "none"})
    assert "url=/" in odd.text
    assert "url=//" not in odd.text


@pytest.mark.parametrize(
    "cookie", ["", "discreet=1", "{name}=", "{name}=wrong", "{name}={value}x", "{name}={value}; {name}=wrong"]
)
def test_without_the_cookie_there_is_nothing(tmp_path, cookie):
    browser = Browser(tmp_path, opened=False)
    keys = browser.studio.keys
    line = cookie.format(name=keys.cookie_name, value=keys.cookie)
    answer = browser.client.get("/table", headers=SAME | {"cookie": line})
    # the last of two values counts for a browser's cookie jar, and it is wrong
    assert answer.status_code == 403


def test_two_cookie_lines_are_refused(tmp_path):
    browser = Browser(tmp_path, opened=False)
    keys = browser.studio.keys
    lines = [("cookie", f"{keys.cookie_name}={keys.cookie}")] * 2 + list(SAME.items())
    assert browser.client.get("/table", headers=lines).status_code == 403


def test_the_link_works_once_and_gives_a_cookie_that_scripts_and_other_sites_do_not_have(tmp_path):
    browser = Browser(tmp_path, opened=False)
    token = browser.studio.keys.token
    assert browser.client.get("/open?token=guess").status_code == 403
    first = browser.client.get(f"/open?token={token}")
    assert first.status_code == 200
    cookie = first.headers["set-cookie"]
    assert cookie.startswith(browser.studio.keys.cookie_name)
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    browser.client.cookies.clear()
    again = browser.client.get(f"/open?token={token}")
    assert again.status_code == 403
    assert "set-cookie" not in again.headers
    assert browser.get("/table").status_code == 403


def test_two_studios_do_not_share_the_name_of_their_cookie(tmp_path):
    names = {Browser(tmp_path, opened=False).studio.keys.cookie_name for _ in range(3)}
    assert len(names) == 3


def test_every_change_needs_the_token_of_the_form(browser):
    before = browser.space.state.version
    for path in browser.studio.changing_paths:
        for data in ({}, {"csrf": ""}, {"csrf": "guess"}, {"csrf": browser.studio.keys.cookie}):
            answer = browser.client.post(path, data=data, headers=SAME)
            assert answer.status_code == 403, path
        answer = browser.client.post(path, json={"csrf": browser.studio.keys.csrf}, headers=SAME)
        assert answer.status_code == 403, path
    assert browser.space.state.version == before
    assert not browser.space.check_on
    assert len(browser.studio.changing_paths) > 15


def test_a_page_that_only_shows_changes_nothing(browser):
    before = browser.space.state.version
    for path in browser.studio.changing_paths:
        if path not in browser.studio.shown_paths:
            answer = browser.get(f"{path}?csrf={browser.studio.keys.csrf}&on=yes")
            # the address of a form that was refused leads to its screen, such as after a reload
            assert answer.status_code == 400 or answer.url.path in ("/" + path.split("/")[1], "/table"), path
    assert browser.space.state.version == before
    assert not browser.space.check_on


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"])
def test_other_methods_are_refused(browser, method):
    assert browser.client.request(method, "/table", headers=SAME).status_code == 405


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_without_end_is_cut_off(browser, declared):
    def pieces():
        for _ in range(MOST_FORM_BYTES // 2**16 + 2):
            yield b"x" * 2**16

    kind = {"content-type": "application/x-www-form-urlencoded"}
    body = b"x" * (MOST_FORM_BYTES + 1) if declared else pieces()
    answer = browser.client.post("/design", content=body, headers=SAME | kind)
    assert answer.status_code == 413


def test_a_websocket_is_closed(browser):
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), browser.client.websocket_connect("/table", headers=SAME):
        pass


def test_an_unexpected_failure_quotes_nothing(browser, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("the cell 4711.125 of column pay")

    monkeypatch.setattr(browser.space.folder, "listed", broken)
    client = browser.client
    client._transport.raise_server_exceptions = False
    with caplog.at_level(logging.DEBUG):
        answer = browser.get("/table")
    assert answer.status_code == 500
    assert "4711" not in answer.text
    assert "Traceback" not in answer.text
    assert "RuntimeError" in answer.text
    assert "4711" not in caplog.text
    assert "RuntimeError" in caplog.text


def test_answers_are_not_kept_and_name_no_page(browser):
    for path in ("/table", "/static/studio.css", "/nowhere"):
        headers = browser.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]


def test_only_frames_may_be_framed_and_they_can_run_nothing(browser):
    policy = browser.get("/frames/preview").headers["content-security-policy"]
    assert policy == FRAME_POLICY
    assert "sandbox" in policy
    assert "script-src" not in policy
    assert "allow-" not in policy
