"""Analyse any release file, with or without its table, at no additional privacy cost."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from starlette.responses import Response

import discreet
from discreet_studio.advice import here
from discreet_studio.forms import Form
from discreet_studio.rendering import part, render, see_other
from discreet_studio.studio_folder import FieldError
from discreet_studio.views import prediction_view
from discreet_studio.views.files_view import attached
from discreet_studio.workspace import DRAWN_AT_ONCE, Workspace, quiet

PENALTIES: Final = {
    "none": "none: ordinary least squares", "ridge": "ridge", "lasso": "lasso", "elastic-net": "elastic net",
    "adaptive": "adaptive: as strong as the noise requires", "bayes": "Bayes: best prediction, no intervals",
}  # fmt: skip
EXPORTS: Final = {
    "md": "text/markdown", "tex": "application/x-tex", "csv": "text/csv", "html": "text/html", "png": "image/png",
    "svg": "image/svg+xml",
}  # fmt: skip
MOST_BYTES: Final = 16 * 2**20


@dataclass(frozen=True)
class Chosen:
    """A release and a model fitted to it, with the key under which its results are cached."""

    release: discreet.Release
    fit: discreet.Fit
    level: float
    key: tuple[object, ...]


def show(space: Workspace, query: Form) -> Response:
    """Show the choice of a release, and one fitted model with all results."""
    if not (query.get("file") or query.get("upload")):
        return _page(space, query)
    try:
        chosen = _chosen(space, query)
    except FieldError as error:
        return _page(space, query, {error.field: here(error)}, 422, release=_try_release(space, query))
    except discreet.DiscreetError as error:
        return _page(space, query, {"model": here(error)}, 422, release=_try_release(space, query))
    return _page(space, query, release=chosen.release, **_facts(space, query, chosen))


def upload(space: Workspace, form: Form) -> Response:
    """Open a release file from anywhere, and keep it in memory."""
    content = form.files.get("release", b"")
    try:
        if not content:
            raise FieldError("release", "choose a release file; its name ends in .json")
        release = discreet.Release.from_json(content.decode("utf-8"))
        if release.private:
            discreet.verify(release)
    except UnicodeDecodeError:
        return _page(space, form, {"release": "expected a release file, got a file that is not text"}, 422)
    except discreet.DiscreetError as error:
        return _page(space, form, {"release": here(error)}, 422)
    return see_other(f"/analyse?upload={space.upload(release, form.get('release:name'))}")


def picture(space: Workspace, query: Form) -> Response:
    """Return the plot of many coefficients, which a page loads after it is shown."""
    try:
        return part("picture", drawn=_drawn(space, _chosen(space, query)))
    except discreet.DiscreetError as error:
        return part("part_refused", message=here(error))


def export(space: Workspace, query: Form) -> Response:
    """Return the coefficient table or a plot of a model as a file."""
    kind = query.get("kind")
    if kind not in EXPORTS:
        raise FieldError("kind", "expected the format md, tex, csv, html, png or svg")
    chosen = _chosen(space, query)
    if kind in ("png", "svg"):
        with space.drawing, quiet():
            content: bytes | str = _picture(chosen, kind, query)
    else:
        table = chosen.fit.table(chosen.level)
        content = {"md": table.to_markdown, "tex": table.to_latex, "csv": table.to_csv, "html": table.to_html}[kind]()
    return attached(content, f"{chosen.fit.target}.{kind}", EXPORTS[kind])


def _picture(chosen: Chosen, kind: str, query: Form) -> bytes:
    fit, level = chosen.fit, chosen.level
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"picture.{kind}")
        if query.get("picture") == "prediction":
            prediction_view.drawn(fit, level, prediction_view.places(fit, query), query, path)
        else:
            fit.plot(path, level=level)
        return path.read_bytes()


def _release(space: Workspace, query: Form) -> tuple[discreet.Release, tuple[object, ...]]:
    """Return the release that a query names, and a key that identifies it."""
    upload, name = query.get("upload"), query.get("file")
    if upload:
        if upload not in space.uploads:
            raise FieldError("file", "the uploaded file is no longer in memory; open it again")
        return space.uploads[upload], ("upload", upload)
    path = space.folder.file(name)
    state = path.stat()
    if state.st_size > MOST_BYTES:
        raise FieldError("file", "the file is larger than any release; choose another file")

    def load() -> discreet.Release:
        release = discreet.Release.load(path)
        if release.private:
            discreet.verify(release)
        return release

    key = ("file", name, state.st_mtime_ns, state.st_size, state.st_ino)
    try:
        return space.remembered("release", *key, make=load), key
    except discreet.DiscreetError as error:
        raise FieldError("file", space.hidden(error)) from None


def _try_release(space: Workspace, query: Form) -> discreet.Release | None:
    try:
        return _release(space, query)[0]
    except discreet.DiscreetError:
        return None


def _chosen(space: Workspace, query: Form) -> Chosen:
    release, key = _release(space, query)
    level = query.number("level", "Level") if query.get("level") else 95.0
    if not 50 <= level < 100:
        raise FieldError("level", f"level: expected a percentage from 50 to below 100, got {level:g}")
    options: dict[str, Any] = {}
    target = query.get("target") or release.design.target
    # a release of coefficients contains one model, so there is nothing to choose
    if release.coefficients is None:
        options["target"] = target
        only = [name.strip() for name in query.get("only").split(",") if name.strip()]
        features = only or [name for name in query.every("feature") if name != target]
        if query.get("asked") and not features:
            raise FieldError("feature", "tick at least one column that explains the target")
        options |= {"features": features} if features else {}
        penalty = query.get("penalty") or "none"
        options["penalty"] = penalty
        if penalty in ("ridge", "lasso", "elastic-net"):
            strength = query.get("strength")
            options["strength"] = (
                query.number("strength", "Strength") if strength not in ("", "criterion") else "criterion"
            )
        if penalty == "elastic-net":
            options["l1_ratio"] = query.optional("l1_ratio", "Proportion of lasso") if query.get("l1_ratio") else 0.5
        if "robust" in query:
            options["cov_type"] = "HC1"

    def make() -> discreet.Fit:
        with quiet():
            fit: discreet.Fit = discreet.fit(release, **options)
            return fit

    fit = space.remembered("fit", *key, options, make=make)
    return Chosen(release, fit, level / 100, (*key, options, level))


def _facts(space: Workspace, query: Form, chosen: Chosen) -> dict[str, Any]:
    fit, level = chosen.fit, chosen.level

    def read() -> tuple[Any, ...]:
        return fit.to_dict(level), fit.conf_int(level), discreet.diagnose(fit)

    with quiet():
        known, sets, diagnostics = space.remembered("model", *chosen.key, make=read)
        address = urlencode([(key, value) for key, value in query.fields if key not in ("kind", "picture")])
        facts: dict[str, Any] = {
            "fit": fit, "known": known, "sets": sets, "diagnostics": diagnostics, "level": 100 * level, "drawn": "",
            "no_drawing": "", "compared": None, "compare_error": "", "address": address,
            "later": len(fit.names) > DRAWN_AT_ONCE and query.get("draw") != "yes",
        }  # fmt: skip
        if not facts["later"]:
            try:
                facts["drawn"] = _drawn(space, chosen)
            except discreet.DiscreetError as error:
                facts["no_drawing"] = here(error)
        facts |= prediction_view.facts(space, query, fit, level, chosen.key) | _comparison(query, chosen)
    return facts


def _drawn(space: Workspace, chosen: Chosen) -> str:
    fit, level = chosen.fit, chosen.level
    return space.remembered(
        "fit drawn", *chosen.key,
        make=lambda: space.picture(lambda: fit.plot(level=level), f"Coefficients of {fit.target}"),
    )  # fmt: skip


def _comparison(query: Form, chosen: Chosen) -> dict[str, Any]:
    """Compare several models of the same target."""
    text = query.get("models")
    if not text:
        return {}
    models = [[name.strip() for name in line.split(",") if name.strip()] for line in text.splitlines() if line.strip()]
    try:
        compared = discreet.compare_models(chosen.release, models, target=chosen.fit.target)
    except discreet.DiscreetError as error:
        return {"compare_error": here(error)}
    return {"compared": compared}


def _origin(space: Workspace, query: Form, release: discreet.Release) -> dict[str, str]:
    """Return the name of the open file, and whether its signature is valid, unchecked, missing or rejected."""
    upload, key = query.get("upload"), query.get("key")
    opened = space.upload_names.get(upload, "") if upload else query.get("file")
    facts = {"opened": opened or "an uploaded file", "signature": "none", "key_error": ""}
    if not release.private:
        return facts
    try:
        path = space.folder.file(key, "key") if key else None
        facts["signature"] = discreet.verify(release, key=path).signature
    except discreet.DiscreetError as error:
        facts |= {"signature": "refused", "key_error": space.hidden(error)}
    return facts


def _page(
    space: Workspace, query: Form, errors: dict[str, str] | None = None, status: int = 200, **facts: object
) -> Response:
    shown: dict[str, object] = {
        "query": query, "errors": errors or {}, "penalties": PENALTIES, "files": space.folder.listed(".json"),
        "release": None, "fit": None, "uploaded": query.get("upload"), "keys": space.folder.listed(".pem"),
    }  # fmt: skip
    release = facts.get("release")
    if isinstance(release, discreet.Release):
        shown |= _origin(space, query, release)
    return render(space, "analyse", "analyse", status, **(shown | facts))


SHOWN: Final[dict[str, Callable[[Workspace, Form], Response]]] = {
    "/analyse": show, "/analyse/picture": picture, "/analyse/export": export,
}  # fmt: skip
CHANGED: Final[dict[str, Callable[[Workspace, Form], Response]]] = {"/analyse/open": upload}
