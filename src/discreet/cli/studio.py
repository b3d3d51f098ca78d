"""`discreet studio`: the whole way from a table to a published page, in a local browser."""

from __future__ import annotations

import click

from discreet.cli.command_session import Session
from discreet.cli.options import debug_option, number
from discreet.cli.terminal import say
from discreet.errors import SpecError


@click.command("studio", short_help="Open all of this as a local page in your browser.")
@click.argument("folder", default=".", metavar="[FOLDER]")
@click.option("--port", type=int, default=0, metavar="PORT", help="Port of 127.0.0.1.  [default: any that is free]")
@click.option("--no-browser", is_flag=True, help="Open no browser; print the file that opens the studio instead.")
@click.option(
    "--idle", default="60", show_default=True, metavar="MINUTES", help="End after so long without any request."
)
@debug_option
@click.pass_obj
def command(session: Session, folder: str, port: int, no_browser: bool, idle: str) -> None:
    """Open the studio for the tables in FOLDER: design, plan, preview, release, analyse.

    It is a page for this machine alone. Nothing is uploaded, and nothing outside of FOLDER is read or written.
    """
    minutes = number("idle", idle)
    if not 0 < port < 65536 and port != 0:
        raise SpecError(f"port {port} is not allowed; choose an integer from 1 to 65535, or 0 for any that is free")
    if not 0 < minutes <= 10_000:
        raise SpecError(f"idle {minutes:g} is not allowed; choose a number of minutes above 0 and up to 10000")
    from discreet.studio.libraries import check_libraries

    check_libraries()
    from discreet.studio.server import serve

    serve(folder, port=port, browser=not no_browser, idle_minutes=minutes, say=say)
    # Ctrl-C is how a studio ends
    session.stop.accept()
