"""List the documents, and find figures and errata by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from types import MappingProxyType
from typing import Final, cast

from discreet.errors import SpecError
from discreet_papers.figure import Erratum, Figure


@dataclass(frozen=True)
class Document:
    """A source document. `key` is the name of its folder and the prefix of its figure names."""

    key: str
    citation: str
    figures: tuple[str, ...]


def _numbered(key: str, first: int, last: int, chapter: str = "") -> tuple[str, ...]:
    return tuple(f"{key}-{chapter}{number}" for number in range(first, last + 1))


DOCUMENTS: Final[Mapping[str, Document]] = MappingProxyType(
    {
        document.key: document
        for document in (
            Document(
                "kalaja",
                "E. Kalaja, Adaptive algorithm in differential privacy, Master's thesis, 2020",
                _numbered("kalaja", 1, 8, "4."),
            ),
            Document(
                "notes",
                "Class notes 3 on differential privacy, after Dwork and Roth",
                ("notes-response", "notes-gwas", "notes-noisy-max", "notes-mean"),
            ),
            Document(
                "neunhoeffer",
                "M. Neunhoeffer, Statistical Analyses and Differential Privacy, R notebook, 2019",
                _numbered("neunhoeffer", 1, 5),
            ),
            Document(
                "dandekar",
                "A. Dandekar, D. Basu and S. Bressan, Differential Privacy for Regularised Linear Regression, "
                "technical report TRB6/18, National University of Singapore, 2018",
                _numbered("dandekar", 1, 5),
            ),
            Document(
                "park",
                "M. Park and M. Welling, A note on privacy preserving iteratively reweighted least squares, 2016",
                ("park-1",),
            ),
            Document(
                "baselines",
                "Baselines: S. Tang et al., Improved differentially private regression via gradient boosting, 2023; "
                "G. Andrew et al., Differentially private learning with adaptive clipping, 2021; O. Lev et al., "
                "Near-optimal private linear regression via iterative Hessian mixing, 2026; K. Amin et al., Easy "
                "differentially private linear regression, 2023",
                ("baselines-boosted", "baselines-descent", "baselines-mixing", "baselines-tukey"),
            ),
        )
    }
)
NAMES: Final = tuple(name for document in DOCUMENTS.values() for name in document.figures)


def figure_named(name: str) -> Figure:
    """Return the figure with this name.

    >>> figure_named("park-2")
    Traceback (most recent call last):
        ...
    discreet.errors.SpecError: unknown figure 'park-2'; ...
    """
    if name not in NAMES:
        raise SpecError.unknown_name("figure", name, NAMES)
    return _figures(name.partition("-")[0])[name]


@cache
def _figures(key: str) -> Mapping[str, Figure]:
    figures = cast("tuple[Figure, ...]", import_module(f"discreet_papers.{key}.{key}_figures").FIGURES)
    return {figure.name: figure for figure in figures}


@cache
def errata() -> tuple[Erratum, ...]:
    """Return all incorrect claims of the documents, ordered by number."""
    modules = [import_module(f"discreet_papers.{key}.{key}_errata") for key in DOCUMENTS]
    return tuple(sorted((erratum for module in modules for erratum in module.ERRATA), key=lambda item: item.number))


@cache
def shipped_run() -> Mapping[str, object]:
    """Return the results of the full run that is shipped with the package: version, seed, figures and errata."""
    text = (files("discreet_papers") / "verdicts.json").read_text(encoding="utf-8")
    return cast("Mapping[str, object]", json.loads(text))


def shipped_verdicts() -> Mapping[str, Mapping[str, object]]:
    """Return the verdict and seconds of each figure in the shipped run."""
    return cast("Mapping[str, Mapping[str, object]]", shipped_run()["figures"])
