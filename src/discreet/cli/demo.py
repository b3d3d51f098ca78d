"""`discreet demo`: run every step from a public table to a private fit and its report."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from discreet.cli.command_session import Session
from discreet.cli.options import debug_option
from discreet.cli.terminal import say
from discreet.errors import MissingDependencyError, OutputError

if TYPE_CHECKING:
    from discreet.analyst.fitted import Fit
    from discreet.analyst.values import Interval
    from discreet.datasets.tables import Dataset
    from discreet.releases.release import Release

EPSILON: Final = 1.0
DELTA: Final = 1e-6
LEVEL: Final = 0.95
DATA, DESIGN, RELEASE, PAGE = "census.parquet", "design.toml", "census.release.json", "census.html"
TABLE, PICTURE, PLAN, PREDICTIONS = "census.md", "census.svg", "plan.svg", "predictions.csv"
_MARK: Final = "# Written by discreet demo."
_WIDTH: Final = 100
_INDENT: Final = " " * 4


@click.command("demo", short_help="Run all steps on a public census sample.")
@click.option(
    "-o", "--output", default="discreet-demo", show_default=True, metavar="DIR", help="Folder to write the files to."
)
@debug_option
@click.pass_obj
def command(session: Session, output: str) -> None:
    """Check, plan, release, fit and report a public census sample, and print the command of each step."""
    folder = own_folder(output)

    from discreet.analyst.model import fit
    from discreet.datasets.tables import census2000

    dataset = census2000()
    paragraph(f"{dataset.title.capitalize()}. {dataset.note} These rows are public; this is only a demonstration.")
    paragraph("Without code: discreet studio opens the same steps as a page in your browser.")
    declare(session, dataset, folder)
    by_hand = commands(folder, dataset)

    heading(2, "Check how the table fits, for the curator's own eyes, before anything is spent")
    say(f"{_INDENT}{by_hand['check']}\n")
    check_rows(dataset)

    heading(3, "Plan what a release would give, from public numbers and assumptions alone")
    say(f"{_INDENT}{by_hand['plan']}\n")
    plan_ahead(session, dataset, folder / PLAN)

    heading(4, f"Release noisy sums, spending epsilon {EPSILON:g} and delta {DELTA:g}: {folder / RELEASE}")
    say(f"{_INDENT}{by_hand['release']}\n")
    made = publish(session, dataset, folder)

    heading(5, "Fit any number of models from the release alone, at no further cost")
    for step in ("fit", "other", "predict"):
        say(f"{_INDENT}{by_hand[step]}")
    say()
    model = fit(made)
    compare(model, dataset)

    heading(6, "Take the results along: a table, a picture, and the report as one HTML page")
    for step in ("table", "plot", "report", "verify"):
        say(f"{_INDENT}{by_hand[step]}")
    say()
    take_along(session, model, folder)


def declare(session: Session, dataset: Dataset, folder: Path) -> None:
    """Write the table and its design, and print the design."""
    from discreet.cli.terminal import text_width

    text = design_text(dataset, _WIDTH)
    session.will_write(*(str(folder / name) for name in (DATA, DESIGN)))
    write_inputs(folder, dataset, text)
    heading(1, f"Declare what is public, before any row is read: {folder / DESIGN}")
    width = text_width()
    # comments are wrapped to a fixed width in the file, and to the width of the terminal here
    shown = text if width is None else design_text(dataset, width - len(_INDENT))
    say(textwrap.indent(shown.rstrip("\n"), _INDENT))


def check_rows(dataset: Dataset) -> None:
    """Print how many rows fit the design, which is allowed because the rows are public."""
    from discreet.curator.inspection import check

    found = check(dataset.table, dataset.design)
    clipped = {one.name: one.clipped_low.count + one.clipped_high.count for one in found.columns}
    outside = ", ".join(f"{name} {count:,}" for name, count in clipped.items() if count) or "none"
    paragraph(
        f"{found.rows_fit:,} of {found.rows_read:,} rows fit; clipped cells outside their bounds: {outside}. "
        "For a private table, such counts are NOT FOR PUBLICATION.",
        indent=_INDENT,
    )


def plan_ahead(session: Session, dataset: Dataset, picture: Path) -> None:
    """Print the expected widths of intervals, and plot them against epsilon if the plotting library is installed."""
    from discreet.cli.plan import print_plan
    from discreet.planning import plan

    plans = [
        plan(dataset.design, rows=rounded_rows(dataset), epsilon=e, delta=DELTA) for e in (0.25, 0.5, EPSILON, 2, 4)
    ]
    print_plan(f"Expected at epsilon {EPSILON:g}, about {rounded_rows(dataset):,} rows", plans[2])
    draw(session, picture, lambda: plans[2].plot(picture, over=plans, force=True))


def draw(session: Session, picture: Path, drawing: Callable[[], object]) -> None:
    """Write a plot if the plotting library is installed."""
    try:
        session.will_write(str(picture))
        drawing()
    except MissingDependencyError as missing:
        paragraph(f"No plot was written: {missing}", indent=_INDENT)
    else:
        say(f"Written  {picture}")


def publish(session: Session, dataset: Dataset, folder: Path) -> Release:
    """Make and save the release, and print its guarantee."""
    from discreet.workflow import release

    session.will_write(str(folder / RELEASE))
    made = release(folder / DATA, dataset.design, epsilon=EPSILON, delta=DELTA)
    made.save(folder / RELEASE, force=True)
    if made.guarantee is not None:
        paragraph(made.guarantee.sentence(), indent=_INDENT)
    paragraph("untracked: repeated releases of this table are not counted", indent=_INDENT)
    return made


def take_along(session: Session, model: Fit, folder: Path) -> None:
    """Write the table, the plot and the report of a model."""
    from discreet.files import write_bytes

    session.will_write(str(folder / TABLE))
    write_bytes(folder / TABLE, model.table(LEVEL).written("md").encode(), force=True)
    say(f"Written  {folder / TABLE}")
    draw(session, folder / PICTURE, lambda: model.plot(folder / PICTURE, level=LEVEL, force=True))
    write_page(session, model, folder / PAGE)


def rounded_rows(dataset: Dataset) -> int:
    """Return the publicly known number of rows, rounded to two digits.

    >>> from discreet.datasets.simulated_census import simulated_census
    >>> rounded_rows(simulated_census(rows=29_501))
    30000
    """
    return int(float(f"{dataset.table.num_rows:.1e}"))


def own_folder(output: str) -> Path:
    """Create the folder, or reuse the folder of an earlier demo."""
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ours = not (folder / DESIGN).exists() or (folder / DESIGN).read_bytes().startswith(_MARK.encode())
    except OSError as error:
        raise OutputError(f"cannot use {output!r} as a folder for the demo: {error.strerror}") from None
    if not ours:
        raise OutputError(f"{str(folder / DESIGN)!r} was not written by the demo; choose another folder with -o DIR")
    return folder


def design_text(dataset: Dataset, width: int) -> str:
    """Return the text of design.toml, with the public knowledge behind each bound."""
    lines = [_MARK]
    reasons = [f"{name}: {reason}" for name, reason in dataset.reasons.items()]
    for remark in ("Every bound is public knowledge; none was read from the data.", *reasons):
        lines += textwrap.wrap(remark, width, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)
    return "\n".join([*lines, "", dataset.design.to_toml()])


def write_inputs(folder: Path, dataset: Dataset, text: str) -> None:
    """Write the table and its design."""
    import pyarrow.parquet as pq

    from discreet.files import replacing, write_bytes

    with replacing(folder / DATA, force=True) as temporary:
        pq.write_table(dataset.table, temporary)
    write_bytes(folder / DESIGN, text.encode(), force=True)


def compare(model: Fit, dataset: Dataset) -> None:
    """Print the private fit with its confidence sets next to a fit without privacy."""
    from discreet.analyst.values import shown_estimate, unbounded
    from discreet.cli.terminal import print_table

    ordinary = ordinary_fit(model, dataset)
    headers = ["coefficient", f"private, epsilon {EPSILON:g}", f"{LEVEL:.0%} interval", "least squares, NOT PRIVATE"]
    known: Mapping[str, float] = dataset.coefficients or {}
    if known:
        headers.append("simulated with")
    sets = model.conf_int(LEVEL)
    rows = []
    for name, value in model.params.items():
        numbers = [ordinary[name], *([known[name]] if known else [])]
        private = shown_estimate(value, sets[name]) if unbounded(sets[name]) else f"{value:.5f}"
        rows.append([name, private, shown_set(sets[name]), *(f"{number:.5f}" for number in numbers)])
    print_table(f"{model.target} on {', '.join(model.features)}", headers, rows)


def shown_set(ends: Interval) -> str:
    """Format a confidence set to five decimals.

    >>> from discreet.analyst.confidence_sets import ConfidenceSet
    >>> shown_set(ConfidenceSet("interval", 0.1174904, 0.1410389))
    '0.11749 to 0.14104'
    """
    from discreet.analyst.confidence_sets import ConfidenceSet, set_words

    if not isinstance(ends, ConfidenceSet):
        return "not estimable"
    return set_words(ends.kind, f"{ends.lower:.5f}", f"{ends.upper:.5f}")


def write_page(session: Session, model: Fit, path: Path) -> None:
    """Write the report of a model, or explain how to get one if its libraries are not installed."""
    from discreet.files import write_bytes
    from discreet.pages.page import check_libraries, render
    from discreet.pages.view import report_view

    try:
        check_libraries()
    except MissingDependencyError as missing:
        paragraph(f"No page was written: {missing}", indent=_INDENT)
        return
    session.will_write(str(path))
    write_bytes(path, render(report_view(model.release, model, level=LEVEL)).encode(), force=True)
    say(f"Written  {path}")


def ordinary_fit(model: Fit, dataset: Dataset) -> dict[str, float]:
    """Compute ordinary least squares on the public rows, NOT PRIVATE."""
    import numpy as np

    columns = [np.asarray(dataset.table.column(name)) for name in model.features]
    X = np.column_stack([np.ones(dataset.table.num_rows), *columns])
    beta = np.linalg.lstsq(X, np.asarray(dataset.table.column(model.target)), rcond=None)[0]
    return dict(zip(model.names, beta.tolist(), strict=True))


def commands(folder: Path, dataset: Dataset) -> dict[str, str]:
    """Return the commands of the demo by name: one for each step, and further ones that read the same release."""
    data, design, made, page, table, picture, widths, out = (
        shlex.quote(str(folder / name)) for name in (DATA, DESIGN, RELEASE, PAGE, TABLE, PICTURE, PLAN, PREDICTIONS)
    )
    budget = f"--epsilon {EPSILON:g} --delta {DELTA:g}"
    return {
        "check": f"discreet check {data} --design {design}",
        "plan": f"discreet plan --design {design} --rows {rounded_rows(dataset)} {budget} --plot {widths} --force",
        "release": f"discreet release {data} --design {design} {budget} -o {made} --force",
        "fit": f"discreet fit {made}",
        "other": f"discreet fit {made} --features educ,exper",
        "predict": f"discreet predict {made} {data} -o {out} --force",
        "table": f"discreet fit {made} -o {table} --force",
        "plot": f"discreet plot {made} -o {picture} --force",
        "report": f"discreet report {made} -o {page} --force",
        "verify": f"discreet verify {made}",
    }


def heading(number: int, text: str) -> None:
    """Print the heading of a step between two empty lines."""
    from discreet.cli.terminal import labelled

    say(f"\n{labelled(f'{number}.', text, 3)}\n")


def paragraph(text: str, indent: str = "") -> None:
    """Print text wrapped to a readable width."""
    from discreet.cli.terminal import text_width

    width = text_width() or _WIDTH
    say(textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False))
