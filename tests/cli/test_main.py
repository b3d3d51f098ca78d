"""The program as a whole: streams, signals, exit codes, and what is not imported."""

from __future__ import annotations

import errno
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from discreet import __version__
from discreet.cli import main as main_module
from discreet.cli.main import COMMANDS, program, run
from discreet.design.design import Design
from discreet.releases import Release
from support.cli_folder import Call, contents

PROGRAM = [sys.executable, "-c", "from discreet.cli.main import run; run()"]
RELEASE = ("release", "people.csv", "--design", "design.toml", "--epsilon", "1", "--delta", "1e-6", "-o", "out.json")
HEAVY = ("numpy", "pyarrow", "scipy", "opendp", "rich", "pandas", "tomllib")


def discreet(*arguments: str, **settings: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=60, **settings)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys, atexit\n"
        f"atexit.register(lambda: print('LOADED', [name for name in {HEAVY!r} if name in sys.modules]))\n"
        "from discreet.cli.main import run\nrun()"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "LOADED []" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "without"),
    [
        (
            RELEASE,
            [
                "analyst",
                "pages",
                "planning",
                "accounting.iterations",
                "mechanisms.laplace",
                "mechanisms.refined",
                "releases.description",
            ],
        ),
        (("fit", "income.release.json"), ["curator", "mechanisms", "tables", "pages", "analyst.planning"]),
        (
            ("report", "income.release.json", "-o", "R.html"),
            ["curator", "mechanisms", "tables", "analyst.planning"],
        ),
        (
            ("plan", "--design", "design.toml", "--rows", "5000", "--epsilon", "1", "--delta", "1e-6"),
            ["curator.table", "tables.csv", "pages", "workflow", "analyst.plots"],
        ),
    ],
    ids=["release", "fit", "report", "plan"],
)
def test_a_command_imports_only_the_rooms_it_needs(
    arguments: tuple[str, ...], without: list[str], folder: Path
) -> None:
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: print('LOADED', *sys.modules))\n"
        "from discreet.cli.main import run\nrun()"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.partition("LOADED ")[2].split())
    assert f"discreet.cli.{arguments[0]}" in loaded
    assert [name for name in without if f"discreet.{name}" in loaded] == []
    # an Arrow array of Python objects would load it, for as much time as a table of a million rows
    assert "pandas" not in loaded


def test_help_lists_every_command_and_the_version_is_told(call: Call) -> None:
    told = call("--help").stdout
    assert all(name in told for name in COMMANDS)
    assert call().stdout == told
    assert call("--version").stdout == f"discreet {__version__}\n"


def test_exit_codes_reach_the_shell(folder: Path) -> None:
    done = discreet(*RELEASE)
    assert (done.returncode, done.stderr) == (0, "")
    again = discreet(*RELEASE)
    assert again.returncode == 2
    assert again.stderr.startswith("error: ")
    assert again.stderr.count("\n") == 1
    assert discreet("nonsense").returncode == 2
    told = discreet("fit", "income.release.json", "--json")
    assert "params" in json.loads(told.stdout)


def test_a_full_disk_behind_stdout_is_told(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*PROGRAM, "fit", "income.release.json"], stdout=full, stderr=subprocess.PIPE, text=True)
        released = subprocess.run([*PROGRAM, *RELEASE], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot write to standard output: ")
    assert released.returncode == 5
    assert "already written: 'out.json'" in released.stderr
    assert released.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [("fit", "income.release.json", "--json"), RELEASE, ("--help",)])
