"""Golden outputs: releases, fits, tests and plans from seeded noise, compared with stored files byte for byte.

`make golden` (python tests/support/golden_files.py --accept) writes them anew; read the difference before you commit
it. Every release in them has noise from a seed and is NOT PRIVATE, whatever it says of itself.

Doubles are rounded to ten significant digits, because the last ones may differ between builds of BLAS. Integers
(sums, noise and its scales) are kept digit for digit. Versions are left out. Help texts, summaries and reports are not
stored: read them when you change them.
"""

from __future__ import annotations

import difflib
import functools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

import discreet
from discreet.cli.main import program
from discreet.options import RobustErrors
from support.golden_cases import DESIGNS, VARIANTS, outcome, released, ten_digits

FOLDER = Path(__file__).parents[1] / "repository" / "golden"
WIDTH = 100
MOST_SHOWN = 60
# designs that every mechanism is tried on, and those that a few are
ALL, SOME = ("add-remove", "replace", "persons", "no intercept"), ("persons replaced", "ball", "derived")
BRIEF = ("gaussian", "laplace", "dpme", "irls", "output", "objective")
EXTRAS: dict[str, dict[str, Any]] = {
    "robust": {"robust": True},
    "robust with a bound": {"robust": RobustErrors(residual_bound=8.0)},
    "robust, finer grid": {"robust": True, "grid_bits": 20},
    "clip counts": {"clip_counts": True},
}
MODELS: dict[str, dict[str, Any]] = {
    "least squares": {},
    "two features": {"features": ["hours", "region"]},
    "other target": {"target": "hours", "features": ["wage"], "intercept": True},
    "no intercept": {"formula": "wage ~ hours + member - 1"},
    "ridge": {"penalty": "ridge", "strength": 0.1},
    "lasso": {"penalty": "lasso", "strength": 0.05},
    "elastic net": {"penalty": "elastic-net", "strength": 0.05, "l1_ratio": 0.5},
    "lasso by criterion": {"penalty": "lasso", "strength": "criterion"},
    "adaptive": {"penalty": "adaptive"},
}


