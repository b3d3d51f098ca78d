"""Write the tables of the pages from a stored run, between `% begin NAME` and `% end NAME`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import ROOT, Spread
from benchmarks.results import QUIET

Run = Mapping[str, Any]
PAGES = ("docs/scale.md", "docs/reference/benchmarks.md")
_BLOCK = re.compile(r"(?<=^% begin )(\w+)\n.*?^(?=% end \1$)", flags=re.DOTALL | re.MULTILINE)
# rows of the table of limits: names of figures, in order
WANTED = (
    "large-cpu", "large-cpu-batches", "large-wall", "large-wall-batches", "large-wall-2", "large-wall-2-batches",
    "large-memory", "sklearn-cpu", "sklearn-memory", "gram-100", "gram-300",
    "busy-wall", "busy-cpu", "levels", "staged-cpu", "pass-irls", "pass-gradient", "pass-frank-wolfe", "pass-objective",
    "objective-seconds", "csv-cpu", "csv-cpu-batches", "persons", "fit-50-seconds", "fit-300-seconds", "help-seconds",
)  # fmt: skip

# rows of this table without a limit: a stricter comparison than the previous row
STRICTER = ("large-cpu-batches", "large-wall-batches", "large-wall-2-batches", "csv-cpu-batches")


def short(value: float) -> str:
    """Format a number with three digits, without an exponent if possible.

    >>> short(1234.5), short(0.01234), short(2.5)
    ('1,234', '0.0123', '2.50')
    """
    if value >= 100:
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):#.3g}" if value >= 1e-3 else f"{value:.2g}"


def spread(values: Sequence[float]) -> str:
    """Format a median with the range of its repeats.

    >>> spread([2.0, 1.0, 3.0])
    '2.00 (1.00 to 3.00)'
    """
    found = Spread.of(values)
    return (
        short(found.median)
        if found.repeats == 1
        else f"{short(found.median)} ({short(found.low)} to {short(found.high)})"
    )


def median(values: Sequence[float]) -> str:
    """Format a median, or a dash if there is none."""
    return short(Spread.of(values).median) if values else "—"


def megabytes(values: Sequence[float]) -> str:
    """Format a median of bytes as MB."""
    return median([value / 2**20 for value in values])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a Markdown table with numbers aligned right."""
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join('---' if index == 0 else '--:' for index in range(len(head)))}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def case_of(run: Run, name: str) -> Mapping[str, Any] | None:
    """Return a case by name, if the run has it."""
    return next((case for case in run["cases"] if case["name"] == name), None)


def family(run: Run, stem: str) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the cases named by a stem and a number, keyed by that number."""
    named = ((re.fullmatch(rf"{stem}-(\d+)", case["name"]), case) for case in run["cases"])
    return sorted(((int(found[1]), case) for found, case in named if found), key=lambda one: one[0])


def measurement(case: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a measurement by name, or a gap if the run has none."""
    absent = {"name": name, "label": name, "cpu": [], "wall": [], "memory": [], "gap": "not measured"}
    return next((one for one in case["measurements"] if one["name"] == name), absent)


def said(run: Run) -> str:
    """Describe when, where and how the run was measured."""
    known = run["environment"]
    used = [case["others"] for case in run["cases"] if case["others"] is not None]
    most = max(used, default=None)
    free = (
        "The system does not say what other programs used meanwhile, so wall times are not judged."
        if most is None
        else f"Other programs used at most {short(most)} cores meanwhile"
        + (
            ": the machine was free."
            if most < QUIET
            else ": **the machine was not free**, so read ratios, and no wall times."
        )
    )
    text = (
        f"Measured on {run['date']}: discreet {known['versions']['.venv'].get('discreet', 'unknown')} "
        f"({known['commit']}), Python {known['python']}, {known['system']}, {known['processor']}, "
        f"{known['cores']} cores, {known['memory_gb']} GB; sizes of the {run['profile']} run, medians of up to "
        f"{run['repeats']} repeats in turns (smallest to largest), {round(run['seconds'] / 60)} minutes. {free}"
    )
    return wrapped(text)


def wrapped(text: str) -> str:
    """Wrap text to the line length."""
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > 118:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


def wanted(run: Run) -> str:
    """Tabulate the figures that have a limit."""
    figures = {one["name"]: (case, one) for case in run["cases"] for one in case["figures"]}
    rows = []
    for name in WANTED:
        if name not in figures:
            continue
        case, one = figures[name]
        found = f"gap: {one['gap'].split(': ')[-1]}" if one["gap"] else spread(one["values"])
        limit = "—" if one["wanted"] is None else f"{'at least' if one['least'] else 'at most'} {one['wanted']:g}"
        met = {True: "yes", False: "**no**", None: "not judged"}[one["met"]]
        rows.append((f"{case['title']}: {one['label']}", found, limit, met))
    return table(("Work", "Measured", "Wanted", "Met"), rows)


def rows(run: Run) -> str:
    """Tabulate the cost by number of rows."""
    points = family(run, "rows")
    large = case_of(run, "large")
    if large is not None:
        points.append((_rows_of(large), large))
    found = []
    for count, case in sorted(points, key=lambda one: one[0]):
        one, two, read = (measurement(case, name) for name in ("ours", "ours-2", "read"))
        speeds = [median([count / wall / 1e6 for wall in ours["wall"]]) for ours in (one, two)]
        memory = [megabytes(ours["memory"]) for ours in (one, two)]
        found.append((f"{count:,}", median(one["cpu"]), median(read["cpu"]), *speeds, *memory))
    head = ("Rows x 20, Parquet", "CPU s", "reading alone, CPU s", "million rows a second of wall", "with 2 workers",
            "peak MB", "with 2 workers")  # fmt: skip
    return table(head, found)


