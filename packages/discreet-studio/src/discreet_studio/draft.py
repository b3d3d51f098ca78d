"""Represent an incomplete design: form fields as typed, and the declarations that they make up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

import discreet
from discreet_studio.forms import Form
from discreet_studio.studio_folder import FieldError

KINDS: Final = {
    "number": "number with bounds",
    "private": "number with privately estimated bounds",
    "date": "date",
    "boolean": "yes or no",
    "levels": "category",
    "formula": "formula",
}
MISSING: Final = {
    "error": "stop the release",
    "drop": "drop the row",
    "fill": "use this value",
}
_STATED: Final = {"number": "number", "boolean": "boolean", "text": "levels", "date": "date"}
# largest number of columns that the screens can show
MOST_COLUMNS: Final = 500
# the form field next to which a problem with a key of the design is shown
_FIELDS: Final = {
    "bounds": "low", "within": "low", "levels": "levels", "reference": "levels", "formula": "formula",
    "missing": "missing", "missing_codes": "missing", "dtype": "kind", "name": "name", "release": "released",
    "": "kind",
}  # fmt: skip
_TOP: Final = {
    "target": "target", "columns": "target", "unit.id": "person", "unit.max_rows": "max_rows",
    "unit.neighbours": "neighbours", "unit": "person", "radius": "radius", "intercept": "intercept",
    "weights": "weights", "weights_are": "weights",
}  # fmt: skip
# keys of a design file that have no field in the form and are kept unchanged
_KEPT: Final = ("reference", "missing_codes", "within", "found")
_LEVEL: Final = re.compile(r'\s*"[^"\n]*"\s*(?=[,\n]|$)|[^,\n]+')
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_REASON: Final = re.compile(r"^# public because, (?P<name>\"(?:[^\"\\]|\\.)*\"): (?P<why>.*)$", re.MULTILINE)


def check_column_count(count: int, field: str) -> None:
    """Reject more columns than the screens can show. The command line has no such limit."""
    if count > MOST_COLUMNS:
        raise FieldError(
            field,
            f"expected at most {MOST_COLUMNS} columns, got {count:,}; choose a table with fewer columns, or use the "
            "command line, which has no such limit",
        )


@dataclass
class ColumnDraft:
    """Fields of one column as typed."""

    name: str
    included: bool = True
    kind: str = "number"
    low: str = ""
    high: str = ""
    levels: str = ""
    missing: str = "error"
    fill: str = ""
    formula: str = ""
    reason: str = ""
    released: bool = True
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def derived(self) -> bool:
        """Whether the column is computed from other columns."""
        return self.kind == "formula"

    def declaration(self) -> dict[str, object]:
        """Return this column's declaration for a design file. Blank fields stay blank."""
        if self.derived:
            out: dict[str, object] = {"formula": self.formula}
            return out | ({"bounds": self._bounds()} if self.low or self.high else {})
        out = {}
        if self.kind == "boolean":
            out["dtype"] = "bool"
        elif self.kind == "levels":
            out["levels"] = levels_of(self.levels)
        elif self.kind == "private":
            out |= {"bounds": "private"} | ({"within": self._bounds()} if self.low or self.high else {})
        else:
            out["bounds"] = self._bounds()
        if self.missing != "error":
            out["missing"] = {"fill": _cell(self.fill)} if self.missing == "fill" else self.missing
        if not self.released:
            out["release"] = False
        allowed = ("reference", "missing_codes") if self.kind == "levels" else ("missing_codes",)
        return out | {key: value for key, value in self.kept.items() if key in allowed and self.kind != "boolean"}

    def _bounds(self) -> list[object]:
        return [_cell(self.low), _cell(self.high)]


