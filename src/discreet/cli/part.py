"""`discreet part`: make keys, a session, and one curator's masked part of a federated release."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from discreet.cli.command_session import Session as Run
from discreet.cli.options import (
    chosen_table,
    load_design,
    number,
    output_options,
    reading_options,
    refuse_overwriting,
    session_term,
    table_options,
    table_path,
    weak_privacy_option,
)
from discreet.cli.release import ledger_account, recorded_words, spending
from discreet.cli.terminal import ReadProgress, say, say_json
from discreet.errors import AfterSpendError, OptionError, OutputError
from discreet.options import DEFAULT_GRID_BITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.ledger.account import Account
    from discreet.parts.agreement import Session
    from discreet.parts.part_file import Part
    from discreet.tables.csv_format import ReadOptions

_LABEL: Final = 12
_MODES: Final = "give DATA with --session and --key, or --new-key FILE, or --new-session S.toml"


@click.command("part", short_help="Make one curator's part of a joint release; spends budget.")
@click.argument("data", required=False)
@table_options
@click.option("--design", "design_path", metavar="FILE", help="The design, the same for all curators.")
@click.option("--session", "session_path", metavar="S.toml", help="The session that all curators agreed on.")
@click.option("--key", metavar="FILE", help="This curator's private keys, from --new-key.")
@click.option("--new-key", metavar="FILE", help="Write new private keys, with mode 0600, and print the public ones.")
@click.option("--name", metavar="NAME", help="With --new-key: name of the curator.  [default: the name of the file]")
@click.option(
    "--new-session", metavar="S.toml", help="Write a new session; requires --design, --epsilon and --curator."
)
@click.option(
    "--curator",
    "curators",
    multiple=True,
    metavar="PUB",
    help="With --new-session: file with a curator's public keys; repeat for each curator.",
)
@click.option("--epsilon", metavar="E", help="With --new-session: privacy loss to spend, such as 1.")
@click.option("--delta", metavar="D", help="With --new-session: delta of the guarantee, such as 1e-6.")
@session_term("mechanism")
@session_term("grid_bits", str(DEFAULT_GRID_BITS))
@click.option(
    "--honest",
    type=int,
    metavar="H",
    help="With --new-session: number of honest curators that the guarantee assumes.  [default: all but one]",
)
@click.option(
    "--parts-per-person",
    type=int,
    metavar="M",
    help="With --new-session: largest number of parts in which a person may be.",
)
@click.option(
    "--merger-noise",
    is_flag=True,
    help="With --new-session: the merger draws the noise and sees the exact pooled sums.",
)
@reading_options
@click.option("--workers", type=int, metavar="N", help="Threads that read and sum at once; cannot change the result.")
@click.option("--ledger", "ledger_path", metavar="L.db", help="Record the spend in this ledger; requires --dataset.")
@click.option("--dataset", metavar="NAME", help="Data set of the ledger whose budget is spent.")
@click.option("--accept-changed-data", is_flag=True, help="Accept that the table changed since the last release.")
@weak_privacy_option
@click.option("-o", "--output", metavar="PART", help="File for the part, or for the public keys with --new-key.")
@output_options
def command(
    run: Run,
    data: str | None,
    database: str | None,
    table: str | None,
    design_path: str | None,
    session_path: str | None,
    key: str | None,
    new_key: str | None,
    name: str | None,
    new_session: str | None,
    curators: tuple[str, ...],
    epsilon: str | None,
    delta: str | None,
    mechanism: str | None,
    grid_bits: int | None,
    honest: int | None,
    parts_per_person: int | None,
    merger_noise: bool,
    workers: int | None,
    ledger_path: str | None,
    dataset: str | None,
    accept_changed_data: bool,
    allow_weak_privacy: bool,
    output: str | None,
    force: bool,
    as_json: bool,
    reading: ReadOptions,
) -> None:
    """Make this curator's part of a release by several curators who cannot pool their rows.

    There are three steps. Every curator makes keys (--new-key) and sends what is printed. One of them writes the
    session (--new-session), and all compare its fingerprint by telephone. Then every curator makes a part of DATA and
    sends it to whoever merges the parts. A part spends budget, and a session is used once.
    """
    terms = {
        "--curator": curators or None, "--epsilon": epsilon, "--delta": delta, "--mechanism": mechanism,
        "--grid-bits": grid_bits, "--honest": honest, "--parts-per-person": parts_per_person,
        "--merger-noise": merger_noise or None,
    }  # fmt: skip
    about = {
        "DATA": data, "--database": database, "--table": table, "--session": session_path, "--key": key,
        "--ledger": ledger_path, "--dataset": dataset, "--workers": workers, "-o": output,
        "--accept-changed-data": accept_changed_data or None,
    }  # fmt: skip
    if new_key is not None:
        others = {**about, "-o": None, **terms, "--design": design_path, "--new-session": new_session}
        _refuse(others, "--new-key")
        _write_key(new_key, name, output, force=force, as_json=as_json)
        return
    _refuse({"--name": name}, "anything but --new-key")
    if new_session is not None:
        _refuse(about, "--new-session")
        refuse_overwriting(new_session, *filter(None, [design_path]), *curators)
        design = load_design(_needed("--design", design_path, "--new-session"))
        from discreet.parts.agreement import SHARED_MECHANISM, Session
        from discreet.parts.keys import Curator

        made = Session.new(
            design,
            [Curator.load(path) for path in curators],
            epsilon=number("epsilon", _needed("--epsilon", epsilon, "--new-session")),
            delta=number("delta", delta or "0"),
            mechanism=mechanism or SHARED_MECHANISM,
            grid_bits=DEFAULT_GRID_BITS if grid_bits is None else grid_bits,
            noise="merger" if merger_noise else "shares",
            honest=honest,
            parts_per_person=1 if parts_per_person is None else parts_per_person,
            allow_weak_privacy=allow_weak_privacy,
        )
        made.save(new_session, force=force)
        if as_json:
            say_json({"path": new_session, "fingerprint": made.fingerprint} | made.to_dict())
        else:
            say(session_summary(made, new_session))
        return
    _refuse(terms, "anything but --new-session")
    if session_path is None or key is None or design_path is None or output is None:
        raise OptionError(f"expected --design, --session, --key and -o; {_MODES}", option="design")
    given = chosen_table(data, database, table)

    from discreet.files import check_output
    from discreet.parts.agreement import Session
    from discreet.parts.making import part, was_made
    from discreet.privacy.spend import untracked
    from discreet.tables.source import ComputeOptions, usual_workers

    compute = ComputeOptions(workers=usual_workers() if workers is None else workers)
    account = _account(ledger_path, dataset, accept_changed_data=accept_changed_data)
    agreed = Session.load(session_path)
    design = load_design(design_path)
    refuse_overwriting(output, table_path(given), design_path, session_path, key, *filter(None, [ledger_path]))
    check_output(output, force=force)
    # the session refuses different sums, so this is the same part
    again = was_made(agreed, key)
    with ReadProgress() as progress:
        found = part(
            given,
            design,
            agreed,
            key=key,
            allow_weak_privacy=allow_weak_privacy,
            reading=reading,
            compute=replace(compute, progress=progress),
            spend=untracked if account is None else spending(run, account),
        )
    again = again if account is None else run.repeated
    run.will_write(output)
    try:
        found.save(output, force=force)
    except OutputError as error:
        raise AfterSpendError(
            "the part was made but not saved: ",
            reason=error,
            code="not-saved",
            remedy="it is recorded in the folder of the key, and the same command writes it",
        ) from None
    if as_json:
        say_json(facts(found, output) | {"request": run.request or None, "repeated": again})
    else:
        say(summary(found, output, session_path, recorded_words(run, "part"), again=again))


def _account(ledger_path: str | None, dataset: str | None, *, accept_changed_data: bool) -> Account | None:
    """Open the account that the options name, or return None without a ledger."""
    if accept_changed_data and ledger_path is None and dataset is None:
        raise OptionError(
            "--accept-changed-data requires a ledger; pass --ledger and --dataset", option="accept_changed_data"
        )
    return ledger_account(
        ledger_path, dataset, request_id=None, new_release=False, accept_changed_data=accept_changed_data
    )


def _refuse(options: Mapping[str, object], mode: str) -> None:
    """Refuse options that belong to another step of the command."""
    for option, value in options.items():
        if value is not None:
            raise OptionError(f"{option} cannot be used with {mode}; {_MODES}")


def _needed(option: str, value: str | None, mode: str) -> str:
    if value is None:
        raise OptionError(f"{mode} requires {option}; pass it")
    return value


def _write_key(path: str, name: str | None, output: str | None, *, force: bool, as_json: bool) -> None:
    """Write new private keys, and print the public keys in the format of a session."""
    from discreet.files import check_output, write_bytes
    from discreet.parts.keys import CuratorKey

    made = CuratorKey.new(Path(path).stem if name is None else name)
    public = made.public
    if output is not None:
        if Path(output).absolute() == Path(path).absolute():
            raise OutputError(f"the output {output!r} is the private key; choose another name")
        check_output(output, force=force)
    made.save(path)
    if output is not None:
        write_bytes(output, public.to_toml().encode(), force=force)
    if as_json:
        say_json({"path": path, "fingerprint": public.fingerprint.replace(" ", "")} | public.to_dict())
    else:
        say(f"# public keys; fingerprint {public.fingerprint}\n{public.to_toml()}".rstrip("\n"))


def session_summary(made: Session, path: str) -> str:
    """Describe the session and what each curator has to do next."""
    from discreet.cli.terminal import labelled
    from discreet.text import in_groups

    names = ", ".join(one.name for one in made.curators)
    fields = [
        ("Session", f"{made.id}, for {len(made.curators)} curators: {names}"),
        ("Noise", noise_words(made)),
        ("People", people_words(made)),
        ("Budget", f"epsilon = {made.epsilon:g}, delta = {made.delta:g}"),
        ("Fingerprint", in_groups(made.fingerprint)),
        ("Next", "send the file to all curators; each compares the fingerprint by telephone before making a part"),
    ]
    return "\n".join([*(labelled(*field, _LABEL) for field in fields), f"File        {path}"])


def noise_words(made: Session) -> str:
    """Describe who draws the noise, and the consequences."""
    if made.noise == "merger":
        return "drawn by whoever merges, who sees the exact pooled sums"
    enough = "1 honest curator" if made.honest == 1 else f"{made.honest} honest curators"
    suffice = "suffices" if made.honest == 1 else "suffice"
    return (
        f"every curator adds its share; {enough} of {len(made.curators)} {suffice}, and nobody sees exact pooled sums"
    )


def people_words(made: Session) -> str:
    """Describe how many parts one person may be in."""
    most = made.parts_per_person
    return "each in one part" if most == 1 else f"each in at most {most} of the {len(made.curators)} parts"


def facts(made: Part, output: str) -> dict[str, object]:
    """Return the document that `--json` prints."""
    session = made.session
    return {
        "path": output,
        "digest": f"sha256:{made.digest}",
        "curator": made.curator,
        "session": session.id,
        "fingerprint": session.fingerprint,
        "parts": len(session.curators),
        "noise": session.noise,
        "honest": session.honest,
        "parts_per_person": session.parts_per_person,
        "epsilon": session.epsilon,
        "delta": session.delta,
        "anchor": made.header.anchor,
    }


def summary(made: Part, output: str, session_path: str, recorded: str = "", *, again: bool = False) -> str:
    """Describe the part and the next step."""
    from discreet.cli.terminal import labelled
    from discreet.privacy.spend import UNTRACKED
    from discreet.text import in_groups

    session = made.session
    spent = f"epsilon = {session.epsilon:g}, delta = {session.delta:g}"
    fields = [
        ("In short", "masked sums of this table, for whoever merges; without the parts of all others they say nothing"),
        ("Curator", f"{made.curator}, one of {len(session.curators)}"),
        ("Session", f"{session.id}, now used by this key"),
        ("Fingerprint", in_groups(session.fingerprint)),
        ("Noise", noise_words(session)),
        ("People", people_words(session)),
        ("Spent", "nothing more: this is the part that was made before, byte for byte" if again else spent),
    ]
    if recorded and made.header.anchor == UNTRACKED:
        late = "the part was made before, without a ledger, and says untracked, as the release will. Request "
        fields.append(("Ledger", f"{late}{recorded}"))
    else:
        fields += [("Ledger", made.header.anchor), *([("Request", recorded)] if recorded else [])]
    lines = [labelled(*field, _LABEL) for field in fields]
    then = labelled("Next", "whoever merges runs, with the parts of all curators:", _LABEL)
    return "\n".join([*lines, f"File        {output}", then, f"{' ' * _LABEL}{_merge_words(output, session_path)}"])


def _merge_words(output: str, session_path: str) -> str:
    given = shlex.join(["--session", session_path])
    return f"{shlex.join(['discreet', 'merge', output])} ... {given} -o R.json"
