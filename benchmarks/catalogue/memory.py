"""Define cases on tables in memory: sums, noise, passes and mechanisms."""

from __future__ import annotations

from benchmarks.cases import Case, Figure, job
from benchmarks.catalogue.sizes import D, Sizes, counted
from benchmarks.measuring import Subject

MECHANISMS = ("gaussian", "laplace", "k-norm", "wishart", "functional", "ssp", "adassp", "dpme", "frank-wolfe", "irls",
              "gradient", "output", "objective", "refined")  # fmt: skip
PURE = ("laplace", "k-norm", "functional")
PASSES: dict[str, dict[str, object]] = {
    "irls": {"iterations": 20}, "gradient": {"iterations": 20}, "frank-wolfe": {"iterations": 20}, "objective": {},
}  # fmt: skip


def by_columns(sizes: Sizes) -> list[Case]:
    """Return the cases by number of columns."""
    found = []
    for columns, rows in sizes.columns:
        given = {"rows": rows, "columns": columns}
        subjects = (
            Subject("ours", "exact sums", job("sums.exact", **given), ("sums",), ours=True),
            Subject("plain", "plain chunked NumPy Gram", job("sums.plain", **given), ("sums",)),
        )
        figures = (Figure(f"columns-{columns}", "exact over plain sums, CPU", "ours sums", "plain sums"),)
        title = f"Columns: {columns} columns, {counted(rows)} rows in memory"
        found.append(Case(f"columns-{columns}", title, subjects, figures, most=3))
    return found


def gram(sizes: Sizes) -> Case:
    """Return the case of exact sums, compared with floating-point sums."""
    subjects, figures = [], []
    for (columns, rows), limit in zip(sizes.gram_rows, (2.0, 1.6), strict=True):
        given = {"rows": rows, "columns": columns, "times": 5}
        shown = f"d = {columns}, {counted(rows)} rows"
        subjects += [
            Subject(f"exact-{columns}", f"exact, {shown}", job("sums.exact", **given), ("sums",), ours=True),
            Subject(f"plain-{columns}", f"plain, {shown}", job("sums.plain", **given), ("sums",)),
        ]
        figures.append(
            Figure(
                f"gram-{columns}",
                f"exact over plain chunked Gram, d = {columns}, CPU",
                f"exact-{columns} sums",
                f"plain-{columns} sums",
                limit=limit,
            )
        )
    return Case("gram", "Exact and plain sums, in memory", tuple(subjects), tuple(figures))


def busy(sizes: Sizes) -> Case:
    """Return the case of BLAS threads while two other processes are busy."""
    columns, rows = sizes.gram_rows[0]
    words = job("sums.exact", rows=rows, columns=columns, times=3)
    subjects = (
        Subject("default", "default BLAS threads", words, ("sums",), ours=True, threads=None, beside=2),
        Subject("one", "one BLAS thread", words, ("sums",), ours=True, beside=2),
    )
    label = "Python API, default BLAS over one BLAS thread"
    figures = (
        Figure("busy-wall", f"{label}, wall", "default sums", "one sums", "wall", limit=1.2, busy_limit=1.2),
        Figure("busy-cpu", f"{label}, CPU", "default sums", "one sums", limit=1.2),
    )
    title = f"With 2 busy processes running: {columns} columns, {counted(rows)} rows in memory"
    return Case("busy", title, subjects, figures)


def by_levels(sizes: Sizes) -> Case:
    """Return the case by number of levels of one category."""
    rows = sizes.level_rows
    subjects = tuple(
        Subject(f"{part}-{levels}", f"{counted(levels)} levels, {part}",
                job("sums.levels", rows=rows, levels=levels, part=part), (part,), ours=True,
                refusable=levels > 1000, limit=60)
        for levels in sizes.levels for part in ("sums", "release")
    )  # fmt: skip
    low, high = sizes.levels[0], sizes.levels[-1] if len(sizes.levels) < 3 else sizes.levels[2]
    figures = tuple(
        Figure(
            "levels" if part == "sums" else "levels-release",
            f"{counted(high)} levels over {counted(low)}, {part}, CPU",
            f"{part}-{high} {part}",
            f"{part}-{low} {part}",
            limit=5.0 if part == "sums" else None,
        )
        for part in ("sums", "release")
    )
    return Case("levels", f"Levels of one category: {counted(rows)} rows in memory", subjects, figures, most=3)


