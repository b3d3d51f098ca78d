"""`discreet ledger`: record what is spent on data sets, and show it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from discreet.cli.command_session import Session
from discreet.cli.options import (
    debug_option,
    json_option,
    load_design,
    number,
    output_options,
    refuse_overwriting,
    weak_privacy_option,
)
from discreet.cli.terminal import labelled, say, say_json
from discreet.errors import OptionError
from discreet.ledger.ledger import MOST_ALIKE

if TYPE_CHECKING:
    from discreet.ledger.ledger import Line, Status
    from discreet.privacy.budget import PrivacyUnit
    from discreet.privacy.spend import Loss

# -- ledger ------------------------------------------------------------------------------------------------------------

_DATASET = click.option("--dataset", required=True, metavar="NAME", help="Name of the data set.")
_ONE_DATASET = click.option("--dataset", metavar="NAME", help="Only this data set.  [default: all]")


@click.group("ledger", invoke_without_command=True, short_help="Record what is spent, and enforce budgets.")
@click.pass_context
def command(context: click.Context) -> None:
    """Record what is spent on data sets, in one file. Requests that exceed a budget are refused.

    A release with --ledger and --dataset is recorded before noise is drawn, and the same request returns the same
    release again at no cost. The file contains every release and a secret key: keep it where the data is kept.
    """
    if context.invoked_subcommand is None:
        say(context.get_help())


@command.command("init", short_help="Declare the budget of a data set.")
@click.argument("ledger")
@_DATASET
@click.option("--epsilon", required=True, metavar="E", help="Total epsilon of all requests.")
@click.option("--delta", default="0", show_default=True, metavar="D", help="Total delta of all requests.")
@click.option(
    "--rule", metavar="NAME", help="Accounting rule: gdp, zcdp or basic.  [default: gdp; basic if delta is 0]"
)
@click.option("--id", "person", metavar="COLUMN", help="Column that identifies a person who may have several rows.")
@click.option(
    "--max-rows", type=int, default=1, show_default=True, metavar="K", help="Largest number of rows per person."
)
@click.option(
    "--neighbours",
    default="add-remove",
    show_default=True,
    metavar="NAME",
    help="Neighbouring relation: add-remove or replace, as in the design.",
)
@click.option(
    "--curve-share",
    default="0.999",
    show_default=True,
    metavar="S",
    help="Fraction of delta for the privacy curve of gdp or zcdp; the rest covers other terms.",
)
@weak_privacy_option
@json_option
@debug_option
def init(
    ledger: str,
    dataset: str,
    epsilon: str,
    delta: str,
    rule: str | None,
    person: str | None,
    max_rows: int,
    neighbours: str,
    curve_share: str,
    allow_weak_privacy: bool,
    as_json: bool,
) -> None:
    """Declare the budget of a data set in LEDGER, which is created if it does not exist.

    The budget belongs to the name of the data set: a changed table spends the same budget.
    """
    from discreet.ledger.ledger import Ledger, check_declaration
    from discreet.privacy.budget import PrivacyUnit

    given = {"epsilon": number("epsilon", epsilon), "delta": number("delta", delta)}
    share = number("curve-share", curve_share)
    unit = PrivacyUnit(neighbours=neighbours, id=person, max_rows=max_rows)  # type: ignore[arg-type]  # checked there
    new = not Path(ledger).is_symlink() and not Path(ledger).exists()
    if new:
        # a refused declaration must not leave a ledger behind
        check_declaration(
            dataset,
            **given,
            rule=rule,  # type: ignore[arg-type]  # checked there
            curve_share=share,
            allow_weak_privacy=allow_weak_privacy,
        )
    books = Ledger.create(ledger) if new else Ledger(ledger)
    books.declare(
        dataset,
        **given,
        rule=rule,  # type: ignore[arg-type]  # checked there
        unit=unit,
        curve_share=share,
        allow_weak_privacy=allow_weak_privacy,
    )
    if as_json:
        say_json({"ledger": books.ledger_id, "new": new, "datasets": [books.status(dataset).to_dict()]})
        return
    say(f"{'New ledger' if new else 'Ledger'} {ledger}")
    say(status_text(books.status(dataset)))
    asked = "--epsilon E --delta D" if given["delta"] else "--epsilon E"
    say(f"Next        discreet release DATA --design D.toml {asked} --ledger {ledger} --dataset {dataset} -o R.json")


@command.command("grant", short_help="Raise the budget of a data set.")
@click.argument("ledger")
@_DATASET
@click.option(
    "--epsilon", required=True, metavar="E", help="New total epsilon of all requests, including earlier ones."
)
@click.option("--delta", metavar="D", help="New total delta of all requests.  [default: as before]")
@click.option("--reason", required=True, metavar="TEXT", help="Reason, recorded in the history.")
@weak_privacy_option
@json_option
@debug_option
def grant(
    ledger: str,
    dataset: str,
    epsilon: str,
    delta: str | None,
    reason: str,
    allow_weak_privacy: bool,
    as_json: bool,
) -> None:
    """Raise the budget of a data set in LEDGER.

    The new, weaker guarantee then also applies to everything released so far.
    """
    from discreet.ledger.ledger import Ledger

    failure = None if delta is None else number("delta", delta)
    books = Ledger(ledger)
    granted = books.grant(
        dataset,
        epsilon=number("epsilon", epsilon),
        delta=failure,
        reason=reason,
        allow_weak_privacy=allow_weak_privacy,
    )
    if as_json:
        say_json({"ledger": books.ledger_id, "datasets": [granted.to_dict()]})
    else:
        say(status_text(granted))


@command.command("status", short_help="Show what is spent and what is left.")
@click.argument("ledger")
@_ONE_DATASET
@click.option("--epsilon", metavar="E", help="Epsilon of a planned release; shows what it would leave.")
@click.option("--delta", metavar="D", help="Delta of the planned release.  [default: 0]")
@click.option("--design", "design_path", metavar="FILE", help="Design of the planned release, for its exact cost.")
@click.option("--mechanism", metavar="NAME", help="With --design: mechanism of the planned release.  [default: auto]")
@json_option
@debug_option
def status(
    ledger: str,
    dataset: str | None,
    epsilon: str | None,
    delta: str | None,
    design_path: str | None,
    mechanism: str | None,
    as_json: bool,
) -> None:
    """Show how much of each budget in LEDGER is spent, and how much is left.

    With --epsilon, also show what a planned release would leave, and how many such releases are possible. With --design
    its cost is exact.
    """
    from discreet.ledger.ledger import Ledger

    plan = {"--delta": delta, "--design": design_path, "--mechanism": mechanism}
    for option, text in plan.items():
        if epsilon is None and text is not None:
            raise OptionError(f"{option} requires --epsilon; pass --epsilon, or leave {option} out", option="epsilon")
    if mechanism is not None and design_path is None:
        raise OptionError(
            "--mechanism requires --design, on which the cost depends; pass --design, or leave --mechanism out",
            option="design",
        )
    books = Ledger(ledger)
    found = books.statuses() if dataset is None else [books.status(dataset)]
    loss, unit = None, None
    if epsilon is not None:
        given = (number("epsilon", epsilon), number("delta", delta or "0"))
        loss, unit = _planned(*given, design_path, mechanism or "auto", as_json=as_json)
    left: list[Status | None] = [
        None if loss is None or unit not in (None, one.unit) else books.planned(one.dataset, loss) for one in found
    ]
    if as_json:
        documents = [
            one.to_dict() | ({} if loss is None else {"planned": None if after is None else after.to_dict()})
            for one, after in zip(found, left, strict=True)
        ]
        say_json({"ledger": books.ledger_id, "datasets": documents})
        return
    for one, after in zip(found, left, strict=True):
        say(status_text(one))
        if loss is not None:
            say(planned_text(loss, after, same_unit=unit in (None, one.unit)))


def _planned(
    epsilon: float, delta: float, design_path: str | None, mechanism: str, *, as_json: bool
) -> tuple[Loss, PrivacyUnit | None]:
    """Return the loss and unit of a planned release, or without a design a typical loss and no unit."""
    if design_path is not None:
        from discreet.costing import cost

        planned = cost(load_design(design_path), epsilon=epsilon, delta=delta, mechanism=mechanism)
        return planned.loss, planned.guarantee.unit
    from discreet.ledger.ledger import typical_loss

    return typical_loss(epsilon, delta), None


@command.command("history", short_help="List every event in order.")
@click.argument("ledger")
@_ONE_DATASET
@json_option
@debug_option
def history(ledger: str, dataset: str | None, as_json: bool) -> None:
    """List every event of LEDGER: budgets, requests, and how they ended."""
    from discreet.ledger.ledger import Ledger

    lines: list[Line] = Ledger(ledger).history(dataset)
    if as_json:
        say_json([line.to_dict() for line in lines])
        return
    for line in lines:
        say(line_text(line))


@command.command("verify", short_help="Check a ledger, and that a release belongs to it.")
@click.argument("ledger")
@click.argument("release", required=False, metavar="[R.json]")
@json_option
@debug_option
def verify(ledger: str, release: str | None, as_json: bool) -> None:
    """Check every event of LEDGER, and that the release R.json is recorded in it.

    A ledger restored from an older copy passes this check on its own. Only a newer release shows that events are
    missing.
    """
    from discreet.ledger.ledger import Ledger
    from discreet.releases.release import Release

    given = None if release is None else Release.load(release)
    head = Ledger(ledger).verify(given)
    if as_json:
        say_json({"ledger": ledger, "verified": True, "events": head.seq, "anchor": str(head), "release": release})
        return
    say(f"{head.seq} events, whose chain of hashes is intact")
    if release is not None:
        merged = given is not None and given.curators is not None
        say(_parts_words(release) if merged else f"{release} is recorded in this ledger")
    say(f"Anchor      {head}")


def _parts_words(release: str) -> str:
    """Describe what one ledger shows about a federated release, and what it cannot show."""
    return (
        f"the parts of {release} that were charged to this ledger are recorded in it, with the same session, design "
        "and terms; "
        "to check that the release is the sum of all parts, merge the parts again"
    )


@command.command("export", short_help="Write a recorded release or part again, at no cost.")
@click.argument("ledger")
@click.argument("request")
@click.option("-o", "--output", required=True, metavar="R.json", help="Where to write the release or part.")
@output_options
def export(session: Session, ledger: str, request: str, output: str, force: bool, as_json: bool) -> None:
    """Write the release or part returned for REQUEST, byte for byte. `discreet ledger history` lists requests."""
    from discreet.files import check_output, write_bytes
    from discreet.ledger.ledger import Ledger
    from discreet.parts.part_file import Part

    refuse_overwriting(output, ledger)
    check_output(output, force=force)
    text = Ledger(ledger).export(request)
    made = Part.from_text(text)
    session.will_write(output)
    write_bytes(output, text.encode() if made is None else made.content, force=force)
    if as_json:
        say_json({"path": output, "request": request})
    else:
        say(f"File        {output}")


# -- ledger text -------------------------------------------------------------------------------------------------------

_LABEL: Final = 12


def status_text(status: Status) -> str:
    """Format the budget of a data set, what is spent and what is left."""
    unit = status.unit
    one = "one row" if unit.id is None else f"one {unit.id} with at most {unit.max_rows} rows"
    fields = [
        ("Data set", f"{status.dataset}: protects {one}, {unit.neighbours} neighbours"),
        ("Budget", f"epsilon = {status.epsilon:g}, delta = {status.delta:g} in total, accounting rule {status.rule}"),
        ("Spent", f"epsilon = {status.spent_epsilon:.4g} at delta = {status.delta:g}, in {requests(status)}"),
        ("Left", status.left_words),
    ]
    if status.waiting:
        names = ", ".join(status.waiting)
        fields.append(("Unfinished", f"{names}: repeat the same command to complete it at no additional cost"))
    return "\n".join(labelled(*field, _LABEL) for field in fields)


def requests(status: Status) -> str:
    """Format the number of accepted requests."""
    return "1 request" if status.requests == 1 else f"{status.requests} requests"


def planned_text(loss: Loss, after: Status | None, *, same_unit: bool = True) -> str:
    """Format the budget left after a planned release, and how many such releases the budget allows."""
    planned = f"epsilon = {loss.epsilon:g}, delta = {loss.delta:g}"
    if after is None:
        why = "it is more than is left" if same_unit else "the design protects another unit than the data set"
        return labelled("Planned", f"{planned} would be refused: {why}", _LABEL)
    more = "a second release like it would be refused"
    if after.alike > 1:
        number = f"{after.alike} or more" if after.alike == MOST_ALIKE else f"{after.alike}"
        more = f"{number} such releases would be accepted in total"
    return labelled("Planned", f"{planned} would leave {after.left_words}; {more}", _LABEL)


def line_text(line: Line) -> str:
    """Format an event on one line."""
    facts = dict(line.facts)
    words = [f"{line.seq:>5}  {line.time}  {line.kind:<8}{line.dataset}"]
    if line.request is not None:
        words.append(line.request)
    words += [
        str(facts[name]) for name in ("mechanism", "description", "rule", "reason", "stage", "verdict") if name in facts
    ]
    words += [f"{name} = {facts[name]:g}" for name in ("epsilon", "delta") if name in facts]
    return "  ".join(words)
