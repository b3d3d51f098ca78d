"""Serve reports in isolated frames, and files for download."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from starlette.responses import HTMLResponse, Response

from discreet_studio.forms import Form
from discreet_studio.request_gate import FRAME_POLICY
from discreet_studio.studio_folder import FieldError
from discreet_studio.workspace import Workspace

#: media types of the files that can be downloaded, by the ending of their names
KINDS: Final = {
    ".release.json": "application/json",
    ".html": "text/html",
    ".md": "text/markdown",
    ".tex": "application/x-tex",
    ".csv": "text/csv",
    ".py": "text/x-python",
    ".ipynb": "application/x-ipynb+json",
    ".design.toml": "application/toml",
}
_MOST: Final = 64 * 2**20


def preview(space: Workspace, query: Form) -> Response:
    """Return the preview, for a frame that cannot run scripts."""
    return framed(space.preview or "<!DOCTYPE html><title>none</title>There is no preview yet.")


def report(space: Workspace, query: Form) -> Response:
    """Return a report that the studio made, for a frame that cannot run scripts."""
    return framed(_made(space, query.get("name"), ".html").decode("utf-8", "replace"))


def download(space: Workspace, query: Form) -> Response:
    """Return a file that the studio made."""
    name = query.get("name")
    kind = next((kind for end, kind in KINDS.items() if name.endswith(end)), None)
    if kind is None:
        raise FieldError("name", "this file cannot be downloaded; only files that the studio made can be")
    return attached(_made(space, name, *KINDS), name, kind)


def framed(html: str) -> HTMLResponse:
    """Return a page that is isolated from the pages of the studio."""
    return HTMLResponse(html, headers={"content-security-policy": FRAME_POLICY})


def attached(content: bytes | str, name: str, kind: str) -> Response:
    """Return a file that the browser saves instead of showing."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "._- ") else "_" for char in name)
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{plain}"'})


def _made(space: Workspace, name: str, *ends: str) -> bytes:
    """Return the content of a file that the studio wrote with a release."""
    stem = Path(name).name
    for end in KINDS:
        stem = stem.removesuffix(end)
    if name != Path(name).name or f"{stem}.release.json" not in space.state.made or not name.endswith(ends):
        raise FieldError("name", "this file cannot be downloaded; only files that the studio made can be")
    path = space.folder.file(name, "name")
    if path.stat().st_size > _MOST:
        raise FieldError("name", "this file cannot be downloaded; it is larger than any file that the studio makes")
    return path.read_bytes()


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {
    "/frames/preview": preview, "/frames/report": report, "/files": download,
}  # fmt: skip
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {}
