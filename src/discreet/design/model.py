"""The design: target, regressors, intercept, bounds, levels, radius and privacy unit."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from discreet.design.columns import (
    Base,
    Boolean,
    Categorical,
    Column,
    Fill,
    Numeric,
    SplineBasis,
)
from discreet.design.dates import dated
from discreet.design.interactions import Interaction
from discreet.design.lines import key_lines, not_toml, too_many_digits, with_lines
from discreet.design.parts import (
    CONSTANT,
    check_keys,
    check_released,
    check_searched,
    check_target,
    checked_columns,
    checked_radius,
    checked_unit,
    checked_weights,
    is_released,
)
from discreet.design.printing import design_html, short_design
from discreet.design.problems import Problems
from discreet.errors import DesignError, DesignProblem, SpecError
from discreet.files import read_limited, write_bytes
from discreet.privacy.checks import check_flag
from discreet.privacy.unit import PrivacyUnit
from discreet.text import escape_control


@dataclass(frozen=True, repr=False)
class Design:
    """What a curator declares before any data is opened.

    Parameters
    ----------
    target
        Name of the declared column to explain by default; numeric or boolean.
    columns
        Name to declaration: `(low, high)` bounds, a list of levels, `bool`, a table as in design.toml, or a column.
        Two numbers are always bounds: two levels that are integers are declared as `{"levels": [1, 2]}`. With
        "private", or `{"bounds": "private", "within": (low, high)}`, the release finds bounds, for 5% of its budget.
    intercept
        Whether models get an intercept by default.
    radius
        Ball to which the scaled regressors of a row are shrunk, or none. A smaller ball needs less noise and biases
        the fit towards the rows inside it.
    unit
        Whose presence is hidden: `PrivacyUnit` or a table such as `{"neighbours": "replace"}`.
    weights
        Name of a numeric column with bounds [0, W], the weights of the rows: sums are then of rows times w / W, and
        every model is one of weighted least squares.
    weights_are
        What they stand for. `inverse-variance`, unless given: errors have a variance of one over the weight.
        `sampling`: how many of a population a row speaks for; only robust standard errors are right then.

    Examples
    --------
    >>> design = Design(
    ...     target="income", columns={"income": (0, 200_000), "age": (18, 90), "region": ["north", "south"]}
    ... )
    >>> design.released
    ('1', 'age', 'region[south]', 'income')
    """

    target: str
    columns: Mapping[str, Column]
    intercept: bool = True
    radius: float | None = None
    unit: PrivacyUnit = field(default_factory=PrivacyUnit)
    weights: str | None = None
    weights_are: str | None = None

    def __init__(
        self,
        target: str,
        columns: Mapping[str, object],
        intercept: bool = True,
        radius: float | None = None,
        unit: PrivacyUnit | Mapping[str, object] | None = None,
        *,
        weights: str | None = None,
        weights_are: str | None = None,
    ) -> None:
        given = {"target": target, "columns": columns, "intercept": intercept, "radius": radius, "unit": unit}
        self._declare(given | {"weights": weights, "weights_are": weights_are})

    def _declare(self, given: Mapping[str, object]) -> None:
        """Check every part, and report all problems at once."""
        problems = Problems()
        check_keys(problems, given)
        named = given.get("columns")
        names = named if isinstance(named, Mapping) else {}
        columns = checked_columns(problems, named) if "columns" in given else {}
        if "target" in given:
            check_target(problems, given["target"], names, columns)
        unit = checked_unit(problems, given.get("unit"), names)
        intercept = given.get("intercept", True)
        with problems.at(key="intercept"):
            check_flag("intercept", intercept)
            check_searched(intercept, columns)
        radius = checked_radius(problems, given.get("radius"))
        weights, weights_are = checked_weights(problems, given, names, columns)
        if isinstance(named, Mapping):
            check_released(problems, given.get("target"), names, columns, weights)
        problems.check()
        values = {"target": given["target"], "columns": MappingProxyType(columns), "intercept": intercept}
        values |= {"radius": radius, "unit": unit, "weights": weights, "weights_are": weights_are}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return short_design(self)

    def _repr_html_(self) -> str:
        return design_html(self)

    def __hash__(self) -> int:
        declared = self.target, tuple(self.columns.items()), self.intercept, self.radius, self.unit
        return hash((*declared, *self._weighting))

    def __reduce__(self) -> tuple[object, ...]:
        return _made, (self.target, dict(self.columns), self.intercept, self.radius, self.unit, *self._weighting)

    @property
    def _weighting(self) -> tuple[str | None, str | None]:
        return self.weights, self.weights_are

    @cached_property
    def released(self) -> tuple[str, ...]:
        """Names of the released columns: the constant "1", the regressors in declared order, the target last."""
        regressors = [name for declared in self.regressors for name in self.columns[declared].released(declared)]
        return (CONSTANT, *regressors, self.target)

    @property
    def regressors(self) -> tuple[str, ...]:
        """Every released column but the target, in declared order."""
        return tuple(name for name in self.offered if name != self.target)

    @property
    def offered(self) -> tuple[str, ...]:
        """Declared names of everything that is released, in declared order: what a model can be made of."""
        return tuple(name for name, column in self.columns.items() if is_released(column) and name != self.weights)

    @cached_property
    def parts(self) -> Mapping[str, Column]:
        """Every column, and beside the categories each of their indicators as a boolean of its own, by released name.

        >>> design = Design("y", {"y": (0, 1), "g": ["a", "b", "c"]})
        >>> list(design.parts), design.parts["g[b]"].formula
        (['y', 'g', 'g[b]', 'g[c]'], parse('g == "b"'))
        """
        found = dict(self.columns)
        for name, column in self.columns.items():
            if isinstance(column, Categorical):
                from discreet.design.formulas.formula import level_formula

                for code, one in zip(column.indicator_codes, column.released(name), strict=True):
                    found.setdefault(one, Boolean(formula=level_formula(name, column.levels, code)))
        return MappingProxyType(found)

    @cached_property
    def table_columns(self) -> Mapping[str, Base]:
        """The columns that are read from a table: all but those with a formula."""
        return {
            name: column
            for name, column in self.columns.items()
            if not isinstance(column, SplineBasis | Interaction) and column.formula is None
        }

    @cached_property
    def clippable(self) -> tuple[str, ...]:
        """Numeric columns in which a value can lie outside its bounds, in declared order.

        These are the numbers of the table, and formulas with bounds of their own; a formula whose bounds follow from
        the columns it uses stays inside them.

        >>> Design("y", {"y": (0, 1), "x": (1, 9), "b": bool, "log": {"formula": "log(x)"}}).clippable
        ('y', 'x')
        """
        return tuple(name for name, column in self.columns.items() if self._clips(column))

    @cached_property
    def searched(self) -> tuple[str, ...]:
        """Columns whose bounds a release has yet to find, in declared order.

        >>> Design("y", {"y": (0, 1), "x": "private"}).searched
        ('x',)
        """
        return tuple(name for name, column in self._ranged.items() if column.is_searched)

    @cached_property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """The public range of every column whose bounds a release is to find, or has found, in declared order."""
        return {name: column.within for name, column in self._ranged.items() if column.within is not None}

    @property
    def _ranged(self) -> dict[str, Numeric]:
        numbers = {name: column for name, column in self.columns.items() if isinstance(column, Numeric)}
        return {name: column for name, column in numbers.items() if column.within is not None}

    def with_found(self, bounds: Mapping[str, tuple[float, float]]) -> Design:
        """The same design with bounds that were found in place of those that were to be.

        >>> found = Design("y", {"y": (0, 1), "x": "private"}).with_found({"x": (0.0, 8.0)})
        >>> found.columns["x"].bounds, found.searched, list(found.ranges)
        ((0.0, 8.0), (), ['x'])
        """
        found = {name: replace(self._ranged[name], bounds=ends, found=True) for name, ends in bounds.items()}
        return self._with_columns(found)

    def redeclared(self) -> Design:
        """The same design, in which bounds that an earlier release found are declared: they are public by now.

        >>> found = Design("y", {"y": (0, 1), "x": "private"}).with_found({"x": (0.0, 8.0)})
        >>> found.redeclared() == Design("y", {"y": (0, 1), "x": (0, 8)})
        True
        """
        return self._with_columns({name: _declared(column) for name, column in self._ranged.items() if column.found})

    def _with_columns(self, columns: Mapping[str, Numeric]) -> Design:
        if not columns:
            return self
        both = {**self.columns, **columns}
        return _made(self.target, both, self.intercept, self.radius, self.unit, *self._weighting)

    def _clips(self, column: Column) -> bool:
        if not isinstance(column, Numeric) or column.formula is None:
            return isinstance(column, Numeric)
        from discreet.design.derived import has_own_bounds

        return has_own_bounds(self.columns, column)

    @cached_property
    def factors(self) -> tuple[tuple[int, int], ...]:
        """First and last released column of every factor or interaction with several; a row has at most one of them.

        >>> Design("y", {"y": (0, 1), "b": bool, "g": ["k", "l", "m"], "h": ["u", "v"]}).factors
        ((2, 3),)
        """
        found, next_one = [], 1
        for name in self.regressors:
            first, next_one = next_one, next_one + len(self.columns[name].released(name))
            if isinstance(self.columns[name], Categorical | Interaction) and next_one - first > 1:
                found.append((first, next_one - 1))
        return tuple(found)

    @cached_property
    def indicators(self) -> tuple[tuple[int, int], ...]:
        """First and last released column of every declared column that is 0 or 1 in all of them: sum and square agree.

        Empty with a radius, which shrinks ones.

        >>> Design("y", {"y": (0, 1), "b": bool, "x": (0, 1), "g": ["k", "l", "m"]}).indicators
        ((1, 1), (3, 4))
        """
        found, next_one = [], 1
        for name in self.regressors:
            column = self.columns[name]
            first, next_one = next_one, next_one + len(column.released(name))
            if isinstance(column, Boolean | Categorical) or (isinstance(column, Interaction) and not column.signed):
                found.append((first, next_one - 1))
        return tuple(found) if self.radius is None else ()

    @property
    def count_public(self) -> bool:
        """Whether the sum of the constant is public: that of rows whose number is, unless they have weights."""
        return self.weights is None and self.rows_public

    @property
    def rows_public(self) -> bool:
        """Whether the number of rows that count is public: `replace`, every row a unit, and no rule that drops one."""
        drops = any(column.missing == "drop" for column in self.table_columns.values())
        return self.unit.neighbours == "replace" and self.unit.id is None and not drops

    @property
    def largest_weight(self) -> float:
        """The upper bound of the weights, which sums are divided by; 1 without weights."""
        column = None if self.weights is None else self.columns[self.weights]
        return column.bounds[1] if isinstance(column, Numeric) else 1.0

    @property
    def centred(self) -> bool:
        """Whether scaling keeps the origin: the bounds of every number in a released column are symmetric around 0."""
        released = (self.columns[name] for name in (*self.regressors, self.target))
        return all(not isinstance(column, Numeric | Interaction) or column.mid == 0 for column in released)

    @property
    def needs_sums(self) -> bool:
        """Whether its model needs sums of x and y: for an intercept, or to put back an origin that scaling moved.

        >>> Design("y", {"y": (-1, 1), "x": (-5, 5), "b": bool}, intercept=False).needs_sums
        False
        """
        return self.intercept or not self.centred

    @property
    def total(self) -> bool:
        """Whether every table, even an empty one, can be released: no rule turns a cell into an error."""
        return all(column.missing != "error" for column in self.table_columns.values())

    def to_dict(self) -> dict[str, object]:
        """The declarations as plain values, in the shape of design.toml."""
        out: dict[str, object] = {"target": self.target, "intercept": self.intercept}
        if self.radius is not None:
            out["radius"] = self.radius
        if self.weights is not None:
            out |= {"weights": self.weights, "weights_are": self.weights_are}
        out["columns"] = {name: column.to_dict() for name, column in self.columns.items()}
        # TOML has no word for nothing
        out["unit"] = {key: value for key, value in self.unit.to_dict().items() if value is not None}
        return out

    @classmethod
    def from_dict(cls, table: Mapping[str, object]) -> Design:
        """A design from plain values in the shape of design.toml; unknown keys are refused."""
        if not isinstance(table, Mapping):
            raise SpecError(f"a design: expected a table, got {type(table).__name__}")
        made = cls.__new__(cls)
        made._declare(table)
        return made

    def to_toml(self) -> str:
        """The text of a design.toml that loads back to this design."""
        import tomli_w

        # a pair of bounds reads best on one line
        return re.sub(
            r"= \[\n((?:    .*,\n)+)\]",
            lambda array: "= [" + ", ".join(line.strip()[:-1] for line in array[1].rstrip("\n").split("\n")) + "]",
            tomli_w.dumps(self._with_dates()),
        )

    def _with_dates(self) -> dict[str, object]:
        """The declarations as plain values, with the dates that TOML has and JSON has not."""
        table = self.to_dict()
        columns = {name: column.to_dict() for name, column in self.columns.items()}
        for name, column in self.columns.items():
            if isinstance(column, Numeric) and column.is_date:
                columns[name] = {key: dated(value) for key, value in columns[name].items()}
        return table | {"columns": columns}

    @classmethod
    def from_toml(cls, text: str) -> Design:
        r"""A design from the text of a design.toml.

        >>> Design.from_toml('target = "y"\n[columns]\ny = {bounds = [0, 1]}\nx = {dtype = "bool"}\n').released
        ('1', 'x', 'y')
        """
        if not isinstance(text, str):
            raise SpecError(f"expected the text of a design file, got {type(text).__name__}")
        # some editors put a byte order mark before the first line
        text = text.removeprefix("\ufeff")
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise DesignError([not_toml(str(error))]) from None
        except ValueError:
            raise DesignError([too_many_digits(text)]) from None
        except RecursionError:
            raise SpecError(
                "the design is nested too deeply; it needs only tables such as [columns.NAME] and [unit]"
            ) from None
        try:
            return cls.from_dict(table)
        except DesignError as error:
            problems = with_lines(error.problems, key_lines(text))
        raise DesignError(problems)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the design as TOML; an existing file is replaced only with `force`."""
        write_bytes(path, self.to_toml().encode(), force=force)

    @classmethod
    def load(cls, path: str | Path) -> Design:
        """Read a design.toml."""
        try:
            return cls.from_toml(read_limited(path).decode())
        except DesignError as error:
            raise DesignError(error.problems, escape_control(str(path))) from None
        except OSError as error:
            raise SpecError(f"cannot read the design {str(path)!r}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise SpecError(f"the design {str(path)!r} is not UTF-8 text; save it as UTF-8") from None


def design_problems(given: Mapping[str, object] | str) -> tuple[DesignProblem, ...]:
    r"""Everything that is wrong with a design that may be half filled in, as values; empty if it is a design.

    Parameters
    ----------
    given
        Plain values in the shape of design.toml, with any part missing or wrong, or the text of such a file.

    Returns
    -------
    tuple of DesignProblem
        Each with its message, column and key; with its line where the text of a file was given.

    Examples
    --------
    >>> import discreet
    >>> columns = {"age": {"bounds": [90, 18]}, "log": {"formula": "x"}}
    >>> found = discreet.design_problems({"target": "", "columns": columns})
    >>> [(one.column, one.key) for one in found]
    [('age', 'bounds'), ('log', 'formula'), ('', 'target')]
    >>> discreet.design_problems('target = "y"\n[columns]\ny = {bounds = [0, 1]}\nx = {dtype = "bool"}\n')
    ()
    """
    try:
        if isinstance(given, str):
            Design.from_toml(given)
        else:
            Design.from_dict(given)
    except DesignError as error:
        return error.problems
    except SpecError as error:
        return (DesignProblem(str(error)),)
    return ()


def _declared(column: Numeric) -> Numeric:
    """A column with the bounds that were found; a cell is filled with what the fill value was clipped to."""
    low, high = column.bounds
    fill = column.fill
    missing = column.missing if fill is None else Fill(min(max(fill, low), high))
    return replace(column, missing=missing, within=None, found=False)


def _made(
    target: str,
    columns: Mapping[str, object],
    intercept: bool,
    radius: float | None,
    unit: PrivacyUnit,
    weights: str | None,
    weights_are: str | None,
) -> Design:
    """A design from its parts in order."""
    return Design(target, columns, intercept, radius, unit, weights=weights, weights_are=weights_are)