def test_a_closed_pipe_ends_in_silence(arguments: tuple[str, ...], folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([*PROGRAM, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_stdout_is_no_failure(folder: Path) -> None:
    script = '"$0" -c "from discreet.cli.main import run; run()" fit income.release.json >&-'
    done = subprocess.run(["/bin/sh", "-c", script, sys.executable], stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


# before the spend, while noise is drawn, and while the release is written
STAGES = {
    "reading": "discreet.workflow.Table.sums",
    "drawing": "discreet.mechanisms.sampler.ExactSampler.draw",
    "writing": "pathlib.Path.write_bytes",
}
STOPPED = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated"), signal.SIGHUP: (129, "hung up")}
# whatever the tests were started under, nohup or a background job, the child starts as from a terminal
AS_FROM_A_TERMINAL = (
    "import signal\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "for sent in (signal.SIGTERM, signal.SIGHUP):\n    signal.signal(sent, signal.SIG_DFL)\n"
)


def stopping_child(
    stage: str, begin: str = AS_FROM_A_TERMINAL, words: Sequence[str] = RELEASE
) -> subprocess.Popen[str]:
    """The program, which stops at a stage, says so, and goes on when it gets a line."""
    code = (
        f"{begin}import sys, select, pathlib\n"
        "import discreet.workflow, discreet.files, discreet.mechanisms.sampler\n"
        f"known = {STAGES[stage]}\n"
        "def wait(*given, **named):\n"
        "    print('ready', flush=True)\n"
        # a signal just before a read that waits would be seen only after it, so no wait is long
        "    while not select.select([sys.stdin], [], [], 0.02)[0]:\n        pass\n"
        "    sys.stdin.readline()\n    return known(*given, **named)\n"
        f"{STAGES[stage]} = wait\n"
        "from discreet.cli.main import run\nrun()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", code, *words], **pipes, text=True)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("sent", STOPPED)
@pytest.mark.parametrize("stage", STAGES)
def test_a_signal_has_its_own_exit_code_and_leaves_no_file(sent: signal.Signals, stage: str, folder: Path) -> None:
    before = contents(folder)
    with stopping_child(stage) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(sent)
        told = child.stderr.read()
        code, word = STOPPED[sent]
        assert child.wait(timeout=30) == code
    spent = "the budget was spent (epsilon = 1, delta = 1e-06), but nothing was written"
    assert told == f"error: {word}; {'nothing was written' if stage == 'reading' else spent}\n"
    assert contents(folder) == before


def test_a_signal_between_a_written_file_and_the_word_of_it_tells_of_the_file(folder: Path) -> None:
    code = (
        f"{AS_FROM_A_TERMINAL}import pathlib\nknown = pathlib.Path.replace\n"
        "def replace(self, target):\n    known(self, target)\n    signal.raise_signal(signal.SIGTERM)\n"
        "pathlib.Path.replace = replace\nfrom discreet.__main__ import run\nrun()"
    )
    for words in (RELEASE, [*RELEASE, "--force"]):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60)
        spent = "the budget was spent (epsilon = 1, delta = 1e-06); already written: 'out.json'"
        last = done.stderr.splitlines(keepends=True)[-1]
        assert (done.returncode, done.stdout, last) == (143, "", f"error: terminated; {spent}\n")
        Release.load(folder / "out.json")


def test_a_file_that_was_there_before_is_not_called_written(folder: Path) -> None:
    (folder / "out.json").write_text("old")
    with stopping_child("writing", words=[*RELEASE, "--force"]) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGTERM)
        assert child.stderr.read().endswith("but nothing was written\n")
    assert (folder / "out.json").read_text() == "old"


@pytest.mark.parametrize("sent", STOPPED)
def test_a_signal_at_the_end_of_the_program_is_told_with_its_code(sent: signal.Signals, folder: Path) -> None:
    """It arrives while the interpreter clears up, and what is still to be cleared up is."""
    code = (
        f"{AS_FROM_A_TERMINAL}import atexit, discreet.cli.main\nfrom discreet.__main__ import run\n"
        "known = discreet.cli.main.program.main\n"
        "def main(**given):\n"
        "    atexit.register(print, 'cleared up')\n"
        f"    atexit.register(lambda: [signal.raise_signal({int(sent)}) for _ in range(2)])\n    known(**given)\n"
        "discreet.cli.main.program.main = main\nrun()"
    )
    done = subprocess.run([sys.executable, "-c", code, *RELEASE], capture_output=True, text=True, timeout=60)
    exit_code, word = STOPPED[sent]
    spent = "the budget was spent (epsilon = 1, delta = 1e-06); already written: 'out.json'"
    assert (done.returncode, done.stderr) == (exit_code, f"error: {word}; {spent}\n")
    assert done.stdout.endswith("cleared up\n")
    assert (folder / "out.json").exists()


# in the second the interpreter drops what is raised, as it does in callbacks of its own
LOADED = {
    "import": "import signal\nsignal.raise_signal({sent})\n",
    "callback": (
        "import signal\nclass Last:\n    def __del__(self):\n        signal.raise_signal({sent})\nLast()\n"
        "import sys\ndel sys.modules['click']\nsys.path.remove({folder!r})\nimport click\n"
    ),
}


@pytest.mark.parametrize("sent", STOPPED)
@pytest.mark.parametrize("where", LOADED)
def test_a_signal_while_the_program_is_loaded_has_its_code_and_no_traceback(
    sent: signal.Signals, where: str, tmp_path: Path
) -> None:
    (tmp_path / "click.py").write_text(LOADED[where].format(sent=int(sent), folder=str(tmp_path)))
    start = f"{AS_FROM_A_TERMINAL}import sys\nsys.path.insert(0, {str(tmp_path)!r})\n"
    code = f"{start}from discreet.__main__ import run\nrun()"
    done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, timeout=60)
    exit_code, word = STOPPED[sent]
    assert (done.returncode, done.stdout, done.stderr) == (exit_code, "", f"error: {word}; nothing was written\n")


