"""All cases of a run, at the sizes of a profile."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.cases import Case, Figure, TableFile, job, ours_on_file
from benchmarks.measuring import Subject

WORKERS = "ComputeOptions.workers"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows, columns and repeats of a profile."""

    repeats: int
    large: int
    middle: int
    rows: tuple[int, ...]
    copies: tuple[int, ...]  # of the large file, in one folder
    columns: tuple[tuple[int, int], ...]  # columns and rows
    gram_rows: tuple[tuple[int, int], ...]
    levels: tuple[int, ...]
    level_rows: int
    csv_rows: int
    persons_rows: int
    noise: tuple[int, ...]
    pass_rows: int
    mechanism_rows: int
    objective: int
    analysis: tuple[int, ...]


PROFILES = {
    "full": Sizes(
        repeats=5, large=10_000_000, middle=2_100_000, rows=(10_000, 100_000, 1_000_000), copies=(3,),
        columns=((5, 1_000_000), (20, 1_000_000), (100, 200_000), (300, 100_000), (1000, 30_000)),
        gram_rows=((100, 300_000), (300, 100_000)), levels=(10, 100, 1000, 10_000), level_rows=1_000_000,
        csv_rows=1_000_000, persons_rows=1_000_000, noise=(10, 100, 300, 1000), pass_rows=300_000,
        mechanism_rows=100_000, objective=300, analysis=(20, 50, 100, 300),
    ),
    "quick": Sizes(
        repeats=3, large=1_000_000, middle=300_000, rows=(10_000, 100_000), copies=(3,),
        columns=((5, 200_000), (20, 200_000), (100, 50_000), (300, 20_000)), gram_rows=((100, 50_000), (300, 20_000)),
        levels=(10, 100, 1000), level_rows=100_000, csv_rows=200_000, persons_rows=200_000, noise=(10, 100, 300),
        pass_rows=50_000, mechanism_rows=20_000, objective=100, analysis=(20, 50, 100),
    ),
    "tiny": Sizes(
        repeats=2, large=200_000, middle=50_000, rows=(10_000,), copies=(2,), columns=((5, 10_000), (20, 10_000)),
        gram_rows=((100, 10_000), (300, 5_000)), levels=(10, 50), level_rows=10_000, csv_rows=20_000,
        persons_rows=20_000, noise=(10, 50), pass_rows=10_000, mechanism_rows=5_000, objective=20, analysis=(10, 20),
    ),
}  # fmt: skip
D = 20
MECHANISMS = ("gaussian", "laplace", "k-norm", "wishart", "functional", "ssp", "adassp", "frank-wolfe", "irls",
              "gradient", "output", "objective", "refined")  # fmt: skip
PURE = ("laplace", "k-norm", "functional")
PASSES: dict[str, dict[str, object]] = {
    "irls": {"iterations": 20}, "gradient": {"iterations": 20}, "frank-wolfe": {"iterations": 20}, "objective": {},
}  # fmt: skip


def tables(sizes: Sizes) -> dict[str, TableFile]:
    """Every file that cases name."""
    parquet = {"large": sizes.large, "middle": sizes.middle, **{f"rows{rows}": rows for rows in sizes.rows}}
    return {
        "design": TableFile("tables.design", {"columns": D}, ".toml"),
        **{name: TableFile("tables.parquet", {"rows": n, "columns": D}, ".parquet") for name, n in parquet.items()},
        **{f"copies{times}": TableFile("tables.copies", {"one": "{large}", "times": times}) for times in sizes.copies},
        "text": TableFile("tables.csv", {"rows": sizes.csv_rows, "columns": D}, ".csv"),
        "mixed_parquet": TableFile("tables.mixed", {"rows": sizes.csv_rows}, ".parquet"),
        "mixed_csv": TableFile("tables.mixed", {"rows": sizes.csv_rows}, ".csv"),
    }


