"""Parsing and score tests of linear hypotheses."""

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
    Interval,
    NamedValues,
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
from discreet.errors import ModelError, OptionError, shown
from discreet.exact.arrays import FloatArray
from discreet.releases.reference_distribution import (
    NotEstimable,
    checked_level,
    known,
    reason_of,
    shown_number,
    tail_probability,
)
from discreet.text import html_table

# -- hypotheses --------------------------------------------------------------------------------------------------------
# Linear hypotheses about coefficients, given as text, names or weights.

HypothesisSpec: TypeAlias = str | Mapping[str, float] | Sequence[float] | Sequence[Sequence[float]] | FloatArray

_NUMBER: Final = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_HELP: Final = "write a hypothesis like 'age = 0', 'age = height' or '2*age + height = 1, region[south] = 0'"


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """The m hypotheses `weights @ coefficients = values` about k coefficients."""

    labels: tuple[str, ...]
    weights: FloatArray  # shape (m, k)
    values: FloatArray  # shape (m,)


def hypotheses(spec: object, names: Sequence[str]) -> Hypotheses:
    """Parse hypotheses about the named coefficients.

    `spec` is a text of comma-separated equations, a mapping from names to hypothesised values, or rows of weights whose
    combinations are tested against 0.
    >>> hypotheses("age = 2*height + 1", ["Intercept", "age", "height"]).weights
    array([[ 0.,  1., -2.]])
    """
    if isinstance(spec, str):
        claims = _from_text(spec, names)
    elif isinstance(spec, Mapping):
        claims = _from_mapping(spec, names)
    else:
        claims = _from_weights(spec, names)
    if not (np.isfinite(claims.weights).all() and np.isfinite(claims.values).all()):
        raise _invalid("every number in a hypothesis must be finite", "use finite weights and values")
    if not claims.weights.any(axis=1).all():
        raise _invalid("every hypothesis must contain a coefficient with a nonzero weight")
    return claims


def _invalid(problem: str, remedy: str = _HELP) -> ModelError:
    return ModelError(problem, code="invalid-hypothesis", option="hypotheses", remedy=remedy)


def _unreadable(spec: object) -> ModelError:
    return _invalid(f"cannot read the hypothesis {shown(spec)}")


def _from_mapping(spec: Mapping[str, float], names: Sequence[str]) -> Hypotheses:
    for name in spec:
        if name not in names:
            raise ModelError.unknown_name("coefficient", name, names, option="hypotheses")
    if not spec:
        raise _invalid("expected at least one hypothesis, got an empty mapping", "map a coefficient to a value to test")
    weights = np.array([[float(tested == name) for name in names] for tested in spec])
    values = _numbers(list(spec.values()))
    if values.ndim != 1:
        raise _unreadable(dict(spec))
    labels = [f"{name} = {value:g}" for name, value in zip(spec, values, strict=True)]
    return Hypotheses(tuple(labels), weights, values)


def _from_weights(spec: object, names: Sequence[str]) -> Hypotheses:
    weights = np.atleast_2d(_numbers(spec))
    if weights.ndim != 2 or weights.shape[1] != len(names) or len(weights) == 0:
        raise _invalid(
            f"expected rows of {len(names)} weights, got an array of shape {np.shape(weights)}",
            f"give one weight for each of: {', '.join(names)}",
        )
    labels = [_label(row, names) for row in weights.tolist()]
    return Hypotheses(tuple(labels), weights, np.zeros(len(weights)))


