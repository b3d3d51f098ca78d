"""`discreet release`: publish the noisy moments of a table."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from discreet.cli.command_session import Session
from discreet.cli.options import (
    design_option,
    engine_options,
    load_design,
    number,
    opened,
    output_options,
    reading_options,
    refuse_overwriting,
    release_options,
    table_of,
    table_options,
    written_over,
)
from discreet.cli.terminal import ReadProgress, complain, say, say_json
from discreet.errors import AfterSpendError, OptionError, OutputError
from discreet.ledger.event_log import at

if TYPE_CHECKING:
    from discreet.ledger.account import Account
    from discreet.options import ReleaseOptions
    from discreet.privacy.spend import SpendHook, SpendReceipt, SpendRequest
    from discreet.releases.release import Release
    from discreet.tables.csv_format import ReadOptions

_LABEL: Final = 12  # width of the labels on the left
_AGAIN: Final = "run the same command again to complete it at no additional cost"
_LOOK: Final = "find its id with `discreet ledger history`, and pass --request-id ID to complete it at no cost"


@click.command("release", short_help="Publish a table's noisy moments; spends budget.")
@click.argument("data", required=False)
@table_options
@engine_options
@design_option
@click.option("--epsilon", required=True, metavar="E", help="Privacy loss to spend, such as 1.")
@click.option(
    "--delta",
    default="0",
    show_default=True,
    metavar="D",
    help="Delta of the guarantee, such as 1e-6; leave it out for a pure epsilon guarantee.",
)
@release_options
@click.option("--sign", metavar="KEY.pem", help="Sign with this Ed25519 private key (extra 'sign').")
@reading_options
@click.option(
    "--workers",
    type=int,
    metavar="N",
    help="Threads that read and sum at once; cannot change the result.  [default: the number of cores, at most 4]",
)
@click.option("--ledger", "ledger_path", metavar="L.db", help="Record the spend in this ledger; requires --dataset.")
@click.option("--dataset", metavar="NAME", help="Data set of the ledger whose budget is spent.")
@click.option("--request-id", metavar="ID", help="Id of the request.  [default: a digest of the request]")
@click.option("--new-release", is_flag=True, help="Spend budget on a new release even if this request already has one.")
@click.option(
    "--accept-changed-data",
    is_flag=True,
    help="Accept that the table has changed since the last release of the data set.",
)
@click.option("-o", "--output", required=True, metavar="R.json", help="Where to write the release.")
@output_options
def command(
    session: Session,
    data: str | None,
    database: str | None,
    table: str | None,
    engine: str,
    master: str | None,
    design_path: str,
    epsilon: str,
    delta: str,
    options: ReleaseOptions,
    sign: str | None,
    workers: int | None,
    ledger_path: str | None,
    dataset: str | None,
    request_id: str | None,
    new_release: bool,
    accept_changed_data: bool,
    output: str,
    force: bool,
    as_json: bool,
    reading: ReadOptions,
) -> None:
    """Publish noisy moments of DATA. This spends budget.

    DATA is a CSV, Parquet, Arrow, Stata, SPSS or SAS file, a folder of Parquet files, or a quoted pattern such as
    'data/*.parquet'. You can give --database and --table instead. With --engine spark, give a path of Parquet files
    that Spark finds, or --table. Every run spends the budget again, unless a ledger has the same request.
    """
    given = table_of(engine, master, data, database, table)
    loss, failure = number("epsilon", epsilon), number("delta", delta)

    from discreet.files import check_output
    from discreet.tables.source import ComputeOptions, usual_workers
    from discreet.workflow import release

    threads = usual_workers() if workers is None else workers
    # refused before anything is opened
    compute = ComputeOptions(workers=threads)
    account = ledger_account(
        ledger_path,
        dataset,
        request_id=request_id,
        new_release=new_release,
        accept_changed_data=accept_changed_data,
    )
    design = load_design(design_path)
    refuse_overwriting(output, *written_over(given), design_path, *filter(None, [ledger_path, sign]))
    # before the data is opened and any budget is spent
    if check_output(output, force=force).exists():
        complain("notice", f"{output!r} will be replaced; the budget spent on the release in it stays spent")
    if account is None and design.searched:
        complain(
            "notice",
            "private bounds without --ledger: every run draws new counts and spends again, even after a run that found "
            "no bounds or was interrupted",
        )
    with opened(given) as rows:
        with ReadProgress() as progress:
            made = release(
                rows,
                design,
                epsilon=loss,
                delta=failure,
                **options.keywords(),
                reading=reading,
                compute=replace(compute, progress=progress),
                spend=spending(session, account),
                sign=sign,
            )
        session.will_write(output)
        at("writing")
        try:
            made.save(output, force=force)
        except OutputError as error:
            how = (
                "run the command again"
                if account is None
                else f"run the same command, or `discreet ledger export`, at no cost (request {session.request})"
            )
            raise AfterSpendError(
                "the release was made but not saved: ",
                reason=error,
                code="not-saved",
                remedy=f"nobody has seen it; fix the problem and {how}",
            ) from None
        at("written")
    if as_json:
        say_json(facts(made, output) | {"request": session.request or None, "repeated": session.repeated})
    else:
        say(summary(made, output, recorded_words(session)))


def ledger_account(
    ledger_path: str | None,
    dataset: str | None,
    *,
    request_id: str | None,
    new_release: bool,
    accept_changed_data: bool,
) -> Account | None:
    """Open the account that the options name, or return None without a ledger."""
    if (ledger_path is None) != (dataset is None):
        raise OptionError(
            "--ledger and --dataset must be given together; pass both, or neither if the release is not to be recorded",
            option="ledger",
        )
    if ledger_path is None or dataset is None:
        if request_id is not None or new_release or accept_changed_data:
            raise OptionError(
                "--request-id, --new-release and --accept-changed-data require a ledger; pass --ledger and --dataset",
                option="request_id",
            )
        return None
    from discreet.ledger.ledger import Ledger

    return Ledger(ledger_path).account(
        dataset, request_id, new_release=new_release, accept_changed_data=accept_changed_data
    )


def spending(session: Session, account: Account | None) -> SpendHook:
    """Return a spend hook that notes in the session what was spent, with or without a ledger."""
    from discreet.privacy.spend import ObservedHook, untracked

    def asked(request: SpendRequest) -> None:
        if account is not None:
            session.asking = True
            session.again = _LOOK if account.new_release else _AGAIN

    def remember(request: SpendRequest, receipt: SpendReceipt) -> None:
        session.asking = False
        session.request = receipt.request_id
        session.balance = receipt.balance or session.balance
        session.repeated = receipt.stored is not None or receipt.stopped is not None
        if session.repeated:
            return
        session.spent = f"epsilon = {request.budget.epsilon:g}, delta = {request.budget.delta:g}"
        if receipt.request_id:
            session.spent += f", request {receipt.request_id}"
        if account is not None and account.new_release:
            session.again = f"--request-id {receipt.request_id} instead of --new-release completes it at no cost"

    return ObservedHook(untracked if account is None else account, before=asked, after=remember)


def recorded_words(session: Session, what: str = "release") -> str:
    """Describe what the ledger has recorded, or return an empty text without a ledger."""
    if not session.request:
        return ""
    before = f"recorded earlier, so this is the same {what} and nothing more was spent"
    return f"{session.request}, {before if session.repeated else 'recorded now'}. {session.balance()}"


def facts(made: Release, output: str) -> dict[str, object]:
    """Return the document that `--json` prints."""
    from discreet.releases.fields import released_count

    guarantee, count = made.guarantee, released_count(made)
    return {
        "path": output,
        "digest": made.digest,
        "epsilon": None if guarantee is None else guarantee.epsilon,
        "delta": None if guarantee is None else guarantee.delta,
        "neighbours": None if guarantee is None else guarantee.neighbours,
        "kind": made.kind,
        "mechanism": made.mechanism,
        "settings": dict(made.settings),
        "calibration": made.noise.calibration,
        "columns": list(made.columns),
        "units_public": made.units_public,
        "count": None if count is None else {"value": count.value, "sd": count.sd},
        "counts": {label: {"count": one.value, "sd": one.sd} for label, one in made.counts.items()},
        "found_bounds": None if made.found_bounds is None else {k: list(v) for k, v in made.found_bounds.items()},
        "anchor": made.anchor,
        "signed": made.signature is not None,
    }


def summary(made: Release, output: str, recorded: str = "") -> str:
    """Describe the release, its guarantee and its file."""
    from discreet.cli.terminal import labelled
    from discreet.releases.fields import released_count
    from discreet.releases.release_summary import describe_ledger
    from discreet.text import in_groups

    columns = ", ".join(made.columns)
    drawn = sum(scale > 0 for scale in made.noise.steps(len(made.columns)))
    published = f"{drawn} noisy sums of products of the columns {columns}"
    if made.staged is not None:
        published = (
            "noisy sums of products of the regressors and the noisy score of the residuals of a pilot line, from which "
            f"least squares of any of the columns {columns} follows"
        )
    if made.design.weights is not None:
        published += f", each row times its weight {made.design.weights}"
    if made.residuals is not None:
        named = "".join(f", {model!r}" for model in made.robust_models)
        models = f" of the full model{named}" if named else ""
        published += f", and from a second pass sums over residuals for robust standard errors{models}"
    if made.staged is not None and made.staged.score_products:
        published += ", and noisy sums of products of scores for robust standard errors"
    if made.coefficients is not None:
        published = f"{len(made.coefficients.values)} coefficients of a model of {made.columns[-1]}"
    fields = [
        ("In short", _in_short(made)),
        ("Published", published),
        ("Mechanism", f"{made.mechanism}, calibration {made.noise.calibration}, grid 2^-{made.noise.grid_bits}"),
    ]
    if made.units_public is not None:
        units = "Rows" if made.design.unit.id is None else "Persons"
        fields.append((units, f"{made.units_public:,} (public)"))
    count = released_count(made)
    if count is None:
        fields.append(("Count", "no count was released"))
    elif count.sd > 0:
        fields.append(("Count", f"about {round(count.value):,} rows (noisy count, standard deviation {count.sd:.3g})"))
    counts = [f"{label}: {one.words}" for label, one in made.counts.items() if label != "rows"]
    if counts:
        fields.append(("Counts", "; ".join(counts)))
    if made.found_bounds is not None:
        ends = "; ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in made.found_bounds.items())
        fields.append(("Bounds", f"found privately: {ends}; values outside were clipped"))
    if made.guarantee is not None:
        fields.append(("Promise", made.guarantee.sentence()))
    if made.curators is not None:
        fields.append(("Session", f"fingerprint {in_groups(made.curators.session)}"))
    fields.append(("Ledger", describe_ledger(made.anchor)))
    if recorded:
        fields.append(("Request", recorded))
    if made.signature is not None:
        fields.append(("Signature", "Ed25519; discreet verify --key checks it with the public key"))
    # paths and commands are copied, so they stay on one line
    lines = [labelled(*field, _LABEL) for field in fields]
    then = "fit models, write a report to share, and verify the file:"
    return "\n".join([*lines, f"File        {output}", labelled("Next", then, _LABEL), *_next_steps(output)])


def _in_short(made: Release) -> str:
    """Describe in plain language what recipients of the file can do with it."""
    target = made.design.target
    if made.coefficients is not None:
        can = f"anyone who has the file has one noisy model of {target}; no other model can be fitted from it"
    else:
        model = f"{target} on {', '.join(made.design.regressors) or 'no other column'}"
        can = f"anyone who has the file can fit any linear model of its columns, such as {model}, at no additional cost"
    return f"{can}. It contains no row, exact sum or exact count. Publish this file and nothing else"


def _next_steps(output: str) -> list[str]:
    """Return the next commands, each on a separate line."""
    page = output.removesuffix(".json").removesuffix(".release") + ".html"
    steps = (["fit", output], ["report", output, "-o", page], ["verify", output])
    return [f"{' ' * _LABEL}{shlex.join(['discreet', *step])}" for step in steps]