def cases(sizes: Sizes, *, workers: bool = True) -> list[Case]:
    """Every case of a profile; `workers`: whether the number of workers can be chosen."""
    one = ("--workers", "1") if workers else ()
    return [
        start_up(), large_file(sizes, one), rivals(sizes, one), *by_rows(sizes, one), text(sizes, one),
        *by_columns(sizes), gram(sizes), busy(sizes), by_levels(sizes), persons(sizes), noise(sizes), passes(sizes),
        mechanisms(sizes), objective(sizes), analysis(sizes), solvers(), *checks(sizes),
    ]  # fmt: skip


def counted(number: int) -> str:
    """A number as a title writes it.

    >>> counted(10_000_000), counted(2_100_000)
    ('10,000,000', '2,100,000')
    """
    return f"{number:,}"


def start_up() -> Case:
    """Imports and help."""
    whole = {
        "interpreter": ("bare interpreter", ("-c", "pass")),
        "import": ("import discreet", ("-c", "import discreet")),
        "release-name": ("import discreet, with `discreet.release`", ("-c", "import discreet; discreet.release")),
        "help": ("discreet --help", ("-m", "discreet", "--help")),
        "pandas": ("import pandas", ("-c", "import pandas")),
        "sklearn": ("import scikit-learn's LinearRegression", ("-c", "from sklearn.linear_model import LinearRegression")),
        "statsmodels": ("import statsmodels.api", ("-c", "import statsmodels.api")),
    }
    ours = ("import", "release-name", "help")
    subjects = tuple(Subject(name, label, words, ours=name in ours) for name, (label, words) in whole.items())
    figures = (
        Figure("help-seconds", "`discreet --help`, CPU seconds", "help", limit=0.15),
        Figure("import-over-sklearn", "`import discreet` over importing scikit-learn", "import", "sklearn"),
    )
    return Case("start-up", "Start-up: a whole process", subjects, figures)


def large_file(sizes: Sizes, one: tuple[str, ...]) -> Case:
    """The large file beside reading it."""
    subjects = (
        Subject("ours", "discreet release, one worker", ours_on_file("large", "design", *one), ours=True),
        Subject("read", "reading, pyarrow, one thread", job("reading.parquet", path="{large}")),
        Subject("ours-2", "discreet release, two workers", ours_on_file("large", "design", "--workers", "2"),
                ours=True, needs=WORKERS),  # fmt: skip
        Subject("read-2", "reading, pyarrow, two threads", job("reading.parquet", path="{large}", threads=2)),
        Subject("read-buffered", "reading, pyarrow, one thread, small buffers",
                job("reading.parquet", path="{large}", buffered=True)),  # fmt: skip
        Subject("gram", "streamed NumPy sums and solve", job("reading.gram", path="{large}")),
    )
    figures = (
        Figure("large-cpu", "CPU over reading in a process", "ours", "read", limit=1.25, busy_limit=1.75),
        Figure("large-cpu-buffered", "CPU over reading with the same small buffers", "ours", "read-buffered"),
        Figure("large-cpu-gram", "CPU over a streamed NumPy Gram", "ours", "gram"),
        Figure("large-wall", "wall with 2 workers over a one-thread read", "ours-2", "read", "wall", limit=0.85),
        Figure("large-wall-2", "wall with 2 workers over a two-thread read", "ours-2", "read-2", "wall", limit=1.4),
        Figure("workers-wall", "wall with 2 workers over one", "ours-2", "ours", "wall"),
        Figure("workers-cpu", "CPU with 2 workers over one", "ours-2", "ours"),
        Figure("large-memory", "peak memory with 2 workers, MB", "ours-2", of="memory", limit=300.0),
        Figure("large-memory-1", "peak memory with one worker, MB", "ours", of="memory"),
    )
    title = f"A large file: {counted(sizes.large)} x {D} Parquet, whole processes"
    return Case("large", title, subjects, figures, ("large", "design"))


