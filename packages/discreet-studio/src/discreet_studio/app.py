"""Route each path of the studio to its view."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import discreet
from discreet_studio.advice import here
from discreet_studio.forms import ForgedError, Form, read_form
from discreet_studio.libraries import check_libraries
from discreet_studio.rendering import SCREENS, render, see_other
from discreet_studio.request_gate import ENTRY, Gate, Keys, TooLargeError, opened, page
from discreet_studio.studio_folder import Folder
from discreet_studio.views import (
    analyse_view,
    check_view,
    design_view,
    files_view,
    ledger_view,
    plan_parts,
    plan_view,
    preview_view,
    release_view,
    table_view,
    work_view,
)
from discreet_studio.workspace import Workspace

View = Callable[[Workspace, Form], Response]
VIEWS: Final = (
    table_view,
    design_view,
    check_view,
    plan_view,
    plan_parts,
    preview_view,
    release_view,
    analyse_view,
    ledger_view,
    files_view,
    work_view,
)
STATIC: Final = {
    "style.css": ("discreet.pages", "templates/style.css", "text/css"),
    "studio.css": ("discreet_studio", "static/studio.css", "text/css"),
    "icon.svg": ("discreet_studio", "static/icon.svg", "image/svg+xml"),
    "htmx.js": ("discreet_studio", "static/htmx-2.0.11.min.js", "text/javascript"),
}


class Studio:
    """The screens for one folder. `host` is the address and port that a browser sends in the Host header."""

    def __init__(self, folder: str | Path, host: str) -> None:
        check_libraries()
        self.space = Workspace(Folder(folder))
        shown: Mapping[str, View] = {path: view for module in VIEWS for path, view in module.SHOWN.items()}
        changed: Mapping[str, View] = {path: view for module in VIEWS for path, view in module.CHANGED.items()}
        routes = [
            Route(ENTRY, self._open),
            Route("/", _start),
            *(Route(f"/static/{name}", _static(*where)) for name, where in STATIC.items()),
            *(Route(path, self._showing(view), methods=["GET"]) for path, view in shown.items()),
            *(Route(path, _back, methods=["GET"]) for path in changed if path not in shown),
            *(Route(path, self._changing(view), methods=["POST"]) for path, view in changed.items()),
        ]
        self.changing_paths = tuple(changed)
        self.shown_paths = tuple(shown)
        handlers = {404: _missing, 405: _missing, 500: _failed, TooLargeError: _too_large}
        self.asgi = Gate(Starlette(routes=routes, exception_handlers=handlers), self.keys, host)

    @property
    def keys(self) -> Keys:
        """The secrets of this session."""
        return self.space.keys

    @property
    def folder(self) -> Folder:
        """The curator's folder."""
        return self.space.folder

    def idle_for(self, seconds: float) -> bool:
        """Return whether no request has arrived for this many seconds and no job is running."""
        return self.space.jobs.running is None and time.monotonic() - self.asgi.last_request > seconds

    async def _open(self, request: Request) -> Response:
        if self.keys.redeem(request.query_params.get("token", "")):
            return opened(self.keys)
        return page(
            403,
            "This link was already used",
            "A link opens the studio only once. Run discreet studio again for a new one.",
        )

    def _showing(self, view: View) -> Callable[[Request], Awaitable[Response]]:
        async def show(request: Request) -> Response:
            query = Form(
                request.query_params.multi_items() + [(f"/{key}", value) for key, value in request.path_params.items()]
            )
            return await run_in_threadpool(self._answered, view, query)

        return show

    def _changing(self, view: View) -> Callable[[Request], Awaitable[Response]]:
        async def change(request: Request) -> Response:
            try:
                form = await read_form(request, self.keys.csrf)
            except ForgedError:
                return page(
                    403, "Refused", "This form was not sent by a page of this studio. Go back and reload the page."
                )
            return await run_in_threadpool(self._answered, view, form)

        return change

    def _answered(self, view: View, form: Form) -> Response:
        """Return the response of a view, or a page with the error that the view did not handle."""
        try:
            return view(self.space, form)
        except discreet.DiscreetError as error:
            return render(self.space, "", "refused", 400, message=here(error))


async def _start(request: Request) -> Response:
    return see_other("/table")


async def _back(request: Request) -> Response:
    """Redirect to the screen of a form whose address was opened as a page, for example by a reload."""
    screen = request.url.path.split("/")[1]
    return see_other(f"/{screen}" if screen in SCREENS else "/table")


async def _missing(request: Request, error: Exception) -> Response:
    return page(404, "No such page", "The studio has no page with this address. Go back and use the menu.")


async def _too_large(request: Request, error: Exception) -> Response:
    return page(413, "Too large", "The request was refused, because it is larger than any form or release file.")


async def _failed(request: Request, error: Exception) -> Response:
    # a traceback may quote cells, so only the type of the error is shown
    what = f"An unexpected error occurred ({type(error).__name__}). What you saved before is kept."
    return page(500, "Unexpected error", what)


def _static(package: str, name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = resources.files(package).joinpath(name).read_bytes()

    async def give(request: Request) -> Response:
        return Response(content, media_type=kind)

    return give