def _numbers(spec: object) -> FloatArray:
    try:
        return np.array(spec, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _unreadable(spec) from None


def _label(row: Sequence[float], names: Sequence[str]) -> str:
    parts = [(weight, name) for weight, name in zip(row, names, strict=True) if weight]
    terms = [("" if weight == 1 else "-" if weight == -1 else f"{weight:g}*") + name for weight, name in parts]
    return " + ".join(terms).replace("+ -", "- ") + " = 0"


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
            raise _invalid(f"expected exactly one '=' in each hypothesis, got {shown(text)}")
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
    # a level may contain any character, so match names first, and longer names before their prefixes
    longest_first = sorted(names, key=len, reverse=True)
    out: list[str | float | _Name] = []
    index = 0
    while index < len(text):
        rest = text[index:]
        name = next((name for name in longest_first if rest.startswith(name)), None)
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
            raise ModelError.unknown_name("coefficient", rest.split()[0], names, option="hypotheses")
    return out


def _side(tokens: Sequence[str | float | _Name], text: str, names: Sequence[str]) -> tuple[FloatArray, float]:
    """Return the weights and the constant of one side of an equation, a sum of `number`, `name` or `number*name`."""
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
    raise _unreadable(text)


# -- tests -------------------------------------------------------------------------------------------------------------
# Score tests of linear hypotheses, separately and jointly.
#
# A one-sided p-value is half the two-sided one if the estimate is on that side, and 1 minus that half otherwise. Under
# the hypothesis the score a'g(theta0) is a sum of symmetric errors, from rows and from noise, divided by the root of a
# variance that does not depend on the side, so each side has half of the tail. The sides differ only if noise leaves
# the sums close to indefinite, because releases with positive definite sums are then a selection.

Alternative = Literal["two-sided", "larger", "smaller"]
ALTERNATIVES: Final[tuple[Alternative, ...]] = get_args(Alternative)


def checked_alternative(name: object) -> Alternative:
    """Return the name of the alternative, or raise if it is unknown."""
    for known_name in ALTERNATIVES:
        if isinstance(name, str) and name == known_name:
            return known_name
    raise OptionError.unknown_name("alternative", name, ALTERNATIVES, option="alternative")


@dataclass(frozen=True, eq=False)
class ContrastTest:
    """Separate tests of hypotheses. Every attribute but the last two maps the label of a hypothesis to a value.

    Attributes
    ----------
    effect
            Estimates of the tested combinations.
    sd
            Their standard errors.
    tvalue
            (effect - hypothesised value) / sd.
    score_z
        Score statistics. They use the variance under the hypothesis, so they differ from `tvalue` if noise is large.
    pvalue
            P-value of `score_z` for the alternative. It is 1 if the release excludes no value.
    alternative
            `two-sided`, `larger` or `smaller`.
    contrasts
            The combinations, or the reason why they cannot be estimated.
    """

    effect: NamedValues[Number]
    sd: NamedValues[Number]
    tvalue: NamedValues[Number]
    score_z: NamedValues[Number]
    pvalue: NamedValues[Number]
    alternative: Alternative
    contrasts: Contrasts | NotEstimable

    def conf_int(self, level: float | None = None, *, alpha: float | None = None) -> NamedValues[Interval]:
        """Return a two-sided confidence set for each combination. `level` and `alpha` are as for `Fit.conf_int`."""
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
        """Return plain values for JSON, with null and a reason where a number cannot be estimated.

        Parameters
        ----------
        level, alpha
                Confidence level of the two-sided sets, as for `Fit.conf_int`.
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
                label: item.to_dict() if isinstance(item, ConfidenceSet) else None for label, item in ends.items()
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
    """Joint test of several hypotheses.

    Attributes
    ----------
    statistic
            F statistic, or chi-square if `df_denom` is None. For one hypothesis it is the square of `score_z`.
    pvalue
            P-value of the statistic. It is 1 if the release excludes no value.
    df_num, df_denom
            Number of hypotheses, and residual degrees of freedom.
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
        """Return the name of the distribution, the statistic and the degrees of freedom."""
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
    """Test hypotheses separately, given the estimates of their combinations."""
    labels, values = claims.labels, claims.values

    def tails(contrasts: Contrasts) -> NamedValues[Number]:
        return _sided(contrasts.tail_probabilities(values), contrasts.statistics(values), alternative)

    return ContrastTest(
        effect=numbers_by_name(labels, effects),
        sd=read_each(about, labels, Contrasts.standard_errors, number_without),
        tvalue=read_each(about, labels, lambda contrasts: contrasts.ratios(values), number_without),
        score_z=read_each(about, labels, lambda contrasts: contrasts.statistics(values), number_without),
        pvalue=read_each(about, labels, tails, p_without),
        alternative=alternative,
        contrasts=about,
    )


def _sided(two: NamedValues[Number], scores: NamedValues[Number], alternative: Alternative) -> NamedValues[Number]:
    """Convert two-sided to one-sided p-values by the sign of the score."""
    if alternative == "two-sided":
        return two
    sign = 1.0 if alternative == "larger" else -1.0

    def side(p: Number, z: Number) -> Number:
        if isinstance(p, NotEstimable) or isinstance(z, NotEstimable):
            return p
        return p / 2 if sign * z > 0 else 1 - p / 2

    return NamedValues(tuple(two), [side(two[name], scores[name]) for name in two])


def joint_test(about: Contrasts | NotEstimable, claims: Hypotheses, *, use_f: bool) -> JointTest:
    """Test all hypotheses jointly, with the covariance under the hypotheses.

    With pure-epsilon noise the p-value is at least Bonferroni's bound for the largest standardised error.
    """
    from scipy.special import chdtrc, fdtrc

    count = len(claims.values)
    if np.linalg.matrix_rank(claims.weights) < count:
        raise _invalid(
            "the hypotheses must be linearly independent, but some repeat or contradict others",
            "leave out hypotheses that repeat or contradict others",
        )
    if isinstance(about, NotEstimable):
        return JointTest(about, p_without(about), count, None)
    df = about.inference.df
    reason = first_missing(about.standard_errors())
    if reason is not None:
        return JointTest(reason, reason, count, df if use_f else None)
    score, kappa = open_coefficients(about, (about.estimates - claims.values) / about.scale)
    pvalue = float(fdtrc(count, df, score / count)) if use_f else float(chdtrc(count, score))
    if about.family == "laplace":
        # the statistic is a sum of `count` squared standardised errors, and the largest is at least their mean
        far = tail_probability(math.sqrt(score / count), about.family, df)
        pvalue = max(pvalue, min(1.0, count * far))
    pvalue = reference_tail(pvalue, kappa, count)
    return JointTest(score / count, pvalue, count, df) if use_f else JointTest(score, pvalue, count, None)


def open_coefficients(about: Contrasts, distance: FloatArray) -> tuple[float, float]:
    """Return the joint score statistic, allowing for free coefficients, and the kappa of its reference distribution."""
    inference, L = about.inference, about.L
    if len(L) == 1:
        inference = inference.for_one(L[0])
    elif inference.joint_sampling is not None:
        inference = replace(inference, sampling=inference.joint_sampling)
    joint = joint_score(inference, L, distance)
    score = joint.statistic
    if not score > 0:
        return 0.0, math.inf
    others = nuisance(inference, L, joint.combination, joint.step / -score, covariance_root(inference))
    return others.statistic(-score, score), others.kappa