def rivals(sizes: Sizes, one: tuple[str, ...]) -> Case:
    """Load and fit, each in its own process."""
    path = "{middle}"
    subjects = (
        Subject("ours", "discreet release, one worker", ours_on_file("middle", "design", *one), ours=True),
        Subject("read", "reading, pyarrow, one thread", job("reading.parquet", path=path)),
        Subject("gram", "streamed NumPy sums and solve", job("reading.gram", path=path)),
        Subject("polars", "polars sums", job("rivals.polars_sums", path=path, columns=D)),
        Subject("duckdb", "DuckDB sums", job("rivals.duckdb_sums", path=path, columns=D)),
        Subject("lstsq", "NumPy lstsq", job("rivals.numpy_lstsq", path=path)),
        Subject("sklearn", "scikit-learn LinearRegression", job("rivals.sklearn", path=path)),
        Subject("diffprivlib", "diffprivlib LinearRegression", job("rivals.diffprivlib", path=path),
                environment=".venv-diffprivlib"),  # fmt: skip
        Subject("statsmodels", "statsmodels OLS", job("rivals.statsmodels", path=path)),
        Subject("spark", "Spark MLlib LinearRegression", job("rivals.spark", path=path), environment=".venv-spark",
                most=3, limit=240.0),  # fmt: skip
    )
    known = {one.name: one.label for one in subjects}
    figures = (
        Figure("sklearn-cpu", "scikit-learn load and fit, CPU over ours", "sklearn", "ours", limit=5.0, least=True),
        Figure("sklearn-memory", "scikit-learn load and fit, memory over ours", "sklearn", "ours", "memory", limit=8.0,
               least=True),  # fmt: skip
        *(
            Figure(f"{name}-{of}", f"{label}, {'CPU' if of == 'cpu' else of} over ours", name, "ours", of, least=True)
            for name, label in known.items()
            if name not in ("ours", "sklearn")
            for of in ("cpu", "memory")
        ),
    )
    title = f"Load and fit: {counted(sizes.middle)} x {D} Parquet, whole processes"
    return Case("rivals", title, subjects, figures, ("middle", "design"))


def by_rows(sizes: Sizes, one: tuple[str, ...]) -> list[Case]:
    """Growth in rows; the large file several times over is the end of it."""
    points = [(rows, f"rows{rows}", None) for rows in sizes.rows]
    points += [(sizes.large * times, f"copies{times}", 3) for times in sizes.copies]
    found = []
    for rows, table, most in points:
        subjects = (
            Subject("ours", "discreet release, one worker", ours_on_file(table, "design", *one), ours=True, limit=300),
            Subject("read", "reading, pyarrow, one thread", job("reading.parquet", path=f"{{{table}}}"), limit=300),
        )
        figures = (
            Figure(f"rows-{rows}-cpu", "CPU over reading in a process", "ours", "read"),
            Figure(f"rows-{rows}-memory", "peak memory, MB", "ours", of="memory"),
        )
        names = (table, "design", *(("large",) if table.startswith("copies") else ()))
        title = f"Rows: {counted(rows)} x {D} Parquet, whole processes"
        found.append(Case(f"rows-{rows}", title, subjects, figures, names, most))
    return found


def text(sizes: Sizes, one: tuple[str, ...]) -> Case:
    """CSV beside reading it."""
    subjects = (
        Subject("ours", "discreet release, one worker", ours_on_file("text", "design", *one), ours=True),
        Subject("read", "reading, pyarrow.csv, one thread", job("reading.csv", path="{text}")),
    )
    figures = (Figure("csv-cpu", "CSV, CPU over pyarrow.csv on one thread", "ours", "read", limit=1.2),)
    return Case("csv", f"CSV: {counted(sizes.csv_rows)} x {D}, whole processes", subjects, figures, ("text", "design"))


