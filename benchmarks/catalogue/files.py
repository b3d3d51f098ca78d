"""Define cases on files, each of which measures a whole process including imports."""

from __future__ import annotations

from benchmarks.cases import Case, Figure, job, ours_on_file
from benchmarks.catalogue.sizes import D, Sizes, counted
from benchmarks.measuring import Subject

WORKERS = "--workers"


def start_up() -> Case:
    """Return the case of imports and help."""
    whole = {
        "interpreter": ("bare interpreter", ("-c", "pass")),
        "import": ("import discreet", ("-c", "import discreet")),
        "release-name": ("import discreet, with `discreet.release`", ("-c", "import discreet; discreet.release")),
        "help": ("discreet --help", ("-m", "discreet", "--help")),
        "pandas": ("import pandas", ("-c", "import pandas")),
        "sklearn": (
            "import scikit-learn's LinearRegression",
            ("-c", "from sklearn.linear_model import LinearRegression"),
        ),
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
    """Return the case of a release of the large file, compared with reading the file."""
    subjects = (
        Subject("ours", "discreet release, one worker", ours_on_file("large", "design", *one), ours=True),
        Subject("whole", "reading into one table, pyarrow, one thread", job("reading.whole", path="{large}")),
        Subject("read", "reading in batches, pyarrow, one thread", job("reading.parquet", path="{large}")),
        workers("large", 2),
        workers("large", 4),
        Subject(
            "whole-2",
            "reading into one table, pyarrow, two threads",
            job("reading.whole", path="{large}", threads=2),
        ),
        Subject(
            "read-2", "reading in batches, pyarrow, two threads", job("reading.parquet", path="{large}", threads=2)
        ),
        Subject(
            "read-buffered",
            "reading in batches, pyarrow, one thread, small buffers",
            job("reading.parquet", path="{large}", buffered=True),
        ),
        Subject("gram", "streamed NumPy sums and solve", job("reading.gram", path="{large}")),
    )
    figures = (
        Figure("large-cpu", "CPU over reading into one table", "ours", "whole", limit=1.25, busy_limit=1.75),
        Figure("large-cpu-batches", "CPU over reading in batches", "ours", "read"),
        Figure("large-cpu-buffered", "CPU over reading with the same small buffers", "ours", "read-buffered"),
        Figure("large-cpu-gram", "CPU over a streamed NumPy Gram", "ours", "gram"),
        Figure(
            "large-wall",
            "wall with 2 workers over reading into one table, one thread",
            "ours-2",
            "whole",
            "wall",
            limit=0.85,
        ),
        Figure(
            "large-wall-2",
            "wall with 2 workers over reading into one table, two threads",
            "ours-2",
            "whole-2",
            "wall",
            limit=1.4,
        ),
        Figure(
            "large-wall-batches", "wall with 2 workers over reading in batches, one thread", "ours-2", "read", "wall"
        ),
        Figure(
            "large-wall-2-batches",
            "wall with 2 workers over reading in batches, two threads",
            "ours-2",
            "read-2",
            "wall",
        ),
        Figure("workers-wall", "wall with 2 workers over one", "ours-2", "ours", "wall"),
        Figure("workers-cpu", "CPU with 2 workers over one", "ours-2", "ours"),
        Figure("large-memory", "peak memory with 2 workers, MB", "ours-2", of="memory", limit=300.0),
        Figure("large-memory-1", "peak memory with one worker, MB", "ours", of="memory"),
    )
    title = f"A large file: {counted(sizes.large)} x {D} Parquet, whole processes"
    return Case("large", title, subjects, figures, ("large", "design"))


def workers(table: str, count: int) -> Subject:
    """Return the subject that releases a file with several workers."""
    words = ours_on_file(table, "design", "--workers", str(count))
    label = f"discreet release, {count} workers"
    return Subject(f"ours-{count}", label, words, ours=True, needs=(WORKERS, f"{count} cores"), limit=300)


def baselines(sizes: Sizes, one: tuple[str, ...]) -> Case:
    """Return the case that loads and fits with each library, each in a separate process."""
    path = "{middle}"
    subjects = (
        Subject("ours", "discreet release, one worker", ours_on_file("middle", "design", *one), ours=True),
        Subject("read", "reading in batches, pyarrow, one thread", job("reading.parquet", path=path)),
        Subject("gram", "streamed NumPy sums and solve", job("reading.gram", path=path)),
        Subject("polars", "polars sums", job("baselines.polars_sums", path=path, columns=D)),
        Subject("duckdb", "DuckDB sums", job("baselines.duckdb_sums", path=path, columns=D)),
        Subject("lstsq", "NumPy lstsq", job("baselines.numpy_lstsq", path=path)),
        Subject("sklearn", "scikit-learn LinearRegression", job("baselines.sklearn", path=path)),
        Subject(
            "diffprivlib",
            "diffprivlib LinearRegression",
            job("baselines.diffprivlib", path=path),
            environment=".venv-diffprivlib",
        ),
        Subject("statsmodels", "statsmodels OLS", job("baselines.statsmodels", path=path)),
        Subject(
            "spark",
            "Spark MLlib LinearRegression",
            job("baselines.spark", path=path),
            environment=".venv-spark",
            most=3,
            limit=240.0,
        ),
    )
    known = {one.name: one.label for one in subjects}
    figures = (
        Figure("sklearn-cpu", "scikit-learn load and fit, CPU over ours", "sklearn", "ours", limit=5.0, least=True),
        Figure(
            "sklearn-memory",
            "scikit-learn load and fit, memory over ours",
            "sklearn",
            "ours",
            "memory",
            limit=8.0,
            least=True,
        ),
        *(
            Figure(f"{name}-{of}", f"{label}, {'CPU' if of == 'cpu' else of} over ours", name, "ours", of, least=True)
            for name, label in known.items()
            if name not in ("ours", "sklearn")
            for of in ("cpu", "memory")
        ),
    )
    title = f"Load and fit: {counted(sizes.middle)} x {D} Parquet, whole processes"
    return Case("baselines", title, subjects, figures, ("middle", "design"))


def by_rows(sizes: Sizes, one: tuple[str, ...]) -> list[Case]:
    """Return the cases by number of rows, up to several copies of the large file."""
    points: list[tuple[int, str, int | None]] = [(rows, f"rows{rows}", None) for rows in sizes.rows]
    points += [(sizes.large * times, f"copies{times}", 3) for times in sizes.copies]
    found = []
    for rows, table, most in points:
        subjects = (
            Subject("ours", "discreet release, one worker", ours_on_file(table, "design", *one), ours=True, limit=300),
            Subject(
                "read",
                "reading in batches, pyarrow, one thread",
                job("reading.parquet", path=f"{{{table}}}"),
                limit=300,
            ),
            workers(table, 2),
        )
        figures = (
            Figure(f"rows-{rows}-cpu", "CPU over reading in batches", "ours", "read"),
            Figure(f"rows-{rows}-memory", "peak memory, MB", "ours", of="memory"),
            Figure(f"rows-{rows}-memory-2", "peak memory with 2 workers, MB", "ours-2", of="memory"),
        )
        names = (table, "design", *(("large",) if table.startswith("copies") else ()))
        title = f"Rows: {counted(rows)} x {D} Parquet, whole processes"
        found.append(Case(f"rows-{rows}", title, subjects, figures, names, most))
    return found


def staged(sizes: Sizes, one: tuple[str, ...]) -> Case:
    """Return the case of the passes of `staged` over a file, compared with the single one of `gaussian`."""

    def words(mechanism: str, *more: str) -> tuple[str, ...]:
        return ours_on_file("ten", "design10", "--mechanism", mechanism, *more)

    two = (WORKERS, "2 cores")
    subjects = (
        Subject("gaussian", "gaussian, one worker", words("gaussian", *one), ours=True),
        Subject("staged", "staged, one worker", words("staged", *one), ours=True),
        Subject("staged-2", "staged, 2 workers", words("staged", WORKERS, "2"), ours=True, needs=two),
    )
    figures = (
        Figure("staged-cpu", "staged over gaussian, one worker, CPU", "staged", "gaussian", limit=3.0),
        Figure("staged-wall-2", "staged with 2 workers over gaussian, wall", "staged-2", "gaussian", "wall"),
        Figure("staged-memory", "peak memory of staged, one worker, MB", "staged", of="memory"),
        Figure("gaussian-memory", "peak memory of gaussian, one worker, MB", "gaussian", of="memory"),
    )
    title = f"Passes of staged: {counted(sizes.staged_rows)} x 10 Parquet, whole processes"
    return Case("staged", title, subjects, figures, ("ten", "design10"))


def text(sizes: Sizes, one: tuple[str, ...]) -> Case:
    """Return the case of a release of a CSV file, compared with reading the file."""
    subjects = (
        Subject("ours", "discreet release, one worker", ours_on_file("text", "design", *one), ours=True),
        Subject("whole", "reading into one table, pyarrow.csv, one thread", job("reading.whole_csv", path="{text}")),
        Subject("read", "reading in blocks, pyarrow.csv, one thread", job("reading.csv", path="{text}")),
    )
    figures = (
        Figure("csv-cpu", "CPU over reading into one table by pyarrow.csv, one thread", "ours", "whole", limit=1.2),
        Figure("csv-cpu-batches", "CPU over reading in blocks by pyarrow.csv, one thread", "ours", "read"),
    )
    return Case("csv", f"CSV: {counted(sizes.csv_rows)} x {D}, whole processes", subjects, figures, ("text", "design"))


def checks(sizes: Sizes) -> list[Case]:
    """Return the cases of a check, compared with reading and with a release."""
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
