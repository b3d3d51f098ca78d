"""Kill points do nothing by themselves, and nothing but the room for tests can change that."""

from __future__ import annotations

import ast
from pathlib import Path

from discreet.ledger import event_log as steps
from discreet.testing.not_private import calling

PACKAGE = Path(steps.__file__).parents[1]


def test_nothing_happens_at_a_step():
    assert [steps.at(step) for step in steps.STEPS] == [None] * len(steps.STEPS)


def test_every_step_is_reached_in_order_by_code_and_no_other_is():
    found = []
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "at" and node.args:
                found += [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    found = [step for step in found if isinstance(step, str)]
    assert sorted(found) == sorted(steps.STEPS)


def test_only_the_room_for_tests_touches_the_observer():
    naming = {file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.py") if "_observer" in file.read_text()}
    assert naming == {"ledger/event_log.py", "testing/not_private.py"}


def test_a_test_can_watch_the_steps():
    seen: list[str] = []
    with calling(seen.append):
        steps.at("reserved")
    steps.at("committed")
    assert seen == ["reserved"]
