"""Summary of the content, guarantee and origin of a release in about ten lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from discreet.accounting.moment_queries import COUNTED
from discreet.accounting.noise_distribution import ROWS
from discreet.design.columns import Boolean, Categorical, Column, Interaction, Numeric, SplineBasis
from discreet.ledger.event_log import MergedAnchor
from discreet.privacy.spend import UNTRACKED
from discreet.releases.fields import SCHEMA_VERSION, NoisyCount, released_count
from discreet.releases.staged_moments import estimated_line
from discreet.text import in_groups

if TYPE_CHECKING:
    from discreet.releases.release import Release

_MOST_COLUMNS: Final = 12
_DIGITS: Final = 19  # shown characters of the digest, including "sha256:"
_UNTRACKED: Final = "untracked: repeated releases of this table are not counted"


def outline(release: Release) -> list[tuple[str, str]]:
    """Return the summary as ten labelled lines, with one more for the session fingerprint of a merged release.

    A release by `staged` also has a line that says what is estimated.

    >>> from discreet.design.design import Design
    >>> from discreet.testing import exact_release
    >>> design = Design("y", {"y": (0, 8), "x": (0, 2)})
    >>> dict(outline(exact_release({"x": [0, 1], "y": [2, 5]}, design)))["Target"]  # NOT PRIVATE
    'y, 0 to 8'
    """
    design = release.design
    target = design.columns[design.target]
    return [
        ("Holds", _holds(release)),
        *([] if (line := estimated(release)) is None else [("Estimates", line)]),
        ("Target", f"{design.target}, {describe_column(target)}"),
        ("Features", _features(release)),
        ("Rows", _rows(released_count(release))),
        ("Promise", _promise(release)),
        ("Mechanism", _mechanism(release)),
        *([] if release.curators is None else [("Session", f"fingerprint {in_groups(release.curators.session)}")]),
        ("Also", ", ".join(_beside(release)) or "nothing else"),
        ("Ledger", describe_ledger(release.anchor)),
        ("Made by", f"{release.made_by}, file format {SCHEMA_VERSION}"),
        ("Digest", f"{release.digest[:_DIGITS]}..., {'not signed' if release.signature is None else 'signed'}"),
    ]


def outline_facts(release: Release) -> dict[str, object]:
    """Return the summary as plain values for JSON."""
    design, guarantee, rows = release.design, release.guarantee, released_count(release)
    return {
        "kind": release.kind,
        "estimated": estimated(release),
        "private": release.private,
        "target": design.target,
        "features": list(design.regressors),
        "columns": list(release.columns),
        "intercept": design.intercept,
        "weights": design.weights,
        "weights_are": design.weights_are,
        "rows": None if rows is None else rows.value,
        "rows_sd": None if rows is None else rows.sd,
        "guarantee": None if guarantee is None else guarantee.to_dict(),
        "mechanism": release.mechanism,
        "mechanism_version": release.mechanism_version,
        "settings": dict(release.settings),
        "noise_family": release.noise.family,
        "beside": _beside(release),
        "curators": None if release.curators is None else release.curators.to_dict(),
        "robust_models": list(release.robust_models),
        "anchor": release.anchor,
        "made_by": release.made_by,
        "schema": SCHEMA_VERSION,
        "digest": release.digest,
        "signed": release.signature is not None,
    }


def estimated(release: Release) -> str | None:
    """Describe what a release by `staged` estimates, and how many rows it shortened; None for other releases."""
    return None if release.staged is None else f"{estimated_line(release, release.staged)[0]}."


def describe_ledger(anchor: str) -> str:
    """Describe where the spend of a release is recorded.

    >>> describe_ledger("untracked")
    'untracked: repeated releases of this table are not counted'
    >>> describe_ledger(str(MergedAnchor("0" * 32, ("a", "b", "c"))))[:34]
    'the ledgers of 3 curators, session'
    """
    if anchor == UNTRACKED:
        return _UNTRACKED
    merged = MergedAnchor.parsed(anchor)
    return anchor if merged is None else f"the ledgers of {len(merged.anchors)} curators, session {merged.session}"


def describe_column(column: Column, *, all_levels: bool = False) -> str:
    """Describe the declared values of a column, with every level or only their number."""
    match column:
        case Numeric():
            source = ", found privately" if column.found else ""
            return f"{' to '.join(map(column.value_text, column.bounds))}{source}"
        case Boolean():
            return "0 or 1" if all_levels else "true or false"
        case Categorical(levels=levels, reference=reference):
            others = ", ".join(str(level) for level in levels if level != reference)
            return f"{reference} (reference), {others}" if all_levels else f"{len(levels)} levels"
        case Interaction(bounds=bounds) if all_levels:
            values = "0 and 1" if bounds is None else f"{bounds[0]:g} to {bounds[1]:g}, and 0 in other rows"
            return f"{values}, {len(column.codes)} columns"
        case SplineBasis() if all_levels:
            return f"{column.formula.width} basis functions"
    return column.formula.text


def _holds(release: Release) -> str:
    size = len(release.columns)
    if release.coefficients is not None:
        return f"{size - 1} coefficients of one model; no other model can be fitted"
    if release.staged is not None:
        return f"least squares of {size} columns (with the constant), from noisy sums; any linear model can be fitted"
    weighted = " weighted" if release.weighted else ""
    by = "" if release.design.weights is None else f", weights: {release.design.weights}"
    return f"noisy sums of products of {size}{weighted} columns (with the constant){by}; any linear model can be fitted"


def _features(release: Release) -> str:
    design = release.design
    named = [f"{name} ({describe_column(design.columns[name])})" for name in design.regressors]
    more = [f"and {len(named) - _MOST_COLUMNS} more"] if len(named) > _MOST_COLUMNS else []
    return ", ".join([*named[:_MOST_COLUMNS], *more, *([] if design.intercept else ["no intercept"])])


def _rows(count: NoisyCount | None) -> str:
    return "not released" if count is None else count.words


def _promise(release: Release) -> str:
    guarantee = release.guarantee
    if guarantee is None:
        return "NOT PRIVATE: this release has no privacy guarantee"
    unit = guarantee.unit
    who = "a row" if unit.id is None else f"a person ({unit.id}, at most {unit.max_rows} rows)"
    budget = f"epsilon = {guarantee.epsilon:g}, delta = {guarantee.delta:g}"
    return f"{budget}, {guarantee.neighbours} neighbours, unit: {who}"


def _mechanism(release: Release) -> str:
    mechanism = f"{release.mechanism}, version {release.mechanism_version}, noise {release.noise.family}"
    terms = release.curators
    if terms is None:
        return mechanism
    drawn = f"in shares, of which {terms.honest} are counted" if terms.noise == "shares" else "drawn by the merger"
    most = "" if terms.parts_per_person == 1 else f" (each person is in at most {terms.parts_per_person})"
    return f"{mechanism}; merged from {terms.parts} parts{most}, noise {drawn}"


def _beside(release: Release) -> list[str]:
    """List everything released besides the sums of products or the coefficients."""
    parts = {
        "a noisy number of rows": not release.plain
        and release.design.weights is None
        and released_count(release) is not None,
        "centres and scales, a pilot line, and counts of rows by norm": release.staged is not None,
        f"sums for robust standard errors{_of_models(release)}": release.residuals is not None
        or (release.staged is not None and bool(release.staged.score_products)),
        **{f"a noisy count of {label}": block in release.scalars for block, label in COUNTED.items() if block != ROWS},
        "counts of clipped rows": bool(release.clipped),
        "counts of rows that fit the design and that do not (guard)": release.guard is not None,
        "counts from which private bounds were computed": release.discovery is not None,
    }
    return [description for description, released in parts.items() if released]


def _of_models(release: Release) -> str:
    """Name the additional models, if there are any."""
    return f" of the full model and of {', '.join(map(repr, release.robust_models))}" if release.robust_models else ""