def persons(sizes: Sizes) -> Case:
    """Return the case of individuals with a cap on their rows, compared with independent rows."""
    given = {"rows": sizes.persons_rows, "persons": sizes.persons_rows // 5}
    subjects = (
        Subject(
            "persons", "3 rows of each person", job("sums.persons", **given, by_person=True), ("release",), ours=True
        ),
        Subject("rows", "every row", job("sums.persons", **given, by_person=False), ("release",), ours=True),
    )
    figures = (
        Figure("persons", "people over rows, CPU", "persons release", "rows release", limit=20.0),
        Figure("persons-memory", "people, peak memory of the process, MB", "persons release", of="memory"),
    )
    rows, people = counted(sizes.persons_rows), counted(sizes.persons_rows // 5)
    title = f"People with several rows: {rows} rows x 5, {people} people, in memory"
    return Case("persons", title, subjects, figures, most=3)


def noise(sizes: Sizes) -> Case:
    """Return the case of noise and accounting by number of columns."""
    subjects = tuple(
        Subject(f"noise-{columns}", f"d = {columns}", job("releases.noise", columns=columns), ("release", "file"),
                ours=True, most=3 if columns > 300 else None)
        for columns in sizes.noise
    )  # fmt: skip
    figures = tuple(
        Figure(f"noise-{columns}", f"noise and bookkeeping at d = {columns}, CPU seconds", f"noise-{columns} release")
        for columns in sizes.noise
    )
    return Case("noise", "Noise: a release of 100 rows", subjects, figures)


def passes(sizes: Sizes) -> Case:
    """Return the case of later passes, compared with the first and with the single pass of `gaussian`."""
    given = {"rows": sizes.pass_rows, "columns": D}
    parts = ("gaussian", "first", "later")
    subjects = tuple(
        Subject(name, name, job("releases.passes", name=name, **given, settings=settings), parts, ours=True)
        for name, settings in PASSES.items()
    )
    figures = []
    for name in PASSES:
        label = f"a later pass of {name} over"
        figures += [
            Figure(
                f"pass-{name}", f"{label} the only one of gaussian, CPU", f"{name} later", f"{name} gaussian", limit=1.2
            ),
            Figure(f"pass-{name}-first", f"{label} its first, CPU", f"{name} later", f"{name} first"),
        ]
    return Case("passes", f"Passes: {counted(sizes.pass_rows)} x {D} in memory", subjects, tuple(figures))


def mechanisms(sizes: Sizes) -> Case:
    """Return the case of every mechanism on the same table."""
    given = {"rows": sizes.mechanism_rows, "columns": 10}
    subjects = tuple(
        Subject(name, name, job("releases.mechanism", name=name, **given, pure=name in PURE), ("release",), ours=True)
        for name in MECHANISMS
    )
    figures = tuple(
        Figure(f"mechanism-{name}", f"{name} over gaussian, CPU", f"{name} release", "gaussian release")
        for name in MECHANISMS[1:]
    )
    title = f"Mechanisms: {counted(sizes.mechanism_rows)} x 10 in memory, usual settings"
    return Case("mechanisms", title, subjects, figures, most=3)


def objective(sizes: Sizes) -> Case:
    """Return the case of exact linear algebra."""
    given = {"name": "objective", "rows": 1000, "columns": sizes.objective}
    subjects = (Subject("objective", "objective", job("releases.mechanism", **given), ("release",), ours=True),)
    label = f"`objective` at d = {sizes.objective}, CPU seconds"
    figures = (Figure("objective-seconds", label, "objective release", limit=1.0),)
    return Case("objective", f"Exact linear algebra: 1,000 x {sizes.objective} in memory", subjects, figures, most=3)