def _rows_of(case: Mapping[str, Any]) -> int:
    return int(re.findall(r"[\d,]+", case["title"])[0].replace(",", ""))


def columns(run: Run) -> str:
    """Tabulate the cost by number of columns."""
    noisy = case_of(run, "noise")
    found = []
    for count, case in family(run, "columns"):
        size = _rows_of({"title": case["title"].split("columns,")[1]})
        row = [f"{count:,}"]
        for name in ("ours sums", "plain sums"):
            values = measurement(case, name)["cpu"]
            row.append(median([1e6 * value / size for value in values]))
        draws = [
            one for one in (noisy or {"measurements": []})["measurements"] if one["name"] == f"noise-{count} release"
        ]
        found.append((*row, median(draws[0]["cpu"]) if draws else "—"))
    head = ("Columns", "exact sums, CPU µs a row", "plain NumPy, CPU µs a row", "noise, CPU s once")
    return table(head, found)


def levels(run: Run) -> str:
    """Tabulate the cost by number of levels of a category."""
    case = case_of(run, "levels")
    if case is None:
        return "Not measured."
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in case["measurements"]:
        found.setdefault(one["name"].split()[0].split("-")[1], []).append(one)
    rows = [
        (f"{int(count):,}", *(f"gap: {one['gap']}" if one["gap"] else median(one["cpu"]) for one in both))
        for count, both in found.items()
    ]
    return table((f"Levels, {_rows_of(case):,} rows", "exact sums, CPU s", "release, CPU s"), rows)


def mechanisms(run: Run) -> str:
    """Tabulate the cost by mechanism and, if there are several, by pass."""
    case, passes = case_of(run, "mechanisms"), case_of(run, "passes")
    if case is None:
        return "Not measured."
    later = {
        one["top"].split()[0]: spread(one["values"])
        for one in (passes or {"figures": []})["figures"]
        if one["values"] and one["bottom"].endswith(" gaussian")
    }
    rows = [
        (f"`{one['label'].split(',')[0]}`", f"gap: {one['gap']}" if one["gap"] else spread(one["cpu"]),
         later.get(one["label"].split(",")[0], "—"))
        for one in case["measurements"]
    ]  # fmt: skip
    title = case["title"].split(": ")[1]
    return table((title[0].upper() + title[1:], "CPU s", "a later pass over the one of `gaussian`"), rows)


def workers(run: Run) -> str:
    """Tabulate wall and CPU time by number of workers."""
    case = case_of(run, "large")
    if case is None:
        return "Not measured."
    names = ("ours", "ours-2", "ours-4", "whole", "whole-2", "read", "read-2", "read-buffered", "gram")
    known = {one["name"] for one in case["measurements"]}
    return measured_table(case, [measurement(case, name) for name in names if name in known])


def analysis(run: Run) -> str:
    """Tabulate the seconds of an analyst's work."""
    case = case_of(run, "analysis")
    return "Not measured." if case is None else measured_table(case, case["measurements"], memory=False)


def baselines(run: Run) -> str:
    """Tabulate the baselines on the same file."""
    case = case_of(run, "baselines")
    return "Not measured." if case is None else measured_table(case, case["measurements"], over="ours")


def measured_table(
    case: Mapping[str, Any], found: Sequence[Mapping[str, Any]], *, over: str | None = None, memory: bool = True
) -> str:
    """Tabulate the measurements of a case: seconds, memory, and cost relative to one of them."""
    base = None if over is None else measurement(case, over)
    head = [case["title"], "CPU s", "wall s", *(["peak MB"] if memory else [])]
    head += ["CPU over ours", "memory over ours"] if base else []
    rows = []
    for one in found:
        if one["gap"]:
            rows.append((one["label"], f"gap: {one['gap']}", *["—"] * (len(head) - 2)))
            continue
        row = [one["label"], spread(one["cpu"]), spread(one["wall"])]
        row += [megabytes(one["memory"])] if memory else []
        for what in ("cpu", "memory") if base else ():
            pairs = zip(one[what], base[what] if base else (), strict=False)
            row.append(median([mine / other for mine, other in pairs]))
        rows.append(tuple(row))
    return table(head, rows)


def versions(run: Run) -> str:
    """Tabulate the versions of all measured programs."""
    rows = [
        (f"`{name}`", ", ".join(f"{package} {number}" for package, number in found.items()) or "gap: not there")
        for name, found in run["environment"]["versions"].items()
    ]
    return table(("Environment", "Versions"), rows)


def cases(run: Run) -> str:
    """Tabulate every case with its measurements and figures."""
    parts = []
    for case in run["cases"]:
        parts.append(f"### {case['title']}")
        parts.append(measured_table({**case, "title": "Subject"}, case["measurements"]))
        if case["figures"]:
            found = [
                (one["label"], f"gap: {one['gap']}" if one["gap"] else spread(one["values"])) for one in case["figures"]
            ]
            parts.append(table(("Figure", "Median (smallest to largest)"), found))
    return "\n\n".join(parts)


BLOCKS: dict[str, Callable[[Run], str]] = {
    "run": said, "wanted": wanted, "rows": rows, "columns": columns, "levels": levels, "mechanisms": mechanisms,
    "workers": workers, "analysis": analysis, "baselines": baselines, "versions": versions, "cases": cases,
}  # fmt: skip


def filled(text: str, run: Run) -> str:
    """Fill the blocks of a page from a run."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n\n{BLOCKS[found[1]](run)}\n\n", text)


def write(run: Run, root: Path = ROOT) -> None:
    """Write the blocks of all pages."""
    for name in PAGES:
        page = root / name
        page.write_text(filled(page.read_text(encoding="utf-8"), run), encoding="utf-8")
