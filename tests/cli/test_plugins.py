"""Commands of other packages join the program and cannot replace or break a built-in one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from discreet.cli import plugins
from discreet.cli.main import COMMANDS, program

WORKING = """
import click
@click.command("greet", help="Greet somebody at length.")
@click.argument("name")
@click.option("--loud", is_flag=True)
def command(name, loud):
    click.echo(name.upper() if loud else name)
"""
BROKEN = "raise RuntimeError('cell 4711')"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed packages, in which a test writes its own."""
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.offers.cache_clear()
    yield tmp_path
    plugins.offers.cache_clear()


def install(site: Path, package: str, code: str, *names: str, entry_points: str | None = None) -> None:
    """Write a package that offers commands under some names."""
    module = package.replace("-", "_")
    (site / f"{module}.py").write_text(code)
    metadata = site / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\nSummary: Tools of {package}.\n"
    )
    listed = "".join(f"{name} = {module}:command\n" for name in names)
    (metadata / "entry_points.txt").write_text(entry_points or f"[discreet.commands]\n{listed}")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(program, list(arguments))


def test_a_command_of_another_package_runs_with_its_arguments(site):
    install(site, "greeting-tools", WORKING, "greet")
    assert call("greet", "ann", "--loud").output == "ANN\n"
    assert "Greet somebody at length." in call("greet", "--help").output
    refused = call("greet")
    assert refused.exit_code == 2
    assert "See 'discreet greet --help'" in refused.output


def test_the_help_shows_the_summary_of_a_package_and_imports_none(site):
    install(site, "greeting-tools-lazy", WORKING, "greet")
    assert "greet            Tools of greeting-tools-lazy." in call("--help").output
    assert "greeting_tools_lazy" not in sys.modules


@pytest.mark.parametrize(("code", "kind"), [
    (BROKEN, "RuntimeError"),
    ("import no_such_library", "ModuleNotFoundError: no_such_library"),
    ("raise SystemExit(0)", "SystemExit"),
    ("this is no Python", "SyntaxError"),
    ("other = 1", "AttributeError"),
])  # fmt: skip
def test_a_broken_plug_in_is_reported_when_its_command_is_called_and_only_then(site, code, kind):
    install(site, "broken-tools", code, "mend")
    assert "mend             Tools of broken-tools." in call("--help").output
    assert call("mechanisms").exit_code == 0
    result = call("mend", "--all")
    assert result.exit_code == 2
    assert result.output.startswith(
        f"error: the command 'mend' of the package broken-tools cannot be loaded ({kind}); install the package again"
    )
    assert "4711" not in result.output
    sys.modules.pop("broken_tools", None)


def test_an_entry_point_that_is_no_command_is_reported(site):
    install(site, "odd-tools", "command = 3", "odd")
    result = call("odd")
    assert result.exit_code == 2
    assert "is of type int, expected click.Command" in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_a_plug_in_cannot_replace_a_built_in_command(site, name):
    plain = call(name, "--help").output
    install(site, "greedy-tools", BROKEN, *COMMANDS)
    assert call(name, "--help").output == plain
    with click.Context(program) as context:
        assert program.list_commands(context) == [*COMMANDS, *plugins.PACKAGED]
    assert "greedy_tools" not in sys.modules


@pytest.mark.parametrize("name", plugins.PACKAGED)
def test_a_plug_in_cannot_replace_a_command_of_this_repository(site, name):
    install(site, "greedy-tools", BROKEN, *plugins.PACKAGED)
    assert call(name, "--help").exit_code == 0
    assert "greedy_tools" not in sys.modules


def test_two_packages_with_one_command_are_both_named(site):
    install(site, "a-tools", WORKING, "greet")
    install(site, "b-tools", WORKING, "greet")
    result = call("greet", "ann")
    assert result.exit_code == 2
    assert "the packages a-tools and b-tools both add the command 'greet'" in result.output


def test_unreadable_entry_points_and_odd_names_are_ignored(site):
    install(site, "damaged-tools", WORKING, entry_points="[discreet.commands]\nno equals sign\n")
    install(site, "odd-names", WORKING, "GREET", "gr eet", "\x1b[31mgreet", "-h")
    with click.Context(program) as context:
        assert program.list_commands(context) == [*COMMANDS, *plugins.PACKAGED]
    assert call("mechanisms").exit_code == 0


def test_a_misspelt_command_is_compared_with_those_of_other_packages(site):
    install(site, "greeting-tools", WORKING, "greet")
    result = call("gret")
    assert result.exit_code == 2
    assert "greet" in result.output


@pytest.mark.parametrize(("name", "package"), [
    ("studio", "discreet-studio"), ("reproduce", "discreet-papers"), ("compare-methods", "discreet-papers"),
])  # fmt: skip
def test_without_its_package_a_command_says_how_to_install_it(monkeypatch, name, package):
    monkeypatch.setattr(plugins, "offers", dict)
    for words in ([name], [name, "--help"]):
        result = call(*words)
        assert result.exit_code == 2
        assert result.output == (
            f"error: the command {name!r} is in the package {package}, which is not installed; from the root of the "
            f"repository run: pip install . ./packages/{package}.\n"
        )
    assert "(not installed)" in call("--help").output


def test_the_help_and_the_demo_import_no_other_package():
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom discreet.cli.main import program\n"
        "assert CliRunner().invoke(program, ['--help']).exit_code == 0\n"
        "import discreet.cli.demo\n"
        "print(*(name for name in sys.modules if name.startswith(('discreet_', 'numpy', 'starlette'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
