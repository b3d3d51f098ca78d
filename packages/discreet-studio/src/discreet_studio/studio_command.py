"""`discreet studio`: go from a table to a published report in a local browser."""

from __future__ import annotations

import click

from discreet.cli.command_session import Session
from discreet.cli.options import debug_option
from discreet.cli.terminal import say


@click.command("studio", short_help="Open all of this as a local page in your browser.")
@click.argument("folder", default=".", metavar="[FOLDER]")
@click.option("--port", type=int, default=0, metavar="PORT", help="Port on 127.0.0.1.  [default: any free port]")
@click.option("--no-browser", is_flag=True, help="Do not open a browser. Print the file that opens the studio instead.")
@click.option(
    "--idle", "minutes", type=float, default=60, show_default=True, metavar="MINUTES",
    help="Stop after this many minutes without a request.",
)  # fmt: skip
@debug_option
@click.pass_obj
def command(session: Session, folder: str, port: int, no_browser: bool, minutes: float) -> None:
    """Open the studio for the tables in FOLDER: design, plan, preview, release, analyse.

    The studio is only reachable from this machine. Nothing is uploaded, and nothing outside FOLDER is read or written.
    """
    if not 0 < port < 65536 and port != 0:
        raise click.UsageError(f"expected a port from 1 to 65535 for --port, or 0 for any free port, got {port}")
    if not 0 < minutes <= 10_000:
        raise click.UsageError(f"expected a number of minutes above 0 and up to 10000 for --idle, got {minutes:g}")
    from discreet_studio.libraries import check_libraries

    check_libraries()
    from discreet_studio.server import serve

    serve(folder, port=port, browser=not no_browser, idle_minutes=minutes, say=say)
    # Ctrl-C is the normal way to stop a studio
    session.stop.accept()
