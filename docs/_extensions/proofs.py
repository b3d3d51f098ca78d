"""Generate the folder `proofs`: a page for every `*.proof.md` of the source tree, and an index by package."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
_REFERENCE = re.compile(r"`?\b(?:[\w-]+/)*(\w+)\.proof\.md`?")


def proof_files(root: Path = ROOT) -> dict[str, Path]:
    """Return the proofs by the name of their page, sorted by path."""
    sources = [root / "src", *sorted((root / "packages").glob("*/src"))]
    files = sorted(path for source in sources for path in source.rglob("*.proof.md"))
    pages = {path.name.removesuffix(".proof.md"): path for path in files}
    if len(pages) < len(files):
        raise ValueError("two proofs have the same file name, but each needs its own page")
    return pages


def title(text: str) -> str:
    """Return the title of a page."""
    return text.partition("\n")[0].removeprefix("# ")


def pages(root: Path = ROOT) -> dict[str, str]:
    """Return the text of every page by its file name."""
    files = proof_files(root)
    texts = {f"{name}.md": _page(path, root, files) for name, path in files.items()}
    return {"index.md": _index(files), **texts}


def _page(path: Path, root: Path, files: dict[str, Path]) -> str:
    def link(reference: re.Match[str]) -> str:
        name = reference[1]
        return f"[`{reference[0].strip('`')}`]({name}.md)" if name in files else reference[0]

    heading, _, body = path.read_text(encoding="utf-8").partition("\n")
    source = path.relative_to(root).as_posix()
    return f"{heading}\n\nSource: `{source}`.\n{_REFERENCE.sub(link, body)}"


def _index(files: dict[str, Path]) -> str:
    lines = [
        "# Proofs",
        "",
        "Each proof is a file next to the code that it covers. It states a claim and the assumptions, and shows why",
        "the code satisfies the claim. A tag such as `[P:name]` marks a statement of the proof and the line of code to",
        "which the statement refers. If that code changes, a test fails until the proof has been read again.",
    ]
    packages: dict[str, list[str]] = {}
    for name, path in files.items():
        packages.setdefault(_package(path), []).append(name)
    for package in sorted(packages):
        lines += ["", f"## {package}", ""]
        lines += [f"- [{title(files[name].read_text(encoding='utf-8'))}]({name}.md)" for name in packages[package]]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *files, "```", ""])


def _package(path: Path) -> str:
    """Return the dotted package of a proof: `discreet.curator` also for a proof of `discreet/curator/sums`."""
    parts = path.parts[len(path.parts) - path.parts[::-1].index("src") : -1]
    return ".".join(parts[:2])


def write(folder: Path, root: Path = ROOT) -> None:
    """Write the pages that changed, and delete those without a proof."""
    folder.mkdir(exist_ok=True)
    texts = pages(root)
    for path in folder.glob("*.md"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Generate the pages before Sphinx looks for sources."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "proofs"))
    return {"parallel_read_safe": True}
