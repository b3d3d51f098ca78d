"""Run the command `discreet` and turn failures into exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn, cast

import click

from discreet import __version__
from discreet.cli.command_session import Session, Stop
from discreet.cli.flags import FLAGS
from discreet.cli.options import debug_option
from discreet.cli.plugins import PluginCommand, plugin_names
from discreet.cli.terminal import (
    complain,
    complain_further,
    discard_stdout,
    flush,
    never_fail_to_encode,
    notices_on_stderr,
    say_json,
)
from discreet.errors import AfterSpendError, DesignError, DiscreetError, OptionError

# -- failures ----------------------------------------------------------------------------------------------------------
# A failure becomes one line and an exit code. The text of foreign exceptions is never shown: it may quote cells.

BAD_INPUT: Final = 2
_OWN_PACKAGES: Final = ("discreet", "discreet_papers", "discreet_studio")


def report_failure(error: BaseException, session: Session) -> int:
    """Report a failure of a running command and return its exit code."""
    if isinstance(error, KeyboardInterrupt) or session.stop.received:
        return report_interrupt(session)
    if isinstance(error, BrokenPipeError):
        # the reader of our output closed the pipe, and the files that were requested are complete
        discard_stdout()
        return AfterSpendError.exit_code if session.spent and not session.written else 0
    if session.debug:
        for line in trace(error):
            complain("debug", line)
    if isinstance(error, DiscreetError):
        heading, *details = error.lines(FLAGS) if isinstance(error, DesignError) else [error.message(FLAGS)]
        complain("error", f"{heading}; {session.outcome}" if session.written else heading)
        for detail in details:
            complain_further(detail)
        if session.as_json:
            say_json({"error": error.to_dict(FLAGS)})
        return AfterSpendError.exit_code if session.spent else error.exit_code
    complain(
        "error",
        f"unexpected failure ({type(error).__name__}); {session.outcome}. Run it with --debug and report the output",
    )
    return AfterSpendError.exit_code if session.spent else BAD_INPUT


def report_interrupt(session: Session) -> int:
    """Report that a signal stopped the command, and what is left behind."""
    complain("error", f"{session.stop.word}; {session.outcome}")
    return session.stop.exit_code


def report_usage(error: click.ClickException) -> int:
    """Report in one line what is wrong with the arguments."""
    context = getattr(error, "ctx", None)
    hint = f" See '{context.command_path} --help'" if context is not None else ""
    message = " ".join(error.format_message().split())
    stop = "" if message.endswith((".", "?")) else "."
    complain("error", f"{message}{stop}{hint}")
    return BAD_INPUT


def trace(error: BaseException) -> Iterator[str]:
    """Yield our own frames and the types of the exceptions, without exception texts, source lines or local values."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield f"{type(link).__name__} passed through"
        for frame, line in traceback.walk_tb(link.__traceback__):
            module = str(frame.f_globals.get("__name__"))
            package = module.partition(".")[0]
            # the methods of a dataclass are compiled from text and have no file
            if package in _OWN_PACKAGES and package in Path(frame.f_code.co_filename).parts:
                yield f"  {_file(module, frame.f_code.co_filename)}:{line} in {frame.f_code.co_name}"
        link = link.__cause__ or link.__context__


def _file(module: str, path: str) -> str:
    """Return the path of a module's file, starting at its top-level package."""
    parts = Path(path).parts
    start = len(parts) - 1 - parts[::-1].index(module.partition(".")[0])
    return "/".join(parts[start:])


# -- main --------------------------------------------------------------------------------------------------------------
# The program `discreet`, which loads commands on use and handles every failure in one place.

# each built-in command is in the module of its name, with _ for -, and imports nothing slow at module level
COMMANDS: Final = (
    "demo",
    "init",
    "plan",
    "check",
    "release",
    "part",
    "merge",
    "show",
    "ledger",
    "fit",
    "compare",
    "path",
    "predict",
    "plot",
    "report",
    "verify",
    "mechanisms",
    "audit",
)


class Program(click.Group):
    """A group that imports a command when it is used, and ends every run with one of the documented exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order in which users need them."""
        return [*COMMANDS, *plugin_names(COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a built-in command, or return a placeholder for one of another package."""
        if cmd_name in COMMANDS:
            return cast("click.Command", import_module(f"discreet.cli.{cmd_name.replace('-', '_')}").command)
        return PluginCommand(cmd_name) if cmd_name in plugin_names(COMMANDS) else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. If printing the help hits a closed pipe, exit as for a closed pipe in any command."""
        try:
            return super().parse_args(ctx, args)
        except BrokenPipeError as error:
            raise click.exceptions.Exit(report_failure(error, cast("Session", ctx.obj))) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command by name, or raise an error that lists the names."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing and args[0] not in (names := self.list_commands(ctx)):
            raise OptionError.unknown_name("command", args[0], names, code="unknown-command")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> int:
        """Run the command. Failures become exit codes here, before click handles them."""
        session = cast("Session", ctx.obj)
        try:
            with notices_on_stderr():
                super().invoke(ctx)
                flush()
                session.stop.check()
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            return report_failure(error, session)
        return 0

    def main(  # type: ignore[override]  # click's other arguments are of no use here
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        session: Session | None = None,
        **extra: object,
    ) -> NoReturn:
        """Run and exit."""
        session = session or Session()
        try:
            code = super().main(args, prog_name or "discreet", standalone_mode=False, obj=session)
        except click.ClickException as error:
            code = report_usage(error)
        except (click.Abort, KeyboardInterrupt):
            code = report_interrupt(session)
        except Exception as error:
            code = report_failure(error, session)
        sys.exit(code)


@click.group(
    "discreet", cls=Program, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="discreet", message="%(prog)s %(version)s")
@debug_option
@click.pass_context
def program(context: click.Context) -> None:
    """Differentially private linear regression.

    One release spends a privacy budget on a table. You can then fit any number of models to it at no additional cost.
    Begin with: discreet demo
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run(stop: Stop | None = None) -> NoReturn:
    """Run the program with its own signal handlers, and exit."""
    session = Session(stop=stop or Stop())
    try:
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            # one command uses one core; NumPy reads this when it loads, so it is set before
            os.environ.setdefault(name, "1")
        never_fail_to_encode(sys.stdout, sys.stderr)
        # SIGTERM or a closed terminal removes half-written files as Ctrl-C does; nohup stays in force
        session.stop.handle_signals()
        program.main(session=session)
    except KeyboardInterrupt:
        # before a command runs, or after it has ended
        session.stop.end(lambda: None)
        sys.exit(report_interrupt(session))
    finally:
        session.stop.end(lambda: report_interrupt(session))