def flat(value: Any, path: str = "") -> Iterator[str]:
    """Plain values as lines `path = value`; what holds single values only takes one line."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    if path and not any(isinstance(one, dict | list | tuple) for one in inner):
        yield f"{path} = {json.dumps(rounded(value), sort_keys=True)}"
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from flat(value[key], f"{path}.{key}" if path else str(key))
    else:
        for index, one in enumerate(value):
            yield from flat(one, f"{path}[{index}]")


def rounded(value: Any) -> Any:
    """The value with doubles of ten digits."""
    if isinstance(value, float):
        return ten_digits(value)
    if isinstance(value, dict):
        return {str(key): rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return value


def section(title: str, make: Callable[[], Any]) -> list[str]:
    """A heading, then plain values as lines, a text as it is, or the words of a refusal; then notices."""
    given, notices = outcome(make)
    body = [given] if isinstance(given, str) else list(flat(given))
    return [f"## {title}", *body, *(f"notice: {notice}" for notice in notices), ""]


@functools.cache
def _kept(design: str, variant: str, extra: str) -> Any:
    return outcome(lambda: released(design, variant, **EXTRAS.get(extra, {})))


def made(design: str, variant: str = "gaussian", extra: str = "") -> discreet.Release:
    """A release, made once; the refusal again where there is none."""
    given, _ = _kept(design, variant, extra)
    if isinstance(given, str):
        raise discreet.DiscreetError(given)
    return given


def runs() -> Iterator[tuple[str, str, str]]:
    """Design, variant and kind of every release."""
    for variant in VARIANTS:
        for design in (*ALL, *(SOME if variant in BRIEF else ())):
            yield design, variant, ""
    for extra in EXTRAS:
        for design in DESIGNS:
            yield design, "gaussian", extra
    for design in ("add-remove", "replace"):
        yield design, "staged", "robust"


def title(design: str, variant: str, extra: str) -> str:
    return f"{variant}{', ' * bool(extra)}{extra}: {design}"


def releases() -> str:
    """Every release file without its design, which is there once."""
    lines = ["Every mechanism on every design; noise from a seed, NOT PRIVATE.", ""]
    for name, design in DESIGNS.items():
        lines += section(f"design {name}", design.to_dict)
    for run in runs():
        lines += section(title(*run), lambda run=run: body(made(*run)))
    return "\n".join(lines)


def body(release: discreet.Release) -> dict[str, Any]:
    """The release file without design, digest and version."""
    whole = json.loads(release.to_json())
    return {key: value for key, value in whole.items() if key not in ("design", "digest", "made_by")}


def release_file() -> str:
    """One release file, byte for byte."""
    return made("add-remove").to_json()


def numbers(fit: discreet.Fit) -> dict[str, object]:
    """Return `fit.to_dict()` without its notes, whose wording is reviewed and not frozen."""
    return {key: value for key, value in fit.to_dict().items() if key != "notes"}


def fits() -> str:
    """What a fit says, as plain values."""
    lines = ["Fit.to_dict() without notes; noise from a seed, NOT PRIVATE.", ""]
    for run in runs():
        if run[0] in ("replace", "persons") or run[1] == "gaussian":
            lines += section(title(*run), lambda run=run: numbers(fitted(run)))
    for design in ("add-remove", "ball", "no intercept"):
        for name, model in MODELS.items():
            lines += section(f"{name}: {design}", lambda d=design, m=model: numbers(discreet.fit(made(d), **m)))
    return "\n".join(lines)


def fitted(run: tuple[str, str, str]) -> discreet.Fit:
    """The fit of a run, with robust errors where they were paid for."""
    fit = discreet.fit(made(*run))
    return fit.robust() if run[2].startswith("robust") else fit


def inference() -> str:
    """Tests, intervals, predictions, paths and second releases beyond what a fit says by itself."""
    lines = ["Further results; noise from a seed, NOT PRIVATE.", ""]
    new = {"hours": [0.0, 20.0, 75.0], "region": ["north", "west", "south"], "member": [True, False, True]}
    for design, variant in (("add-remove", "gaussian"), ("replace", "gaussian"), ("persons", "gaussian"),
                            ("add-remove", "laplace"), ("ball", "gaussian"), ("add-remove", "output")):  # fmt: skip

        def results(design: str = design, variant: str = variant) -> dict[str, Any]:
            fit = discreet.fit(made(design, variant))
            simultaneous = {way: fit.conf_int(0.9, simultaneous=way) for way in ("bonferroni", "max-t")}
            return {
                "bse": shown(fit.bse), "tvalues": shown(fit.tvalues), "pvalues": shown(fit.pvalues),
                "table_conf_int": shown(fit.table_conf_int()), "predict": fit.predict(new).tolist(),
                "simultaneous": {way: shown(found) for way, found in simultaneous.items()},
                "to_frame": fit.to_frame().to_pydict(), "rsquared": [str(fit.rsquared), str(fit.rsquared_conf_int())],
            }  # fmt: skip

        lines += section(f"results of {variant}: {design}", results)
        fit = lambda d=design, v=variant: discreet.fit(made(d, v))  # noqa: E731
        lines += section("prediction", lambda fit=fit: str(fit().get_prediction(new)))
        lines += section("one by one", lambda fit=fit: str(fit().t_test("hours = 0.3, region[south] - member = 1")))
        lines += section("together", lambda fit=fit: str(fit().f_test("hours = 0, member = 0")))
        lines += section("chi-square", lambda fit=fit: str(fit().wald_test({"hours": 0.3}, use_f=False)))
        for penalty, ratio in (("lasso", None), ("ridge", None), ("elastic-net", 0.5)):
            spec = {"penalty": penalty, "l1_ratio": ratio}
            lines += section(
                f"path, {penalty}", lambda d=design, v=variant, spec=spec: walked(discreet.path(made(d, v), **spec))
            )
    return "\n".join(lines)


def walked(path: Any) -> dict[str, Any]:
    """A path at every tenth strength."""
    criterion = path.criterion
    return {
        "repr": repr(path),
        "strengths": path.strengths[::10].tolist(),
        "criterion": criterion[::10].tolist() if hasattr(criterion, "tolist") else str(criterion),
        "coefficients": path.coefficients[:, ::10].T.tolist(),
    }


def shown(values: Any) -> dict[str, str]:
    """Values by name, in words where there is no number."""
    return {name: str(rounded(value)) for name, value in values.items()}


def plans() -> str:
    """What is expected of every mechanism before any data is opened."""
    lines = ["Plan.to_dict().", ""]
    for variant, (mechanism, budget, settings) in VARIANTS.items():
        for design in ("add-remove", "persons", *(("replace", *SOME) if variant in BRIEF else ())):
            more = {"mechanism": mechanism, "settings": settings, **budget}
            lines += section(
                f"{variant}: {design}",
                lambda d=design, more=more: discreet.plan(DESIGNS[d], rows=20_000, **more).to_dict(),
            )
    own = {"rsquared": 0.9, "spread": 0.2, "target_spread": 0.3, "level": 0.8}
    for more in ({"robust": True}, {"mechanism": "gaussian", "robust": True}, own):
        lines += section(
            str(more),
            lambda more=more: discreet.plan(DESIGNS["replace"], rows=5000, epsilon=0.5, delta=1e-7, **more).to_dict(),
        )
    return "\n".join(lines)


def commands(group: click.Group, path: list[str]) -> Iterator[list[str]]:
    """The words that lead to a group and to every command below it."""
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, [*path, name])
        else:
            yield [*path, name]


def names() -> list[str]:
    """Names of all mechanisms, from the program itself."""
    listed = json.loads(CliRunner().invoke(program, ["mechanisms", "--json"]).stdout)
    return [one["name"] for one in listed]


def page(words: list[str]) -> str:
    result = CliRunner().invoke(program, words, env={"COLUMNS": str(WIDTH)})
    assert result.exit_code == 0, result.output
    return result.output.replace(discreet.__version__, "VERSION").rstrip()


def outputs() -> Iterator[tuple[str, Callable[[], str]]]:
    """Name and maker of every golden file."""
    yield "releases.txt", releases
    yield "release.json", release_file
    yield "fits.txt", fits
    yield "inference.txt", inference
    yield "plans.txt", plans


def difference(name: str, text: str) -> str:
    """What differs from the golden file, with the headings it stands under; empty if nothing does."""
    path = FOLDER / name
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    if kept == text + "\n":
        return ""
    old, new = kept.splitlines(), text.splitlines()
    lines = list(difflib.unified_diff(old, new, f"golden/{name}", "now", n=2, lineterm=""))
    more = f"\n... and {len(lines) - MOST_SHOWN} lines more" if len(lines) > MOST_SHOWN else ""
    return "\n".join(lines[:MOST_SHOWN]) + more + "\nif this is meant, run: make golden"


def accept() -> None:
    """Write every golden file anew."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in outputs():
        (FOLDER / name).write_text(make() + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--accept"]:
        accept()
    else:
        found = [text for text in (difference(name, make()) for name, make in outputs()) if text]
        print("\n\n".join(found) or "golden files are as they were")
        sys.exit(bool(found))
