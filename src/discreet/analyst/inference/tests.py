"""Parse and test linear hypotheses."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from discreet.analyst.confidence_sets import ConfidenceSet, missing_values
from discreet.analyst.inference.contrasts import Contrasts, read_each
from discreet.analyst.inference.nuisance import covariance_root, nuisance, reference_tail
from discreet.analyst.inference.score import joint_score
from discreet.analyst.values import (
    ByName,
    Interval,
    Number,
    all_beside,
    beside_set,
    first_missing,
    number_without,
    numbers_by_name,
    p_without,
    set_without,
    shown_estimate,
)
from discreet.errors import SpecError, shown
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_law import (
    NotEstimable,
    checked_level,
    known,
    reason_of,
    shown_number,
    tail_probability,
)
from discreet.text import html_table

# -- hypotheses --------------------------------------------------------------------------------------------------------
# Linear hypotheses about coefficients, from text, names or weights.

HypothesisSpec: TypeAlias = str | Mapping[str, float] | Sequence[float] | Sequence[Sequence[float]] | FloatArray

_NUMBER: Final = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_HELP: Final = "write it like 'age = 0', 'age = height' or '2*age + height = 1, region[south] = 0'"


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Claims weights'coefficients = values, m of them about k coefficients.

    A label for each as it is shown, weights of shape (m, k) and values of shape (m,).
    """

    labels: tuple[str, ...]
    weights: FloatArray
    values: FloatArray


def hypotheses(spec: object, names: Sequence[str]) -> Hypotheses:
    """Read hypotheses about the named coefficients.

    Parameters
    ----------
    spec
        Text with one equation or several parted by commas; a mapping of names to the values they are held against; or
        one row of weights, or several, whose combinations are held against 0.
    names
        Of the coefficients.

    Examples
    --------
    >>> hypotheses("age = 2*height + 1", ["Intercept", "age", "height"]).weights
    array([[ 0.,  1., -2.]])
    """
    if isinstance(spec, str):
        made = _from_text(spec, names)
    elif isinstance(spec, Mapping):
        made = _from_mapping(spec, names)
    else:
        made = _from_weights(spec, names)
    if not (np.isfinite(made.weights).all() and np.isfinite(made.values).all()):
        raise SpecError("a hypothesis holds a number that is not finite; use finite weights and values")
    if not made.weights.any(axis=1).all():
        raise SpecError(f"a hypothesis names no coefficient; {_HELP}")
    return made


def _from_mapping(spec: Mapping[str, float], names: Sequence[str]) -> Hypotheses:
    for name in spec:
        if name not in names:
            raise SpecError.unknown_name("coefficient", name, names)
    if not spec:
        raise SpecError("got no hypothesis; name a coefficient and the value it is tested against, as in {'age': 0}")
    weights = np.array([[float(name == other) for other in names] for name in spec])
    values = _numbers(list(spec.values()))
    if values.ndim != 1:
        raise SpecError(f"the hypothesis {shown(dict(spec))} is not understood; {_HELP}")
    labels = [f"{name} = {value:g}" for name, value in zip(spec, values, strict=True)]
    return Hypotheses(tuple(labels), weights, values)


def _from_weights(spec: object, names: Sequence[str]) -> Hypotheses:
    weights = np.atleast_2d(_numbers(spec))
    if weights.ndim != 2 or weights.shape[1] != len(names) or len(weights) == 0:
        raise SpecError(
            f"got weights of shape {np.shape(weights)}; each row needs one weight for each of: {', '.join(names)}"
        )
    labels = [_label(row, names) for row in weights.tolist()]
    return Hypotheses(tuple(labels), weights, np.zeros(len(weights)))


