"""The one door: every request is judged here before a screen sees it, and every answer leaves with its headers.

Another page in the same browser can send requests to this address. It cannot read a cookie of ours, and it cannot
choose what the browser says about where a request comes from (Origin, Sec-Fetch-Site) or whom it is for (Host).
"""

from __future__ import annotations

import html
import logging
import time
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.studio.session import Keys, same

LOG: Final = logging.getLogger("discreet.studio")
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
    """A body has more bytes than any form or release file needs."""


class Gate:
    """Middleware around all screens.

    Parameters
    ----------
    app
        The screens.
    keys
        Secrets of this run.
    host
        The one value of the Host header, such as 127.0.0.1:8642.
    """

    def __init__(self, app: ASGIApp, keys: Keys, host: str) -> None:
        self._app, self._keys, self._host = app, keys, host
        self.last_request = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge a request, and let it through or answer it here."""
        if scope["type"] != "http":
            # there is no other kind of connection to the studio
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
            # it was answered with a page; a traceback may quote cells, so only its kind is written down
            LOG.error("unexpected failure (%s)", type(error).__name__)  # noqa: TRY400

    def _answer(self, scope: Scope, headers: Headers) -> Response | None:
        """What is answered here; none for a request that may pass."""
        if headers.getlist("host") != [self._host]:
            return page(421, "Wrong address", "This address is not that of the studio.")
        if scope["method"] not in ("GET", "POST"):
            return page(405, "Not allowed", "The studio answers GET and POST alone.")
        if scope["path"] == ENTRY:
            # this one has the token in place of all others
            return None if scope["method"] == "GET" else page(405, "Not allowed", "Open the file that was written.")
        if not self._has_cookie(headers):
            return page(
                403,
                "Not your session",
                "This page belongs to a studio that was opened elsewhere, or that was started again. Run discreet "
                "studio again and use the page that it opens.",
            )
        site, origin = headers.getlist("sec-fetch-site"), headers.getlist("origin")
        # without a referrer a browser writes "null" for the origin of our own forms, and says same-origin beside it
        own = ([], [f"http://{self._host}"], ["null"]) if site == ["same-origin"] else ([], [f"http://{self._host}"])
        if origin not in own:
            return page(403, "Refused", "The request comes from another page.")
        if site == ["none"] and scope["method"] == "GET" and not origin:
            # typed or from a bookmark: a page that shows nothing asks again, now from here
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
    """A plain page with one sentence."""
    return HTMLResponse(_PAGE.format(head=head, title=html.escape(title), text=html.escape(text)), status)


def opened(keys: Keys) -> HTMLResponse:
    """The first page: it sets the cookie, and asks for the studio from here, so that the cookie is sent."""
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
    """Count the bytes of a body, whatever its headers say."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLargeError
        return message

    return counted
