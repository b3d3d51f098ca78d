"""Define cases that analyse a release without reading rows."""

from __future__ import annotations

from benchmarks.cases import Case, Figure, job
from benchmarks.catalogue.sizes import Sizes
from benchmarks.measuring import Subject

FIT_SECONDS = {50: 0.05, 300: 2.0}


def analysis(sizes: Sizes) -> Case:
    """Return the case that analyses a release."""
    subjects, figures = [], []
    for columns in sizes.analysis:
        subjects += [
            Subject(f"fit-{columns}", f"fit with intervals, d = {columns}", job("analysis.fit", columns=columns),
                    ("fit",), ours=True),
            Subject(f"statsmodels-{columns}", f"statsmodels on 20,000 rows, d = {columns}",
                    job("analysis.statsmodels_fit", columns=columns), ("fit",)),
        ]  # fmt: skip
        figures.append(
            Figure(
                f"fit-{columns}",
                f"fit with intervals over statsmodels on 20,000 rows, d = {columns}, CPU",
                f"fit-{columns} fit",
                f"statsmodels-{columns} fit",
            )
        )
    for columns in filter(FIT_SECONDS.__contains__, sizes.analysis):
        label = f"fit with intervals at d = {columns}, CPU seconds"
        figures.append(Figure(f"fit-{columns}-seconds", label, f"fit-{columns} fit", limit=FIT_SECONDS[columns]))
    for name, label in {"path": "lasso path", "report": "HTML report", "plan": "plan"}.items():
        subjects += [
            Subject(f"{name}-{columns}", f"{label}, d = {columns}", job(f"analysis.{name}", columns=columns), (name,),
                    ours=True)
            for columns in sizes.analysis[:3:2]
        ]  # fmt: skip
    return Case("analysis", "Analysis of a release", tuple(subjects), tuple(figures), most=3)


def solvers() -> Case:
    """Return the case of the penalised solver and its baselines on the same sums."""
    share = {"columns": 100, "share": 0.1}
    subjects = (
        Subject("path", "discreet, path of 100 strengths, d = 50", job("analysis.path_solver"), ("path",), ours=True),
        Subject("path-loose", "scikit-learn lasso_path, tolerance 1e-4", job("analysis.path_solver", baseline=1e-4),
                ("path",)),
        Subject("path-tight", "scikit-learn lasso_path, tolerance 1e-10", job("analysis.path_solver", baseline=1e-10),
                ("path",)),
        Subject("one", "discreet, one problem, d = 100", job("analysis.one_problem", **share), ("problem",), ours=True),
        Subject("one-cvxpy", "CVXPY with Clarabel", job("analysis.one_problem", **share, baseline="CLARABEL"),
                ("problem",)),
    )  # fmt: skip
    figures = (
        Figure("lasso-loose", "lasso path over scikit-learn's, tolerance 1e-4, CPU", "path path", "path-loose path"),
        Figure("lasso-tight", "lasso path over scikit-learn's, tolerance 1e-10, CPU", "path path", "path-tight path"),
        Figure("lasso-cvxpy", "one lasso problem over CVXPY, CPU", "one problem", "one-cvxpy problem"),
    )
    return Case("solvers", "Penalised solver on the same sums", subjects, figures, most=3)
