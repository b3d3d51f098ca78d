"""Pages of the documentation as programs: their blocks run in order, in a folder of their own.

Run with the path of a page to see its blocks and what they print.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from click.testing import CliRunner

import discreet
from discreet.cli.main import program as discreet_program

RUN = ("python", "sh", "toml")
_PART = re.compile(
    r"^```(?P<tag>\S*)[^\n]*\n(?P<body>.*?)^```$|^% (?P<mark>check|save|same)(?:: (?P<text>[^\n]*))?$",
    flags=re.DOTALL | re.MULTILINE,
)


@dataclass
class Part:
    """A fenced block, or a line that a reader does not see."""

    kind: str
    text: str
    line: int


def parts(page: Path) -> list[Part]:
    source = page.read_text()
    return [
        Part(m["mark"] or m["tag"], (m["text"] if m["mark"] else m["body"]) or "", source.count("\n", 0, m.start()) + 1)
        for m in _PART.finditer(source)
    ]


@dataclass
class Page:
    """One page being run: a namespace, and what its last block printed."""

    path: Path
    names: dict[str, object] = field(default_factory=lambda: {"__name__": "__page__"})
    printed: str = ""
    save_as: str | None = None
    compare: bool = False

    def run(self, part: Part) -> None:
        if part.kind == "python":
            # empty lines put the block where it stands, so that a traceback names the line of the page
            code = compile("\n" * part.line + part.text, str(self.path), "exec")
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(code, self.names)
            self.printed = said.getvalue()
        elif part.kind == "check":
            exec(compile("\n" * (part.line - 1) + part.text, str(self.path), "exec"), self.names)
        elif part.kind == "sh":
            self.printed = "".join(ran(command) for command in part.text.replace("\\\n", " ").splitlines())
        elif part.kind == "toml":
            assert discreet.Design.from_toml(part.text).released
            if self.save_as:
                Path(self.save_as).write_text(part.text)
            self.save_as = None
        elif part.kind == "save":
            self.save_as = part.text
        elif part.kind == "same":
            self.compare = True
        elif part.kind == "text" and self.compare:
            assert self.printed == part.text, f"{self.path}:{part.line} shows something else than was printed"
            self.compare = False


def ran(command: str) -> str:
    program, *words = shlex.split(command)
    assert program == "discreet", command
    # in this process: starting one for each command takes longer than most commands
    done = CliRunner().invoke(discreet_program, words)
    assert done.exit_code == 0, f"{command}: {done.stderr}"
    return done.stdout


def main() -> None:
    """Run a page before the reader's eyes."""
    page = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run = Page(page)
        for part in parts(page):
            run.run(part)
            if part.kind in RUN:
                sys.stdout.write("".join(f"| {line}\n" for line in part.text.splitlines()) + "\n")
                sys.stdout.write(f"{run.printed}\n" if part.kind != "toml" and run.printed else "")
        os.chdir(page.parent)


if __name__ == "__main__":
    main()
