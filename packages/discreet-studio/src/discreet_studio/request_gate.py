"""Define the secrets of a session, and the checks that every request must pass."""

from __future__ import annotations

import html
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from threading import Lock
from typing import Any, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# -- session -----------------------------------------------------------------------------------------------------------
# Access to the studio: a single-use token, a cookie with a random name, and a token against forged forms.


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass
class Keys:
    """Secrets of one session, which never appear on a command line or in a log."""

    # cookies are shared between ports, so two studios must not use the same name
    cookie_name: str = field(default_factory=lambda: f"discreet_{secrets.token_hex(8)}")
    cookie: str = field(default_factory=_secret, repr=False)
    csrf: str = field(default_factory=_secret, repr=False)
    token: str | None = field(default_factory=_secret, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def redeem(self, candidate: str) -> bool:
        """Return whether the candidate is the token. A token that was accepted becomes invalid."""
        with self._lock:
            accepted = self.token is not None and same(candidate, self.token)
            if accepted:
                self.token = None
            return accepted


def same(candidate: str, secret: str) -> bool:
    """Compare two texts in a time that does not depend on where they differ.

    >>> same("é", "e"), same("abc", "abc")
    (False, True)
    """
    return secrets.compare_digest(candidate.encode(), secret.encode())


# -- gate --------------------------------------------------------------------------------------------------------------
# Every request is checked here before a screen sees it, and every response gets its security headers here.
#
# Another page in the same browser can send requests to this address. It cannot read our cookie, and it cannot change
# what the browser reports about the source (Origin, Sec-Fetch-Site) or the target (Host) of a request.

LOG: Final = logging.getLogger("discreet_studio")
ENTRY: Final = "/open"
MOST_BYTES: Final = 16 * 2**20
MOST_FORM_BYTES: Final = 2 * 2**20
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
FRAME_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox"
)
_HEADERS: Final = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_PAGE: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">{head}
<title>{title}</title></head><body><main><h1>{title}</h1><p>{text}</p></main></body></html>"""


class TooLargeError(Exception):
    """A request body that is larger than any form or release file."""


class Gate:
    """Middleware around all screens. `host` is the only accepted Host header, such as 127.0.0.1:8642."""

    def __init__(self, app: ASGIApp, keys: Keys, host: str) -> None:
        self._app, self._keys, self._host = app, keys, host
        self.last_request = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request. Pass it on, or respond here."""
        if scope["type"] != "http":
            # the studio accepts no other kind of connection
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_headers(message)
            await send(message)

        headers = Headers(scope=scope)
        answer = self._answer(scope, headers)
        if answer is not None:
            await answer(scope, receive, sending)
            return
        self.last_request = time.monotonic()
        try:
            await self._app(scope, _limited(receive, _most(headers)), sending)
        except Exception as error:
            # the user already got an error page; a traceback may quote cells, so only the type of the error is logged
            LOG.error("unexpected failure (%s)", type(error).__name__)  # noqa: TRY400

    def _answer(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the rejection response, or None to let the request through."""
        if headers.getlist("host") != [self._host]:
            return page(421, "Wrong address", "This is not the address of the studio.")
        if scope["method"] not in ("GET", "POST"):
            return page(405, "Not allowed", "The studio only accepts GET and POST requests.")
        if scope["path"] == ENTRY:
            # on this path the token replaces all other checks
            return (
                None
                if scope["method"] == "GET"
                else page(405, "Not allowed", "Open the file that the studio wrote, as its terminal says.")
            )
        if not self._has_cookie(headers):
            return page(
                403,
                "Not your session",
                "This page belongs to another session of the studio. Run discreet studio again and use the page that "
                "it opens.",
            )
        site, origin = headers.getlist("sec-fetch-site"), headers.getlist("origin")
        # without a referrer, a browser sends the origin "null" for our own forms, together with same-origin
        own = ([], [f"http://{self._host}"], ["null"]) if site == ["same-origin"] else ([], [f"http://{self._host}"])
        if origin not in own:
            return page(403, "Refused", "The request was sent by another web page.")
        if site == ["none"] and scope["method"] == "GET" and not origin:
            # typed or from a bookmark: an empty page repeats the request from this origin
            return _again(scope)
        if (site and site != ["same-origin"]) or not (site or origin):
            return page(403, "Refused", "The request was sent by another web page, or the browser does not tell.")
        return None

    def _has_cookie(self, headers: Headers) -> bool:
        cookies: list[str] = []
        for line in headers.getlist("cookie"):
            try:
                jar = SimpleCookie(line)
            except CookieError:
                return False
            cookies += [jar[self._keys.cookie_name].value] if self._keys.cookie_name in jar else []
        return len(cookies) == 1 and same(cookies[0], self._keys.cookie)


def page(status: int, title: str, text: str, head: str = "") -> HTMLResponse:
    """Return a plain page with a title and a text."""
    return HTMLResponse(_PAGE.format(head=head, title=html.escape(title), text=html.escape(text)), status)


def opened(keys: Keys) -> HTMLResponse:
    """Return the first page, which sets the cookie and then loads the studio with it."""
    first_page = page(200, "Opening the studio", "One moment.", '<meta http-equiv="refresh" content="0;url=/">')
    first_page.set_cookie(keys.cookie_name, keys.cookie, httponly=True, samesite="strict", path="/")
    return first_page


def _again(scope: Scope) -> HTMLResponse:
    query = scope["query_string"].decode("latin-1")
    address = html.escape(scope["raw_path"].decode("latin-1").partition("?")[0] + (f"?{query}" if query else ""))
    if not address.startswith("/") or address.startswith("//"):
        address = "/"
    return page(200, "Opening", "One moment.", f'<meta http-equiv="refresh" content="0;url={address}">')


def _add_headers(message: Message) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in _HEADERS.items():
        headers[name] = value
    if headers.get("content-security-policy") != FRAME_POLICY:
        headers["content-security-policy"] = POLICY
        headers["x-frame-options"] = "DENY"


def _most(headers: Headers) -> int:
    return MOST_BYTES if headers.get("content-type", "").startswith("multipart/form-data") else MOST_FORM_BYTES


def _limited(receive: Receive, most: int) -> Callable[[], Any]:
    """Limit the size of a request body, whatever its headers state."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLargeError
        return message

    return counted
