"""Write the files of a run: plots, numbers and a page for each figure, and a file with all verdicts."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO, StringIO
from pathlib import Path
from typing import Final

from discreet import __version__
from discreet.analyst.plots.style import PANELS, house_style
from discreet.files import write_bytes
from discreet_papers.figure import Criterion, NumberTable, Outcome
from discreet_papers.figure_catalogue import DOCUMENTS
from discreet_papers.runner import MASTER_SEED, Result, ShownErratum

VERDICTS: Final = "verdicts.json"
_DOTS: Final = 130  # dots per inch
_PACKAGES: Final = ("numpy", "scipy", "pandas", "matplotlib", "cvxpy", "scikit-learn", "statsmodels")
_HOLDS: Final = {True: "holds", False: "does not hold", None: "not run"}


def write_figure(result: Result, folder: Path) -> tuple[Path, ...]:
    """Write the plots, CSV and Markdown page of a figure, replacing earlier files. Return their paths."""
    contents = {**_pictures(result), ".csv": _numbers(result).encode(), ".md": page(result).encode()}
    folder.mkdir(parents=True, exist_ok=True)
    paths = tuple(folder / f"{result.figure.name}{suffix}" for suffix in contents)
    for path, content in zip(paths, contents.values(), strict=True):
        write_bytes(path, content, force=True)
    return paths


def write_verdicts(results: Sequence[Result], shown: Sequence[ShownErratum], folder: Path) -> Path:
    """Write all verdicts as JSON."""
    path = folder / VERDICTS
    write_bytes(path, (json.dumps(verdicts(results, shown), indent=1) + "\n").encode(), force=True)
    return path


def verdicts(results: Sequence[Result], shown: Sequence[ShownErratum] = ()) -> dict[str, object]:
    """Return all verdicts as values that JSON can store."""
    return {
        "discreet": __version__,
        "master_seed": MASTER_SEED,
        "figures": {result.figure.name: _figure_values(result) for result in results},
        "errata": {
            f"E{result.erratum.number}": {
                "document": result.erratum.document,
                "claim": result.erratum.claim,
                "verdict": result.verdict,
                "measured": result.outcome.measured,
                "seconds": round(result.seconds, 2),
            }
            for result in shown
        },
    }


def page(result: Result) -> str:
    """Return the Markdown page of a figure: claim, criteria, measurements and verdict."""
    figure = result.figure
    lines = [f"# {figure.name}: {figure.title}", "", f"*{DOCUMENTS[figure.document].citation}*", ""]
    lines += [f"**Verdict: {result.verdict}.**", "", f"![{figure.title}]({figure.name}.png)", ""]
    lines += ["## What the document says", "", figure.says, "", "## Criteria", ""]
    lines += ["| Criterion | Measured | Outcome |", "|---|---|---|"]
    for criterion, outcome in result.outcomes:
        lines.append(f"| {_cell(criterion.claim)} | {_cell(outcome.measured)} | {_HOLDS[outcome.holds]} |")
    if reasons := [criterion.why for criterion, outcome in result.outcomes if outcome.holds is False]:
        lines += ["", "## Why the result differs", "", *(f"- {reason}" for reason in reasons)]
    for table in figure.tables(result.numbers):
        lines += ["", f"## {table.title}", "", *_markdown(table)]
    if figure.choices:
        lines += ["", "## Our choices where the document is silent", "", *(f"- {choice}" for choice in figure.choices)]
    if left_out := list(figure.not_run(result.run)):
        lines += ["", "## Not run", "", *(f"- {sentence}" for sentence in left_out)]
    how = "quick (fewer repetitions)" if result.run.quick else "full"
    lines += ["", f"Run: {how}, {result.seconds:.0f} s of computing time. Noise is seeded: NOT PRIVATE.", ""]
    return "\n".join(lines)


def _markdown(table: NumberTable) -> list[str]:
    rule = ["---"] * len(table.headers)
    return [f"| {' | '.join(map(_cell, row))} |" for row in (table.headers, rule, *table.rows)]


def _figure_values(result: Result) -> dict[str, object]:
    return {
        "document": result.figure.document,
        "verdict": result.verdict,
        "seconds": round(result.seconds, 1),
        "quick": result.run.quick,
        "criteria": [_outcome_values(criterion, outcome) for criterion, outcome in result.outcomes],
        "not_run": list(result.figure.not_run(result.run)),
    }


def _outcome_values(criterion: Criterion, outcome: Outcome) -> Mapping[str, object]:
    return {"key": criterion.key, "claim": criterion.claim, "holds": outcome.holds, "measured": outcome.measured}


def _pictures(result: Result) -> dict[str, bytes]:
    """Return the plot as PNG and SVG, and as PDF if the figure requires it, by suffix."""
    from matplotlib import rc_context

    with house_style(size=PANELS):
        picture = result.figure.draw(result.numbers, result.run)
    # leave out dates and versions, so that the bytes are reproducible
    undated = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    contents = {}
    with rc_context({"svg.hashsalt": result.figure.name, "svg.fonttype": "path"}):
        for suffix in (".png", ".svg", *([".pdf"] if result.figure.pdf else [])):
            written = BytesIO()
            picture.savefig(written, format=suffix[1:], dpi=_DOTS, metadata=undated[suffix])
            contents[suffix] = written.getvalue()
    return contents


def _numbers(result: Result) -> str:
    """Return the numbers as CSV, after comment lines with versions and the seed rule."""
    text = StringIO()
    text.write(f"# {result.figure.name}, discreet {__version__}, Python {platform.python_version()}")
    text.writelines(f", {name} {installed}" for name in _PACKAGES if (installed := _version(name)))
    text.write(f"\n# seed of a cell: first 8 bytes of sha256('{MASTER_SEED}/figure/cell') as an integer; NOT PRIVATE\n")
    text.write(f"# quick: {str(result.run.quick).lower()}\n")
    result.numbers.to_csv(text, index=False, float_format="%.8g", lineterminator="\n")
    return text.getvalue()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