def test_a_hang_up_that_was_ignored_at_the_start_stays_ignored(folder: Path) -> None:
    """As under nohup; what asks the program to end in another way still does."""
    begin = AS_FROM_A_TERMINAL + "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    with stopping_child("reading", begin) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGHUP)
        told, wrong = child.communicate("\n", timeout=60)
        assert (child.returncode, wrong) == (0, "")
        assert "File        out.json" in told
    (folder / "out.json").unlink()
    with stopping_child("reading", begin) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGHUP)
        child.send_signal(signal.SIGTERM)
        assert child.wait(timeout=30) == 143


@pytest.mark.parametrize("sent", STOPPED)
def test_a_signal_stops_the_installed_command_while_it_reads(sent: signal.Signals, folder: Path) -> None:
    """Nothing of the program is exchanged: its rows on disk show that it reads."""
    rng = np.random.default_rng(1)
    rows = 400_000
    table = {"person": rng.integers(0, rows, rows), "income": rng.random(rows), "age": rng.random(rows)}
    pa.parquet.write_table(pa.table(table), folder / "big.parquet")
    plan = Design("income", {"income": (0, 1), "age": (0, 1)}, unit={"id": "person", "max_rows": 2})
    (folder / "big.toml").write_text(plan.to_toml())
    (folder / "scratch").mkdir()
    before = contents(folder)
    words = ["release", "big.parquet", "--design", "big.toml", "--epsilon", "1", "-o", "out.json"]
    # the dispositions are set in a shell in between, which becomes the program
    start = [sys.executable, "-c", f"{AS_FROM_A_TERMINAL}import os, sys\nos.execv(sys.argv[1], sys.argv[1:])"]
    command = [*start, str(Path(sys.executable).with_name("discreet")), *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "TMPDIR": str(folder / "scratch")}
    with subprocess.Popen(command, **pipes, text=True, env=environment) as child:  # type: ignore[call-overload]
        while not list((folder / "scratch").iterdir()):
            assert child.poll() is None
            time.sleep(0.005)
        child.send_signal(sent)
        said, told = child.communicate(timeout=60)
    code, word = STOPPED[sent]
    assert (child.returncode, said, told) == (code, "", f"error: {word}; nothing was written\n")
    assert contents(folder) == before


@pytest.mark.parametrize("loaded", ["json", "_duckdb"])
def test_garbage_is_not_looked_for_at_the_end_unless_duckdb_would_miss_it(loaded: str) -> None:
    code = (
        f"import atexit, gc, sys, {loaded}\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"
        "from discreet.__main__ import run\n"
        "sys.argv = ['discreet', '--version']\nrun()"
    )
    # what is registered first is called last
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.splitlines()[-1], done.stderr) == (str(loaded != "_duckdb"), "")


