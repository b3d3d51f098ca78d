"""Define the keys of a session, and the checks that every request must pass."""

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
# Access to the studio: a token that works once, a cookie with a random name, and a token against forged forms.


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass
class Keys:
    """The secrets of one run, which never appear on a command line or in a log.

    >>> keys = Keys()
    >>> token = keys.token
    >>> keys.redeem(token), keys.redeem(token)
    (True, False)
    """

    # cookies are shared between ports, so two studios must not use the same name
    cookie_name: str = field(default_factory=lambda: f"discreet_{secrets.token_hex(8)}")
    cookie: str = field(default_factory=_secret, repr=False)
    csrf: str = field(default_factory=_secret, repr=False)
    token: str | None = field(default_factory=_secret, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def redeem(self, given: str) -> bool:
        """Return whether this is the token, which is then invalid."""
        with self._lock:
            right = self.token is not None and same(given, self.token)
            if right:
                self.token = None
            return right


def same(given: str, secret: str) -> bool:
    """Compare two texts in a time that does not depend on where they differ.

    >>> same("é", "e"), same("abc", "abc")
    (False, True)
    """
    return secrets.compare_digest(given.encode(), secret.encode())


# -- gate --------------------------------------------------------------------------------------------------------------
# Every request is checked here before a screen sees it, and every response gets its headers here.
#
# Another page in the same browser can send requests to this address. It cannot read our cookie, and it cannot
# choose what the browser reports about the source (Origin, Sec-Fetch-Site) or the target (Host) of a request.

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
    """A body with more bytes than any form or release file needs."""


class Gate:
    """Middleware around all screens.

    `host` is the only accepted value of the Host header, such as 127.0.0.1:8642.
    """

    def __init__(self, app: ASGIApp, keys: Keys, host: str) -> None:
        self._app, self._keys, self._host = app, keys, host
        self.last_request = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on or respond here."""
        if scope["type"] != "http":
            # the studio has no other kind of connection
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
            # the response was a page; a traceback may quote cells, so only its type is logged
            LOG.error("unexpected failure (%s)", type(error).__name__)  # noqa: TRY400

    def _answer(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the response to a request that may not pass, or None for one that may."""
        if headers.getlist("host") != [self._host]:
            return page(421, "Wrong address", "This address is not that of the studio.")
        if scope["method"] not in ("GET", "POST"):
            return page(405, "Not allowed", "The studio answers GET and POST alone.")
        if scope["path"] == ENTRY:
            # this path has the token instead of all other checks
            return None if scope["method"] == "GET" else page(405, "Not allowed", "Open the file that was written.")
        if not self._has_cookie(headers):
            return page(
                403,
                "Not your session",
                "This page belongs to a studio that was opened elsewhere, or that was started again. Run discreet "
                "studio again and use the page that it opens.",
            )
        site, origin = headers.getlist("sec-fetch-site"), headers.getlist("origin")
        # without a referrer, a browser sends the origin "null" for our own forms, together with same-origin
        own = ([], [f"http://{self._host}"], ["null"]) if site == ["same-origin"] else ([], [f"http://{self._host}"])
        if origin not in own:
            return page(403, "Refused", "The request comes from another page.")
        if site == ["none"] and scope["method"] == "GET" and not origin:
            # typed or from a bookmark: an empty page repeats the request from this site
            return _again(scope)
        if (site and site != ["same-origin"]) or not (site or origin):
            return page(403, "Refused", "The request comes from another page, or from a browser that does not say.")
        return None

    def _has_cookie(self, headers: Headers) -> bool:
        found: list[str] = []
        for line in headers.getlist("cookie"):
            try:
                jar = SimpleCookie(line)
            except CookieError:
                return False
            found += [jar[self._keys.cookie_name].value] if self._keys.cookie_name in jar else []
        return len(found) == 1 and same(found[0], self._keys.cookie)


def page(status: int, title: str, text: str, head: str = "") -> HTMLResponse:
    """Return a plain page with one sentence."""
    return HTMLResponse(_PAGE.format(head=head, title=html.escape(title), text=html.escape(text)), status)


def opened(keys: Keys) -> HTMLResponse:
    """Return the first page, which sets the cookie and then loads the studio, so that the cookie is sent."""
    made = page(200, "Opening the studio", "One moment.", '<meta http-equiv="refresh" content="0;url=/">')
    made.set_cookie(keys.cookie_name, keys.cookie, httponly=True, samesite="strict", path="/")
    return made


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
    """Limit the number of bytes of a body, whatever its headers state."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLargeError
        return message

    return counted
