"""The library names options and functions as values, and each front end has a word for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import click
import pytest

import discreet
from discreet.cli.flags import _COMMANDS, FLAGS, flag_of
from discreet.cli.main import program

ROOT = Path(__file__).parents[2]
SOURCES = [
    path
    for folder in (ROOT / "src", *sorted((ROOT / "packages").glob("*/src")))
    for path in sorted(folder.rglob("*.py"))
    if "cli" not in path.parts and not path.stem.endswith("_command")
]
# the report shows commands to copy, style.py variables of a page
COMMANDS_TO_COPY = ("view.py", "style.py", "page.py")
# arguments that have no flag: of Python alone, or written into the design file
PYTHON_ONLY = {"alpha", "coefficients", "refuse_shared_table", "strengths", "weights"}
# functions that take or return an object of Python, for which the command line has a file or no test of its own
NO_COMMAND = {"Fit.t_test", "Release.load"}
FLAG = re.compile(r"(?<![\w-])--[a-z]|`discreet [a-z]|: discreet [a-z]")


def messages(tree: ast.AST) -> Iterator[ast.Constant]:
    """Texts of a module that are neither docstrings nor declarations of an option for all front ends."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "offered":
            docs |= set(map(id, ast.walk(node)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node


def values(kind: str) -> Iterator[tuple[str, str]]:
    """First arguments of every value of this kind, with the file; primitives and releases for tests have no command."""
    for path in SOURCES:
        if {"primitives", "testing"} & set(path.parts):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == kind:
                argument = node.args[0]
                if isinstance(argument, ast.Constant):
                    yield str(argument.value), path.name


def flags(command: click.Command) -> set[str]:
    found = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            found |= set() if child is None else flags(child)
    return found


def test_no_message_below_the_command_line_names_a_flag_or_a_command() -> None:
    named = [
        f"{path.name}:{node.lineno} {node.value}"
        for path in SOURCES
        if path.name not in COMMANDS_TO_COPY
        for node in messages(ast.parse(path.read_text()))
        if FLAG.search(str(node.value)) and "pip install" not in str(node.value)
    ]
    assert named == []


@pytest.mark.parametrize("kind", ["Option", "SetOption", "LeaveOut"])
def test_every_option_that_a_message_names_has_a_flag(kind: str) -> None:
    known = flags(program).union(*(flags(point.load()) for point in entry_points(group="discreet.commands")))
    lacking = {name for name, _ in values(kind) if flag_of(name) not in known and name not in PYTHON_ONLY}
    assert lacking == set()


def test_every_function_that_a_message_names_is_public_and_has_a_command() -> None:
    for name, file in values("Call"):
        found: object = discreet
        for part in name.removeprefix("discreet.").split("."):
            found = getattr(found, part)
        assert callable(found), (name, file)
        assert name in {*_COMMANDS, *NO_COMMAND}, (name, file)
        assert (name in FLAGS.call(name, "do it")) == (name in NO_COMMAND)
