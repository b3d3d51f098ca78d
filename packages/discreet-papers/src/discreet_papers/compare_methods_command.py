"""`discreet compare-methods`: compare methods on public or simulated data. NOT PRIVATE."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from discreet.cli.command_session import Session
from discreet.cli.options import debug_option, json_option, number
from discreet.cli.terminal import say, say_json

if TYPE_CHECKING:
    from discreet_papers.comparison.method_comparison import MethodComparisonNotPrivate


@click.command("compare-methods", short_help="Compare methods on public data, NOT PRIVATE.")
@click.argument("data", nargs=-1)
@click.option("--target", metavar="NAME", help="Column to predict.")
@click.option("--data-is-public", is_flag=True, help="Declare that DATA is public.")
@click.option("--data-is-simulated", is_flag=True, help="Declare that DATA is simulated.")
@click.option("--methods", metavar="A,B", help="Names of methods, see --list.  [default: all that use delta]")
@click.option("--with", "own", multiple=True, metavar="MODULE:FACTORY", help="Add your own method; repeatable.")
@click.option("--epsilon", "epsilons", multiple=True, metavar="E", help="Repeatable.  [default: 0.1, 0.3, 1 and 3]")
@click.option("--delta", metavar="D", help="[default: 1/n^1.1 for n training rows]")
@click.option("--splits", type=click.IntRange(min=1), metavar="N", help="Random splits.  [default: 10; 3 with --quick]")
@click.option("--test-share", default="0.1", show_default=True, metavar="S", help="Fraction of rows held out.")
@click.option(
    "--widen",
    default="0.1",
    show_default=True,
    metavar="W",
    help="Widen the bounds of a column on each side by this fraction of its range.",
)
@click.option(
    "--baseline", default="adassp-published", show_default=True, metavar="NAME", help="Method that ratios refer to."
)
@click.option("--quick", is_flag=True, help="Use three splits.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Number of processes.  [default: all cores]")
@click.option(
    "-o", "--output", default="discreet-compare-methods", show_default=True, metavar="DIR",
    help="Folder to write the files to.",
)  # fmt: skip
@click.option("--list", "listing", is_flag=True, help="List the methods and run nothing.")
@json_option
@debug_option
@click.pass_obj
def command(
    session: Session,
    data: tuple[str, ...],
    target: str | None,
    data_is_public: bool,
    data_is_simulated: bool,
    methods: str | None,
    own: tuple[str, ...],
    epsilons: tuple[str, ...],
    delta: str | None,
    splits: int | None,
    test_share: str,
    widen: str,
    baseline: str,
    quick: bool,
    workers: int | None,
    output: str,
    listing: bool,
    as_json: bool,
) -> None:
    """Compare methods of private regression on DATA, which are CSV or Parquet files that need no protection.

    The command takes bounds from the data and writes exact errors. Everything is NOT PRIVATE, and nothing is a release,
    so DATA must be declared public or simulated. Without DATA, a simulated table is used. An interrupted run continues
    where it stopped.
    """
    from discreet.cli.terminal import counting_bar
    from discreet_papers.comparison.method_comparison import compare_methods
    from discreet_papers.comparison.method_scores import EPSILONS, all_methods, default_methods

    if listing:
        _print_methods(all_methods(), as_json=as_json)
        return
    if not output:
        raise click.UsageError("expected the name of a folder for --output, got an empty text")
    named = default_methods() if methods is None else tuple(name.strip() for name in methods.split(","))
    session.kept = f"finished cells are kept in {output!r}, and the same command continues from them"
    with counting_bar() as progress:
        comparison = compare_methods(
            list(data) or None,
            target=target,
            data_is_public=data_is_public,
            data_is_simulated=data_is_simulated,
            methods=(*named, *own),
            epsilons=[number("epsilon", text) for text in epsilons] or EPSILONS,
            delta=None if delta is None else number("delta", delta),
            splits=splits,
            test_share=number("test-share", test_share),
            widen=number("widen", widen),
            baseline=baseline,
            quick=quick,
            output=output,
            workers=workers,
            progress=progress,
        )
    if as_json:
        say_json(comparison.to_dict())
    else:
        _print(comparison)


def _print_methods(methods: tuple[dict[str, str], ...], *, as_json: bool) -> None:
    if as_json:
        say_json(methods)
        return
    width = max(len(method["name"]) for method in methods)
    say(f"{'method':<{width}}  {'kind':<9}  description")
    for method in methods:
        say(f"{method['name']:<{width}}  {method['kind']:<9}  {method['about']}")
    say("Write your own method as module:factory. A mechanism of moments may have a penalty, as in gaussian/ridge.")


def _print(comparison: MethodComparisonNotPrivate) -> None:
    from discreet.cli.terminal import print_table, wrapped
    from discreet_papers.comparison.method_comparison import WARNING

    for table, inside in comparison.by_table().items():
        print_table(f"1 - R2 on {table}, median over splits, NOT PRIVATE", *comparison.cells(inside))
        say()
    ratios = comparison.ratios().sort_values("all")
    print_table(f"Excess error relative to {comparison.baseline}, NOT PRIVATE", *comparison.cells(ratios))
    for note in comparison.notes:
        say(wrapped(f"note: {note}", indent="  "))
    say()
    for path in comparison.files:
        say(f"Written  {path}")
    say(WARNING)