def test_a_terminal_gets_a_table(folder: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen([*PROGRAM, "fit", "income.release.json"], stdout=theirs, stderr=subprocess.PIPE) as child:
        os.close(theirs)
        shown = b""
        # the other end of a terminal fails when the last writer is gone
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:
            pass
        assert child.wait(timeout=60) == 0
    os.close(ours)
    assert "━".encode() in shown
    assert b"region[south]" in shown


def test_names_that_the_stream_cannot_encode_are_escaped(folder: Path) -> None:
    done = discreet("fit", "日本.json", env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 2
    assert "\\u65e5\\u672c.json" in done.stderr


def test_run_keeps_to_one_core_and_ends_with_an_exit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setattr(sys, "argv", ["discreet", "--version"])
    handlers = {sent: signal.getsignal(sent) for sent in STOPPED}
    # as under nohup
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with pytest.raises(SystemExit) as ended:
            run()
        # through monkeypatch, so that they are taken away again
        threads = [os.environ[name] for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")]
    finally:
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        for sent, handler in handlers.items():
            signal.signal(sent, handler)
        for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.pop(name, None)
    assert not ended.value.code
    assert threads == ["1", "3", "1"]
    assert capsys.readouterr().out == f"discreet {__version__}\n"


def test_an_interrupt_while_arguments_are_read_is_exit_130(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module.click.Group, "main", stop)
    result = call("fit", "x")
    assert result.exit_code == 130
    assert result.stderr == "error: interrupted; nothing was written\n"


@pytest.mark.parametrize("index", ["never_fail_to_encode", "program.main"])
def test_an_interrupt_outside_a_command_is_exit_130(
    index: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(f"discreet.cli.main.{index}", stop)
    handlers = {sent: signal.getsignal(sent) for sent in STOPPED}
    # as under nohup
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with pytest.raises(SystemExit) as ended:
            run()
    finally:
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        for sent, handler in handlers.items():
            signal.signal(sent, handler)
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "error: interrupted; nothing was written\n")


def test_an_interrupt_while_a_command_is_loaded_is_exit_130(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module, "import_module", stop)
    assert call("fit", "x").exit_code == 130
    assert call("fit", "x").stderr.strip() == "error: interrupted; nothing was written"


def test_completion_of_a_name_that_is_no_command_is_no_error() -> None:
    context = program.make_context("discreet", [], resilient_parsing=True)
    assert program.resolve_command(context, ["relase"]) == (None, None, [])
    assert program.get_command(context, "relase") is None


def test_a_failure_to_print_help_is_told(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(click.Context, "get_help", full)
    result = call("--help")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: unexpected failure (OSError)")


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"]])
def test_help_into_a_closed_pipe_is_exit_0(arguments: list[str], call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(click.Context, "get_help", gone)
    assert call(*arguments).exit_code == 0


@pytest.mark.parametrize(
    "words", [("fit", "/dev/zero"), ("report", "/dev/zero", "-o", "r.html"), ("path", "/dev/zero")]
)
def test_a_device_is_no_release(words: tuple[str, ...], folder: Path, call: Call) -> None:
    result = call(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: cannot read '/dev/zero': it is a device; give a regular file\n"


def test_a_device_or_an_endless_file_is_no_design(folder: Path, call: Call) -> None:
    with (folder / "huge.toml").open("wb") as huge:
        huge.truncate(2**30 + 1)
    for name, why in (("/dev/zero", "it is a device"), ("huge.toml", "it is longer than 1 GiB")):
        result = call(*RELEASE[:3], name, *RELEASE[4:])
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"error: cannot read the design {name!r}: {why}")
    huge_release = call("fit", "huge.toml")
    assert huge_release.exit_code == 2
    assert "it is longer than 1 GiB" in huge_release.stderr
