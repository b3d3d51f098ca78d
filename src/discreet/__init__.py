"""Differentially private linear regression: one private release, from which any number of models can be fitted.

>>> import discreet
>>> design = discreet.Design(target="income", columns={"income": (0, 200_000), "age": (18, 90)})
>>> table = {"income": [31_000, 52_000, 48_000], "age": [25, 40, 61]}
>>> release = discreet.release(table, design, epsilon=1.0, delta=1e-6)
>>> release.columns
('1', 'age', 'income')
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from discreet.analyst.comparison import compare_models, table
    from discreet.analyst.fitted import Fit
    from discreet.analyst.model import diagnose, fit
    from discreet.analyst.path import path
    from discreet.analyst.plots.style import page_svg
    from discreet.costing import Cost, cost, mechanism_choices
    from discreet.curator.inspection import check
    from discreet.design.design import Design, design_problems
    from discreet.errors import Cancelled, DesignError, DesignProblem, DiscreetError
    from discreet.estimator import PrivateLinearRegression, check_pipeline
    from discreet.ledger.ledger import Ledger
    from discreet.options import ReleaseOptions, RobustErrors
    from discreet.pages.page import report
    from discreet.parts.agreement import Session
    from discreet.parts.keys import Curator, CuratorKey
    from discreet.parts.making import part
    from discreet.parts.merging import merge
    from discreet.parts.part_file import Part
    from discreet.planning import plan
    from discreet.privacy.budget import PrivacyBudget, PrivacyUnit
    from discreet.releases import Release
    from discreet.releases.verification import verify
    from discreet.tables.blank_design import blank_design
    from discreet.tables.csv_format import ReadOptions
    from discreet.tables.database import DatabaseTable, database_tables
    from discreet.tables.source import CancelToken, ComputeOptions
    from discreet.workflow import release

_HOMES = {
    "CancelToken": "discreet.tables.source",
    "Cancelled": "discreet.errors",
    "ComputeOptions": "discreet.tables.source",
    "Cost": "discreet.costing",
    "Curator": "discreet.parts.keys",
    "CuratorKey": "discreet.parts.keys",
    "DatabaseTable": "discreet.tables.database",
    "Design": "discreet.design.design",
    "DesignError": "discreet.errors",
    "DesignProblem": "discreet.errors",
    "DiscreetError": "discreet.errors",
    "Fit": "discreet.analyst.model",
    "Ledger": "discreet.ledger.ledger",
    "Part": "discreet.parts.part_file",
    "PrivacyBudget": "discreet.privacy.budget",
    "PrivacyUnit": "discreet.privacy.budget",
    "PrivateLinearRegression": "discreet.estimator",
    "ReadOptions": "discreet.tables.csv_format",
    "Release": "discreet.releases",
    "ReleaseOptions": "discreet.options",
    "RobustErrors": "discreet.options",
    "Session": "discreet.parts.agreement",
    "blank_design": "discreet.tables.blank_design",
    "check": "discreet.curator.inspection",
    "check_pipeline": "discreet.estimator",
    "compare_models": "discreet.analyst.comparison",
    "cost": "discreet.costing",
    "database_tables": "discreet.tables.database",
    "design_problems": "discreet.design.design",
    "diagnose": "discreet.analyst.model",
    "fit": "discreet.analyst.model",
    "mechanism_choices": "discreet.costing",
    "merge": "discreet.parts.merging",
    "page_svg": "discreet.analyst.plots.style",
    "part": "discreet.parts.making",
    "path": "discreet.analyst.path",
    "plan": "discreet.planning",
    "release": "discreet.workflow",
    "report": "discreet.pages.page",
    "table": "discreet.analyst.comparison",
    "verify": "discreet.releases.verification",
}

# submodules that are available as attributes, such as `discreet.audit`
_SUBMODULES = ("audit", "datasets", "planning", "primitives", "privacy", "testing")

__all__ = [
    "CancelToken",
    "Cancelled",
    "ComputeOptions",
    "Cost",
    "Curator",
    "CuratorKey",
    "DatabaseTable",
    "Design",
    "DesignError",
    "DesignProblem",
    "DiscreetError",
    "Fit",
    "Ledger",
    "Part",
    "PrivacyBudget",
    "PrivacyUnit",
    "PrivateLinearRegression",
    "ReadOptions",
    "Release",
    "ReleaseOptions",
    "RobustErrors",
    "Session",
    "blank_design",
    "check",
    "check_pipeline",
    "compare_models",
    "cost",
    "database_tables",
    "design_problems",
    "diagnose",
    "fit",
    "mechanism_choices",
    "merge",
    "page_svg",
    "part",
    "path",
    "plan",
    "release",
    "report",
    "table",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that `import discreet` is fast."""
    if name in _SUBMODULES:
        return import_module(f"discreet.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
