"""Pages of others in their own frames, and files to take along."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from starlette.responses import HTMLResponse, Response

from discreet.studio.folder import FieldError
from discreet.studio.forms import Form
from discreet.studio.gate import FRAME_POLICY
from discreet.studio.workspace import Workspace

#: what can be taken along, by how the name ends
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
    """The preview, in a frame that can run nothing."""
    return framed(space.preview or "<!DOCTYPE html><title>none</title>No preview yet.")


def report(space: Workspace, query: Form) -> Response:
    """A page that was made here, in a frame that can run nothing."""
    return framed(_made(space, query.get("name"), ".html").decode("utf-8", "replace"))


def download(space: Workspace, query: Form) -> Response:
    """A file that was made here."""
    name = query.get("name")
    kind = next((kind for end, kind in KINDS.items() if name.endswith(end)), None)
    if kind is None:
        raise FieldError("name", "only what the studio made can be taken along")
    return attached(_made(space, name, *KINDS), name, kind)


def framed(html: str) -> HTMLResponse:
    """A page of its own, cut off from ours."""
    return HTMLResponse(html, headers={"content-security-policy": FRAME_POLICY})


def attached(content: bytes | str, name: str, kind: str) -> Response:
    """A file that the browser saves and does not show."""
    plain = "".join(one if one.isascii() and (one.isalnum() or one in "._- ") else "_" for one in name)
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{plain}"'})


def _made(space: Workspace, name: str, *ends: str) -> bytes:
    """The content of a file beside a release that was made here."""
    stem = Path(name).name
    for end in KINDS:
        stem = stem.removesuffix(end)
    if name != Path(name).name or f"{stem}.release.json" not in space.state.made or not name.endswith(ends):
        raise FieldError("name", "only what the studio made can be taken along")
    path = space.folder.file(name, "name")
    if path.stat().st_size > _MOST:
        raise FieldError("name", "the file is larger than anything the studio makes")
    return path.read_bytes()


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {
    "/frames/preview": preview, "/frames/report": report, "/files": download,
}  # fmt: skip
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {}