@dataclass
class Draft:
    """Fields of the whole design as typed."""

    target: str = ""
    intercept: bool = True
    radius: str = ""
    neighbours: str = "add-remove"
    person: str = ""
    max_rows: str = "1"
    weights: str = ""
    weights_are: str = "inverse-variance"
    columns: list[ColumnDraft] = field(default_factory=list)

    @classmethod
    def blank(cls, columns: Iterable[tuple[str, str | None]], person: str = "", max_rows: str = "1") -> Draft:
        """Return a draft with blank bounds for every column, and with the types that the file states.

        >>> Draft.blank([("age", "number"), ("member", "boolean")]).columns[1].kind
        'boolean'
        """
        drafts = [ColumnDraft(name, kind=_STATED.get(kind or "", "number")) for name, kind in columns if name != person]
        return cls(columns=drafts, person=person, max_rows=max_rows)

    @classmethod
    def of(cls, design: discreet.Design, reasons: Mapping[str, str]) -> Draft:
        """Return the form fields for a design."""
        unit = design.unit
        plain = design.to_dict()
        tables = plain["columns"]
        return cls(
            target=design.target,
            intercept=design.intercept,
            radius="" if design.radius is None else f"{design.radius:g}",
            neighbours=unit.neighbours,
            person=unit.id or "",
            max_rows=str(unit.max_rows),
            weights=design.weights or "",
            weights_are=design.weights_are or "inverse-variance",
            columns=[_column(name, table, reasons.get(name, "")) for name, table in tables.items()],  # type: ignore[attr-defined]
        )

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Draft:
        """Return the fields that were saved to disk, ignoring unknown ones."""
        columns = kept.get("columns", [])
        columns = columns if isinstance(columns, list) else []
        drafts = [ColumnDraft(**saved) for column in columns if (saved := _known(ColumnDraft(""), column)).get("name")]
        return cls(**(_known(cls(), kept) | {"columns": drafts}))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as values that JSON can store."""
        return asdict(self)

    def declarations(self) -> dict[str, object]:
        """Return the content of the design file, including declarations that are not valid yet."""
        out: dict[str, object] = {"target": self.target, "intercept": self.intercept}
        if self.radius:
            out["radius"] = _cell(self.radius)
        if self.weights:
            out |= {"weights": self.weights, "weights_are": self.weights_are}
        out["columns"] = {column.name: column.declaration() for column in self.columns if column.included}
        unit: dict[str, object] = {"neighbours": self.neighbours}
        if self.person:
            unit |= {"id": self.person, "max_rows": _cell(self.max_rows)}
        return out | {"unit": unit}

    def problems(self) -> dict[str, str]:
        """Return all problems, keyed by form field."""
        places = {column.name: index for index, column in enumerate(self.columns)}
        problems: dict[str, str] = {}
        seen: set[str] = set()
        for index, column in enumerate(self.columns):
            if column.included and column.name in seen:
                problems[f"c{index}-name"] = f"two columns are called {column.name!r}; rename one of them"
            seen |= {column.name} if column.included else set()
        for problem in discreet.design_problems(self.declarations()):
            if problem.column in places:
                key = f"c{places[problem.column]}-{_FIELDS.get(problem.key, 'kind')}"
            else:
                key = _TOP.get(problem.key, "target")
            problems[key] = f"{problems[key]}; {problem.message}" if key in problems else problem.message
        return problems

    def design(self) -> discreet.Design:
        """Return the design, or raise an error with all problems if it is not valid."""
        return discreet.Design.from_dict(self.declarations())

    def toml(self) -> str:
        """Return the text of a design file, with the reasons as comments that can be parsed again."""
        lines = [
            "# Written by discreet studio. Every bound was declared from public knowledge; none was read from data."
        ]
        for column in self.columns:
            if column.included and column.reason:
                name = column.name.replace("\\", "\\\\").replace('"', '\\"')
                lines.append(f'# public because, "{name}": {" ".join(column.reason.split())}')
        return "\n".join([*lines, "", self.design().to_toml()])


def _known(like: Draft | ColumnDraft, kept: object) -> dict[str, Any]:
    """Return the saved fields whose name and type match."""
    if not isinstance(kept, Mapping):
        return {}
    own = {item.name: getattr(like, item.name) for item in fields(like)}
    return {key: value for key, value in kept.items() if key in own and type(value) is type(own[key])}


def reasons_in(text: str) -> dict[str, str]:
    r"""Return the reasons in the comments of a design file, by column.

    >>> reasons_in('# public because, "age": nobody is older\n')
    {'age': 'nobody is older'}
    """
    return {re.sub(r"\\(.)", r"\1", match["name"][1:-1]): match["why"] for match in _REASON.finditer(text)}


def levels_of(text: str) -> list[str | int]:
    """Split levels at commas and line ends. Levels in quotes are text. If all look like integers, they are integers.

    >>> levels_of("north, south"), levels_of("1, 2, 3"), levels_of('"1", "a, b"')
    (['north', 'south'], [1, 2, 3], ['1', 'a, b'])
    """
    parts = [part.strip() for part in _LEVEL.findall(text) if part.strip()]
    if parts and all(_INTEGER.fullmatch(part) for part in parts):
        return [int(part) for part in parts]
    return [part[1:-1] if len(part) > 1 and part[0] == part[-1] == '"' else part for part in parts]


def _level_text(level: str | int, levels: Sequence[str | int]) -> str:
    """Return a level as it would be typed, in quotes if it would otherwise be parsed differently.

    >>> _level_text("1", ["1", "2"]), _level_text("north", ["north"])
    ('"1"', 'north')
    """
    text = str(level)
    same = levels_of(", ".join(map(str, levels))) == list(levels)
    return text if same or not isinstance(level, str) else f'"{text}"'


def typed(form: Form) -> Draft:
    """Return the draft that a form contains."""
    columns = []
    for index in range(_counted(form)):
        here = f"c{index}-"
        kind = form.get(f"{here}kind")
        columns.append(
            ColumnDraft(
                name=form.get(f"{here}name"),
                included=f"{here}included" in form,
                kind=kind if kind in KINDS else "number",
                low=form.get(f"{here}low"),
                high=form.get(f"{here}high"),
                levels=form.get(f"{here}levels"),
                missing=form.get(f"{here}missing", "error"),
                fill=form.get(f"{here}fill"),
                formula=form.get(f"{here}formula"),
                reason=form.get(f"{here}reason"),
            )
        )
    return Draft(
        target=form.get("target"),
        intercept="no_intercept" not in form,
        radius=form.get("radius"),
        neighbours=form.get("neighbours", "add-remove"),
        person=form.get("person"),
        max_rows=form.get("max_rows", "1"),
        weights=form.get("weights"),
        weights_are=form.get("weights_are", "inverse-variance"),
        columns=columns,
    )


def _counted(form: Form) -> int:
    text = form.get("columns")
    return min(int(text), 2000) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def _column(name: str, table: Mapping[str, Any], reason: str) -> ColumnDraft:
    draft = ColumnDraft(name, reason=reason, kept={key: table[key] for key in _KEPT if key in table})
    bounds = table.get("bounds")
    if "formula" in table:
        draft.kind, draft.formula = "formula", str(table["formula"])
    elif "levels" in table:
        levels = table["levels"]
        draft.kind, draft.levels = "levels", ", ".join(_level_text(level, levels) for level in levels)
    elif "dtype" in table:
        draft.kind = "boolean"
    elif bounds == "private":
        draft.kind, bounds = "private", table.get("within")
    elif isinstance(bounds, list | tuple) and any(isinstance(bound, str) for bound in bounds):
        draft.kind = "date"
    if isinstance(bounds, list | tuple):
        draft.low, draft.high = (_text(bound) for bound in bounds)
    rule = table.get("missing", "error")
    if isinstance(rule, Mapping):
        draft.missing, draft.fill = "fill", _text(rule.get("fill", ""))
    else:
        draft.missing = str(rule)
    draft.released = bool(table.get("release", True))
    return draft


def _text(value: object) -> str:
    return f"{value:.17g}" if isinstance(value, float) else str(value)


def _cell(text: str) -> object:
    """Return a number if the text is one. Otherwise return the text, so that the design reports the problem."""
    plain = text.replace(" ", "").replace("_", "")
    groups = plain.split(",")
    if len(groups) > 1 and all(len(group) == 3 and group.isdigit() for group in groups[1:]):
        plain = "".join(groups)
    if _INTEGER.fullmatch(plain):
        return int(plain)
    try:
        return float(plain)
    except ValueError:
        return text