def by_columns(sizes: Sizes) -> list[Case]:
    """Growth in columns, in memory."""
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
    """Exact sums beside plain ones."""
    subjects, figures = [], []
    for (columns, rows), limit in zip(sizes.gram_rows, (2.0, 1.6), strict=True):
        given = {"rows": rows, "columns": columns, "times": 5}
        shown = f"d = {columns}, {counted(rows)} rows"
        subjects += [
            Subject(f"exact-{columns}", f"exact, {shown}", job("sums.exact", **given), ("sums",), ours=True),
            Subject(f"plain-{columns}", f"plain, {shown}", job("sums.plain", **given), ("sums",)),
        ]
        figures.append(
            Figure(f"gram-{columns}", f"exact over plain chunked Gram in memory, d = {columns}",
                   f"exact-{columns} sums", f"plain-{columns} sums", limit=limit)  # fmt: skip
        )
    return Case("gram", "Exact sums beside plain ones, in memory", tuple(subjects), tuple(figures))


def busy(sizes: Sizes) -> Case:
    """The number of BLAS threads beside two busy processes."""
    columns, rows = sizes.gram_rows[0]
    words = job("sums.exact", rows=rows, columns=columns, times=3)
    subjects = (
        Subject("default", "default BLAS threads", words, ("sums",), ours=True, threads=None, beside=2),
        Subject("one", "one BLAS thread", words, ("sums",), ours=True, beside=2),
    )
    label = f"Python API, default BLAS over one BLAS thread, d = {columns}, beside 2 busy processes"
    figures = (
        Figure("busy-wall", f"{label}, wall", "default sums", "one sums", "wall", limit=1.2, busy_limit=1.2),
        Figure("busy-cpu", f"{label}, CPU", "default sums", "one sums", limit=1.2),
    )
    title = f"Beside 2 busy processes: {columns} columns, {counted(rows)} rows in memory"
    return Case("busy", title, subjects, figures)


def by_levels(sizes: Sizes) -> Case:
    """Growth in the levels of one category."""
    subjects = tuple(
        Subject(f"levels-{levels}", f"{counted(levels)} levels",
                job("sums.levels", rows=sizes.level_rows, levels=levels), ("sums", "release"), ours=True, limit=60)
        for levels in sizes.levels
    )  # fmt: skip
    low, high = sizes.levels[0], sizes.levels[-1] if len(sizes.levels) < 3 else sizes.levels[2]
    ratio = f"{counted(high)} levels over {counted(low)}"
    figures = (
        Figure("levels", f"{ratio}, sums, CPU", f"levels-{high} sums", f"levels-{low} sums", limit=5.0),
        Figure("levels-release", f"{ratio}, release, CPU", f"levels-{high} release", f"levels-{low} release"),
    )
    title = f"Levels of one category: {counted(sizes.level_rows)} rows in memory"
    return Case("levels", title, subjects, figures, most=3)


