"""`table`: several fits side by side, for a paper or a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from discreet.analyst.fitted import Fit
from discreet.analyst.tables.regression_table import DIGITS, RegressionTable, checked_digits
from discreet.analyst.tables.several_models import BELOW, Below, Layout, several_models
from discreet.errors import SpecError, shown
from discreet.privacy.checks import is_number, listed
from discreet.releases.reference_law import checked_level

STARS: Final = (0.05, 0.01, 0.001)


def table(
    fits: Iterable[Fit],
    *,
    names: Iterable[str] | None = None,
    level: float | None = None,
    alpha: float | None = None,
    below: Below = "errors",
    stars: bool | Iterable[float] = False,
    coefficients: Iterable[str] | None = None,
    labels: Mapping[str, str] | None = None,
    digits: int = DIGITS,
    title: str = "Linear regressions from releases",
) -> RegressionTable:
    r"""Put several fits side by side; it reads the fits and costs nothing more.

    Parameters
    ----------
    fits
        From one release or several, of any kind.
    names
        Of the columns; (1), (2) and so on unless given.
    level, alpha
        Of the confidence sets, as for `Fit.conf_int`.
    below
        What stands below each estimate: `errors`, `intervals`, `pvalues` or `none`.
    stars
        Whether estimates have stars for p-values below 0.05, 0.01 and 0.001; or other thresholds.
    coefficients
        Which ones to show, in this order; all unless given.
    labels
        Other words for coefficients, by name.
    digits
        Significant digits.
    title
        Above the table.

    Examples
    --------
    >>> import discreet
    >>> design = discreet.Design("y", {"y": (0, 8), "x": (0, 2), "z": (0, 1)})
    >>> rows = {"x": [0, 1, 2, 1.5, 0.5], "z": [0, 1, 0, 1, 1], "y": [2, 5, 6, 4, 4]}
    >>> release = discreet.testing.exact_release(rows, design)  # NOT PRIVATE
    >>> made = discreet.table([discreet.fit(release, "y ~ x"), discreet.fit(release)], title="Two models")
    >>> print("\n".join(made.to_text().splitlines()[:12]))
    NOT PRIVATE: Two models
    ---------------------------------------------
                               (1)            (2)
    Target                       y              y
    ---------------------------------------------
    Intercept                2.600          2.400
                          (0.6928)        (1.010)
    x                        1.600          1.600
                          (0.5657)       (0.6733)
    z                                      0.3333
                                         (0.9718)
    ---------------------------------------------
    """
    chosen = listed(fits)
    if chosen is None or not all(isinstance(one, Fit) for one in chosen):
        raise SpecError(f"fits: expected a list of fits, such as [fit1, fit2], got {shown(fits)}")
    if not chosen:
        raise SpecError("got no fits to show; give a list of them, such as [fit1, fit2]")
    if not isinstance(title, str):
        raise SpecError(f"title: expected text, got {shown(title)}")
    if below not in BELOW:
        raise SpecError.unknown_name("below", below, BELOW)
    known = tuple(dict.fromkeys(name for one in chosen for name in one.names))
    layout = Layout(
        names=_names(names, len(chosen)),
        level=checked_level(level, alpha),
        below=below,
        stars=_thresholds(stars),
        digits=checked_digits(digits),
        coefficients=known if coefficients is None else _chosen(coefficients, known),
        labels={} if labels is None else _labels(labels, known),
        title=title,
    )
    return RegressionTable(several_models(chosen, layout))


def _texts(what: str, given: object) -> tuple[str, ...]:
    found = listed(given)
    if found is None or not all(isinstance(one, str) for one in found):
        raise SpecError(f"{what}: expected a list of texts, got {shown(given)}")
    return tuple(found)


def _names(names: object, count: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"({place})" for place in range(1, count + 1))
    found = _texts("names", names)
    if len(found) != count or len(set(found)) != count:
        raise SpecError(f"names: expected {count} different ones, one for each fit, got {shown(list(found))}")
    return found


def _thresholds(stars: object) -> tuple[float, ...]:
    if isinstance(stars, bool):
        return STARS if stars else ()
    found = listed(stars)
    if found is None or not found or not all(is_number(one) and 0 < one < 1 for one in found):
        raise SpecError(
            f"stars: expected True, False or numbers between 0 and 1, such as [0.1, 0.05], got {shown(stars)}"
        )
    return tuple(sorted(map(float, found), reverse=True))


def _chosen(coefficients: object, known: tuple[str, ...]) -> tuple[str, ...]:
    found = _texts("coefficients", coefficients)
    for name in found:
        if name not in known:
            raise SpecError.unknown_name("coefficient", name, known)
    if not found:
        raise SpecError("coefficients is empty; name some of them, or leave it out to show all")
    return tuple(dict.fromkeys(found))


def _labels(labels: object, known: tuple[str, ...]) -> dict[str, str]:
    if not isinstance(labels, Mapping) or not all(isinstance(one, str) for one in labels.values()):
        raise SpecError(f"labels: expected texts by coefficient, such as {{'age': 'Age'}}, got {shown(labels)}")
    for name in labels:
        if name not in known:
            raise SpecError.unknown_name("coefficient", name, known)
    return dict(labels)
