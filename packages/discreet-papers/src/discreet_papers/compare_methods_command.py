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
@click.option("--data-is-public", is_flag=True, help="Declare that DATA are public.")
@click.option("--data-is-simulated", is_flag=True, help="Declare that DATA are simulated.")
@click.option("--methods", metavar="A,B", help="Methods by name, see --list.  [default: all that use delta]")
@click.option("--with", "own", multiple=True, metavar="MODULE:FACTORY", help="Add a method of your own; repeatable.")
@click.option("--epsilon", "epsilons", multiple=True, metavar="E", help="Repeatable.  [default: 0.1, 0.3, 1 and 3]")
@click.option("--delta", metavar="D", help="[default: 1/n^1.1, n being the number of training rows]")
@click.option("--splits", type=click.IntRange(min=1), metavar="N", help="Random splits.  [default: 10; 3 with --quick]")
@click.option("--test-share", default="0.1", show_default=True, metavar="S", help="Share of held-out rows.")
@click.option(
    "--widen", default="0.1", show_default=True, metavar="W", help="Share of its range to widen a column's bounds by."
)
@click.option(
    "--baseline", default="adassp-published", show_default=True, metavar="NAME", help="Method to compute ratios to."
)
@click.option("--quick", is_flag=True, help="Three splits.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes.  [default: all cores]")
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
    """Compare methods of private regression on DATA, CSV or Parquet files that need no protection.

    The command reads bounds off the data and writes exact errors. Everything is NOT PRIVATE, nothing is a release, and
    DATA must be declared public or simulated. Without DATA, a simulated table is used. An interrupted run continues
    where it stopped.
    """
    from discreet.cli.terminal import counting_bar
    from discreet_papers.comparison.method_comparison import compare_methods
    from discreet_papers.comparison.method_scores import EPSILONS, all_methods, default_methods

    if listing:
        _print_methods(all_methods(), as_json=as_json)
        return
    if not output:
        raise click.UsageError("--output: expected the name of a folder, got an empty text")
    named = default_methods() if methods is None else tuple(one.strip() for one in methods.split(","))
    session.kept = f"finished cells are kept in {output!r}, and the same command goes on from there"
    with counting_bar() as progress:
        made = compare_methods(
            list(data) or None,
            target=target,
            data_is_public=data_is_public,
            data_is_simulated=data_is_simulated,
            methods=(*named, *own),
            epsilons=[number("epsilon", one) for one in epsilons] or EPSILONS,
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
        say_json(made.to_dict())
    else:
        _print(made)


def _print_methods(found: tuple[dict[str, str], ...], *, as_json: bool) -> None:
    if as_json:
        say_json(found)
        return
    names = max(len(one["name"]) for one in found)
    say(f"{'method':<{names}}  {'kind':<9}  what it is")
    for one in found:
        say(f"{one['name']:<{names}}  {one['kind']:<9}  {one['about']}")
    say("A method of your own is module:factory; a mechanism of kind moments may have a penalty, as gaussian/ridge.")


def _print(made: MethodComparisonNotPrivate) -> None:
    from discreet.cli.terminal import print_table, wrapped
    from discreet_papers.comparison.method_comparison import WARNING

    for table, inside in made.by_table().items():
        print_table(f"1 - R2 on {table}, median over splits, NOT PRIVATE", *made.cells(inside))
        say()
    ratios = made.ratios().sort_values("all")
    print_table(f"Excess error relative to {made.baseline}, NOT PRIVATE", *made.cells(ratios))
    for note in made.notes:
        say(wrapped(f"note: {note}", indent="  "))
    say()
    for path in made.files:
        say(f"Written  {path}")
    say(WARNING)