def persons(sizes: Sizes) -> Case:
    """Persons whose rows are capped beside rows that count by themselves."""
    given = {"rows": sizes.persons_rows, "persons": sizes.persons_rows // 5}
    subjects = (
        Subject("persons", "3 rows of each person", job("sums.persons", **given, by_person=True), ("release",),
                ours=True),  # fmt: skip
        Subject("rows", "every row", job("sums.persons", **given, by_person=False), ("release",), ours=True),
    )
    figures = (
        Figure("persons", "persons over rows, CPU", "persons release", "rows release", limit=20.0),
        Figure("persons-memory", "persons, peak memory of the process, MB", "persons release", of="memory"),
    )
    title = f"Persons: {counted(sizes.persons_rows)} rows x 5, {counted(sizes.persons_rows // 5)} persons, in memory"
    return Case("persons", title, subjects, figures, most=3)


def noise(sizes: Sizes) -> Case:
    """Noise and bookkeeping, by columns."""
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
    """Later passes beside the first."""
    given = {"rows": sizes.pass_rows, "columns": D}
    subjects = tuple(
        Subject(name, name, job("releases.passes", name=name, **given, settings=settings), ("first", "later"),
                ours=True)
        for name, settings in PASSES.items()
    )  # fmt: skip
    figures = tuple(
        Figure(f"pass-{name}", f"a later pass over the first in memory, {name}, CPU", f"{name} later", f"{name} first",
               limit=1.2)
        for name in PASSES
    )  # fmt: skip
    return Case("passes", f"Passes: {counted(sizes.pass_rows)} x {D} in memory", subjects, figures)


def mechanisms(sizes: Sizes) -> Case:
    """Every mechanism on one table."""
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
    """Exact linear algebra."""
    given = {"name": "objective", "rows": 1000, "columns": sizes.objective}
    subjects = (Subject("objective", "objective", job("releases.mechanism", **given), ("release",), ours=True),)
    label = f"`objective` at d = {sizes.objective}, CPU seconds"
    figures = (Figure("objective-seconds", label, "objective release", limit=1.0),)
    return Case("objective", f"Exact linear algebra: 1,000 x {sizes.objective} in memory", subjects, figures, most=3)


def analysis(sizes: Sizes) -> Case:
    """What an analyst waits for."""
    subjects, figures = [], []
    for columns in sizes.analysis:
        subjects += [
            Subject(f"fit-{columns}", f"fit with intervals, d = {columns}", job("analysis.fit", columns=columns),
                    ("fit",), ours=True),
            Subject(f"statsmodels-{columns}", f"statsmodels on 20,000 rows, d = {columns}",
                    job("analysis.statsmodels_fit", columns=columns), ("fit",)),
        ]  # fmt: skip
        figures.append(
            Figure(f"fit-{columns}", f"fit with intervals over statsmodels on 20,000 rows, d = {columns}, CPU",
                   f"fit-{columns} fit", f"statsmodels-{columns} fit")  # fmt: skip
        )
    for name, label in {"path": "lasso path", "report": "HTML report", "plan": "plan"}.items():
        subjects += [
            Subject(f"{name}-{columns}", f"{label}, d = {columns}", job(f"analysis.{name}", columns=columns), (name,),
                    ours=True)
            for columns in sizes.analysis[:3:2]
        ]  # fmt: skip
    return Case("analysis", "What an analyst waits for", tuple(subjects), tuple(figures), most=3)


def solvers() -> Case:
    """The penalised solver on the same sums as others."""
    share = {"columns": 100, "share": 0.1}
    subjects = (
        Subject("path", "discreet, path of 100 strengths, d = 50", job("analysis.path_solver"), ("path",), ours=True),
        Subject("path-loose", "scikit-learn lasso_path, tolerance 1e-4", job("analysis.path_solver", rival=1e-4),
                ("path",)),
        Subject("path-tight", "scikit-learn lasso_path, tolerance 1e-10", job("analysis.path_solver", rival=1e-10),
                ("path",)),
        Subject("one", "discreet, one problem, d = 100", job("analysis.one_problem", **share), ("problem",), ours=True),
        Subject("one-cvxpy", "CVXPY with Clarabel", job("analysis.one_problem", **share, rival="CLARABEL"),
                ("problem",)),
    )  # fmt: skip
    figures = (
        Figure("lasso-loose", "lasso path over scikit-learn's, tolerance 1e-4, CPU", "path path", "path-loose path"),
        Figure("lasso-tight", "lasso path over scikit-learn's, tolerance 1e-10, CPU", "path path", "path-tight path"),
        Figure("lasso-cvxpy", "one lasso problem over CVXPY, CPU", "one problem", "one-cvxpy problem"),
    )
    return Case("solvers", "Penalised solver on the same sums", subjects, figures, most=3)


def checks(sizes: Sizes) -> list[Case]:
    """A check beside reading and beside a release."""
    found = []
    for kind in ("parquet", "csv"):
        words = job("sums.checked", path=f"{{mixed_{kind}}}")
        subjects = (Subject("call", kind, words, ("check", "reading", "release"), ours=True),)
        figures = (
            Figure(f"check-{kind}-reading", f"check over reading, {kind}, CPU", "call check", "call reading"),
            Figure(f"check-{kind}-release", f"check over a release, {kind}, CPU", "call check", "call release"),
        )
        title = f"Check: {counted(sizes.csv_rows)} x 9 {kind}"
        found.append(Case(f"check-{kind}", title, subjects, figures, (f"mixed_{kind}",), most=3))
    return found