def _numbers(spec: object) -> FloatArray:
    try:
        return np.array(spec, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise SpecError(f"the hypothesis {shown(spec)} is not understood; {_HELP}") from None


def _label(row: Sequence[float], names: Sequence[str]) -> str:
    parts = [(weight, name) for weight, name in zip(row, names, strict=True) if weight]
    shown = [("" if weight == 1 else "-" if weight == -1 else f"{weight:g}*") + name for weight, name in parts]
    return " + ".join(shown).replace("+ -", "- ") + " = 0"


def _from_text(text: str, names: Sequence[str]) -> Hypotheses:
    tokens = _tokens(text, names)
    claims: list[list[str | float | _Name]] = [[]]
    for token in tokens:
        if token == ",":
            claims.append([])
        else:
            claims[-1].append(token)
    weights, values, labels = [], [], []
    for claim in claims:
        if claim.count("=") != 1:
            raise SpecError(f"{shown(text)} needs one '=' in each hypothesis; {_HELP}")
        middle = claim.index("=")
        left, right = _side(claim[:middle], text, names), _side(claim[middle + 1 :], text, names)
        weights.append(left[0] - right[0])
        values.append(right[1] - left[1])
        labels.append(" ".join(f"{token:g}" if isinstance(token, float) else str(token) for token in claim))
    return Hypotheses(tuple(labels), np.array(weights), np.array(values))


@dataclass(frozen=True, slots=True)
class _Name:
    name: str

    def __str__(self) -> str:
        return self.name


def _tokens(text: str, names: Sequence[str]) -> list[str | float | _Name]:
    # a level may hold any character, so known names are looked for first, the longest of them before its beginnings
    known = sorted(names, key=len, reverse=True)
    out: list[str | float | _Name] = []
    index = 0
    while index < len(text):
        rest = text[index:]
        name = next((name for name in known if rest.startswith(name)), None)
        number = _NUMBER.match(rest)
        if rest[0].isspace():
            index += 1
        elif name is not None:
            out.append(_Name(name))
            index += len(name)
        elif number is not None:
            out.append(float(number.group()))
            index += number.end()
        elif rest[0] in "+-*=,":
            out.append(rest[0])
            index += 1
        else:
            raise SpecError.unknown_name("coefficient", rest.split()[0], names)
    return out


def _side(tokens: Sequence[str | float | _Name], text: str, names: Sequence[str]) -> tuple[FloatArray, float]:
    """Weights and constant of one side of an equation: signed terms `number`, `name` or `number*name`."""
    weights, constant = np.zeros(len(names)), 0.0
    rest = list(tokens)
    first = True
    while rest or first:
        sign = 1.0
        if rest and rest[0] in ("+", "-"):
            sign = -1.0 if rest.pop(0) == "-" else 1.0
        elif not first:
            break
        first = False
        match rest:
            case [float(factor), "*", _Name(name), *rest]:
                weights[names.index(name)] += sign * factor
            case [_Name(name), "*", float(factor), *rest]:
                weights[names.index(name)] += sign * factor
            case [_Name(name), *rest]:
                weights[names.index(name)] += sign
            case [float(number), *rest]:
                constant += sign * number
            case _:
                break
    else:
        return weights, constant
    raise SpecError(f"{shown(text)} is not understood; {_HELP}")


# -- tests -------------------------------------------------------------------------------------------------------------
# Tests of linear hypotheses with the score, one by one and jointly.
#
# Against one side a test takes half of the two-sided p-value where the estimate lies on that side, and 1 less that half
# where it lies on the other: at the hypothesis the score a'g(theta0) is a sum of symmetric errors, those of the rows
# and of the noise, over the root of a variance that does not depend on the side, so each side has half of the tail.
# Where noise leaves the sums close to indefinite, and releases with positive definite ones are a selection, the sides
# differ.

Alternative = Literal["two-sided", "larger", "smaller"]
ALTERNATIVES: Final[tuple[Alternative, ...]] = get_args(Alternative)


def checked_alternative(name: object) -> Alternative:
    """Check which side a small p-value speaks for.

    >>> checked_alternative("larger")
    'larger'
    """
    for known_name in ALTERNATIVES:
        if isinstance(name, str) and name == known_name:
            return known_name
    raise SpecError.unknown_name("alternative", name, ALTERNATIVES)


@dataclass(frozen=True, eq=False)
class ContrastTest:
    """Tests of hypotheses one by one; every value is by hypothesis.

    Attributes
    ----------
    effect
        Estimates of the combinations that the hypotheses are about.
    sd
        Their standard errors.
    tvalue
        Effect less value over `sd`.
    score_z
        Score statistics: the variance is the one under the hypothesis, so where noise is large they are not `tvalue`.
    pvalue
        Of `score_z`, for the alternative; 1 where the release excludes no value.
    alternative
        `two-sided`, `larger` or `smaller`.
    contrasts
        The combinations, or why nothing can be said of them.
    """

    effect: ByName[Number]
    sd: ByName[Number]
    tvalue: ByName[Number]
    score_z: ByName[Number]
    pvalue: ByName[Number]
    alternative: Alternative
    contrasts: Contrasts | NotEstimable

    def conf_int(self, level: float | None = None, *, alpha: float | None = None) -> ByName[Interval]:
        """Give a two-sided confidence set for each combination; `level` and `alpha` are as for `Fit.conf_int`."""
        checked = checked_level(level, alpha)
        return read_each(
            self.contrasts, tuple(self.effect), lambda about: about.intervals(about.critical(checked)), set_without
        )

    def __repr__(self) -> str:
        ends = self.conf_int()
        return "\n".join(f"{label}: {self._line(label, ends[label])}" for label in self.effect)

    def _repr_html_(self) -> str:
        ends = self.conf_int()
        rows = [
            [
                label,
                shown_estimate(self.effect[label], ends[label]),
                shown_number(beside_set(self.sd[label], ends[label]), ".4g"),
                *(shown_number(values[label], ".4g") for values in (self.score_z, self.pvalue)),
                str(ends[label]),
            ]
            for label in self.effect
        ]
        heads = ["hypothesis", "effect", "std err", "score z", f"p, {self.alternative}", "two-sided 95% set"]
        return html_table("Tests", heads, rows, [])

    def to_dict(self, level: float | None = None, *, alpha: float | None = None) -> dict[str, object]:
        """Give the tests as plain values for JSON: null where there is no number, with the reason.

        Parameters
        ----------
        level, alpha
            Of the two-sided sets, as for `Fit.conf_int`.
        """
        checked = checked_level(level, alpha)
        ends = self.conf_int(checked)
        numbers = {
            "effect": self.effect,
            "sd": all_beside(self.sd, ends),
            "tvalue": all_beside(self.tvalue, ends),
            "score_z": self.score_z,
            "pvalue": self.pvalue,
        }
        return {
            "alternative": self.alternative,
            "interval_level": checked,
            **{name: values.to_dict() for name, values in numbers.items()},
            "conf_int": {
                label: one.to_dict() if isinstance(one, ConfidenceSet) else None for label, one in ends.items()
            },
        }

    def _line(self, label: str, ends: Interval) -> str:
        effect, z, p = self.effect[label], self.score_z[label], self.pvalue[label]
        why = next(iter(missing_values({"effect": effect, "z": z, "p": p}).values()), None)
        side = "p" if self.alternative == "two-sided" else f"one-sided p ({self.alternative})"
        shown_p = f"{side} = {shown_number(p, '.4g')}"
        if why is not None:
            return str(why) if known(p) is None else f"{why}; {shown_p}"
        return f"effect {shown_estimate(effect, ends)}, score z = {shown_number(z, '.4g')}, {shown_p}"


@dataclass(frozen=True, slots=True, repr=False)
class JointTest:
    """A test of several hypotheses at once.

    Attributes
    ----------
    statistic
        F, or chi-square where `df_denom` is none, of the score; for one hypothesis the square of its `score_z`.
    pvalue
        Probability of at least as much under the hypotheses; 1 where the release excludes no value.
    df_num, df_denom
        Number of hypotheses, and degrees of freedom of the residuals.
    """

    statistic: Number
    pvalue: Number
    df_num: int
    df_denom: float | None

    def __repr__(self) -> str:
        name, value, degrees = self._parts()
        why = reason_of(self.statistic)
        end = "" if why is None else f" ({why})"
        return f"{name}({degrees}) = {value}, p = {shown_number(self.pvalue, '.4g')}{end}"

    def _repr_html_(self) -> str:
        name, value, degrees = self._parts()
        why = reason_of(self.statistic)
        return html_table(
            "Joint test",
            ["hypotheses", name, "degrees of freedom", "p"],
            [[str(self.df_num), value, degrees, shown_number(self.pvalue, ".4g")]],
            [] if why is None else [f"Not estimable: {why}."],
        )

    def _parts(self) -> tuple[str, str, str]:
        """Name of the law, statistic and degrees of freedom."""
        value = shown_number(self.statistic, ".4g")
        if self.df_denom is None:
            return "chi-square", value, str(self.df_num)
        return "F", value, f"{self.df_num}, {self.df_denom:.0f}"


def contrast_test(
    about: Contrasts | NotEstimable,
    claims: Hypotheses,
    effects: FloatArray | NotEstimable,
    alternative: Alternative = "two-sided",
) -> ContrastTest:
    """Test hypotheses one by one.

    Parameters
    ----------
    about
        The combinations, or why nothing can be said of them.
    claims
        What is claimed.
    effects
        Estimates of the combinations, shape (m,), or why there are none.
    alternative
        Which side a small p-value speaks for.
    """
    labels, values = claims.labels, claims.values

    def tails(one: Contrasts) -> ByName[Number]:
        return _sided(one.tail_probabilities(values), one.statistics(values), alternative)

    return ContrastTest(
        effect=numbers_by_name(labels, effects),
        sd=read_each(about, labels, Contrasts.standard_errors, number_without),
        tvalue=read_each(about, labels, lambda one: one.ratios(values), number_without),
        score_z=read_each(about, labels, lambda one: one.statistics(values), number_without),
        pvalue=read_each(about, labels, tails, p_without),
        alternative=alternative,
        contrasts=about,
    )


def _sided(two: ByName[Number], scores: ByName[Number], alternative: Alternative) -> ByName[Number]:
    """P-values for one side from those for both, by the sign of the score; see the head of the module."""
    if alternative == "two-sided":
        return two
    sign = 1.0 if alternative == "larger" else -1.0

    def side(p: Number, z: Number) -> Number:
        if isinstance(p, NotEstimable) or isinstance(z, NotEstimable):
            return p
        return p / 2 if sign * z > 0 else 1 - p / 2

    return ByName(tuple(two), [side(two[name], scores[name]) for name in two])


def joint_test(about: Contrasts | NotEstimable, claims: Hypotheses, *, use_f: bool) -> JointTest:
    """Test all hypotheses together with the covariance that holds under them.

    With pure-epsilon noise the p-value is at least that of Bonferroni's rule for the principal errors one by one.
    """
    from scipy.special import chdtrc, fdtrc

    count = len(claims.values)
    if np.linalg.matrix_rank(claims.weights) < count:
        raise SpecError("the hypotheses repeat or contradict each other; leave out those that follow from the others")
    if isinstance(about, NotEstimable):
        return JointTest(about, p_without(about), count, None)
    df = about.inference.df
    refused = first_missing(about.standard_errors())
    if refused is not None:
        return JointTest(refused, refused, count, df if use_f else None)
    score, kappa = open_coefficients(about, (about.estimates - claims.values) / about.scale)
    pvalue = float(fdtrc(count, df, score / count)) if use_f else float(chdtrc(count, score))
    if about.family == "laplace":
        # the statistic is a sum of squares of as many standardised errors; one of them has at least the mean share
        far = tail_probability(math.sqrt(score / count), about.family, df)
        pvalue = max(pvalue, min(1.0, count * far))
    pvalue = reference_tail(pvalue, kappa, count)
    return JointTest(score / count, pvalue, count, df) if use_f else JointTest(score, pvalue, count, None)


def open_coefficients(about: Contrasts, distance: FloatArray) -> tuple[float, float]:
    """Score statistic of all hypotheses, and how well the coefficients are known that they leave open."""
    inference, L = about.inference, about.L
    if len(L) == 1:
        inference = inference.for_one(L[0])
    elif inference.joint_sampling is not None:
        inference = replace(inference, sampling=inference.joint_sampling)
    found = joint_score(inference, L, distance)
    score = found.statistic
    if not score > 0:
        return 0.0, math.inf
    open_ones = nuisance(inference, L, found.combination, found.step / -score, covariance_root(inference))
    return open_ones.statistic(-score, score), open_ones.kappa
