"""How to go on with a release: the command line and the Python lines that repeat a model."""

from __future__ import annotations

import csv
import io
import shlex
from dataclasses import dataclass
from typing import Final

from discreet.analyst.equations.selection import choose
from discreet.analyst.fitted import Fit
from discreet.analyst.inference.robust import ROBUST_TYPES
from discreet.analyst.values.not_estimable import REMEDY
from discreet.releases import NOT_PRIVATE_SUFFIX, Release

_ABOUT: Final = {
    "moments": "Any number of models can be read from the release at no further cost in privacy.",
    "coefficients": (
        "The release holds the one model that was declared; reading it and predicting with it cost nothing further in "
        "privacy. Another model needs another release."
    ),
}
_WITH_ERRORS: Final = (
    "fit.params, fit.bse, fit.conf_int(0.95), fit.pvalues",
    "fit.get_prediction(new_rows).conf_int()",
)
_READ: Final = {"moments": _WITH_ERRORS, "coefficients": ("fit.params", "fit.predict(new_rows)")}


@dataclass(frozen=True, slots=True)
class Usage:
    """What can be read from the release, and the lines to copy for it: commands of a shell, and Python."""

    about: str
    commands: tuple[str, ...]
    python: tuple[str, ...]


def usage(release: Release, fit: Fit | None, file: str | None = None) -> Usage:
    """Give the lines that read this model from the release again, and that predict with it; `file` is its name."""
    file = file or ("R.json" if release.private else f"R{NOT_PRIVATE_SUFFIX}")
    flags, arguments = ([], []) if fit is None else (_flags(fit), _arguments(fit))
    # clustered errors are there without being asked for
    kind = "" if fit is None or fit.cov_type not in ROBUST_TYPES else fit.cov_type
    arguments += [f"cov_type={kind!r}"] if kind else []
    robust = ["--robust"] if kind == "HC1" else []
    # where least squares has no coefficients, only a penalised model predicts
    predicting = flags if fit is None or fit.estimable else [*_flags(fit, penalty=False), "--penalty", REMEDY]
    commands = [
        ["discreet", "fit", file, *flags, *(["--cov-type", kind] if kind == "HC0" else robust)],
        ["discreet", "predict", file, "new.csv", *predicting, "-o", "predictions.csv"],
    ]
    if kind != "HC0":
        commands += [
            ["discreet", "plot", file, *flags, *robust, "-o", "coefficients.svg"],
            ["discreet", "report", file, *flags, *robust, "-o", "R.html"],
        ]
    read = _READ[release.kind]
    if fit is not None and not fit.estimable:
        again = ", ".join(["release", *_arguments(fit, penalty=False), f"penalty={REMEDY!r}"])
        read = (_WITH_ERRORS[0], f"discreet.fit({again}).predict(new_rows)")
    python = (
        "import discreet",
        f"release = discreet.Release.load({file!r})",
        f"fit = discreet.fit({', '.join(['release', *arguments])})",
        *read,
    )
    return Usage(_ABOUT[release.kind], tuple(shlex.join(words) for words in commands), python)


def _flags(fit: Fit, *, penalty: bool = True) -> list[str]:
    spec = _spec(fit, penalty=penalty)
    if "features" in spec:
        spec["features"] = _listed(fit.features)
    return [word for name, value in spec.items() for word in (f"--{name.replace('_', '-')}", str(value))] + (
        [] if fit.model.intercept or not fit.release.design.intercept else ["--no-intercept"]
    )


def _arguments(fit: Fit, *, penalty: bool = True) -> list[str]:
    intercept = [] if fit.model.intercept == fit.release.design.intercept else [f"intercept={fit.model.intercept}"]
    return [f"{name}={value!r}" for name, value in _spec(fit, penalty=penalty).items()] + intercept


def _spec(fit: Fit, *, penalty: bool) -> dict[str, object]:
    """Give what differs from the model that is read when nothing is asked for."""
    spec: dict[str, object] = {}
    if fit.target != fit.release.design.target:
        spec["target"] = fit.target
    if fit.features != choose(fit.release, fit.target).features:
        spec["features"] = list(fit.features)
    if not penalty:
        return spec
    if fit.penalised:
        spec["penalty"] = fit.penalty
    if fit.strength is not None:
        spec["strength"] = "criterion" if fit.selected else fit.strength
    if fit.l1_ratio is not None:
        spec["l1_ratio"] = fit.l1_ratio
    return spec


def _listed(names: tuple[str, ...]) -> str:
    """Write names between commas as `--features` reads them."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()
