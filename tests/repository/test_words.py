"""What the program says to people is plain English: no word of a private dialect in a literal, docstring or comment."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "discreet"
FILES = sorted(file for file in PACKAGE.rglob("*") if file.suffix in (".py", ".j2"))
# before "sign" these words are about numbers, or about signatures
_BEFORE_SIGN = (
    "of one/share one/has no/zeros and/like/opposite/flip/dollar/changes/different/that/its/the/to/did not/cannot"
)
# and after it these
_AFTER_SIGN = r"(?! of\b|\(| with\b| once with\b| it\b| a release\b| Path of\b)"
_NOT_OF_A_NUMBER = "".join(f"(?<!{words} )" for words in _BEFORE_SIGN.split("/"))
# what to write instead, by pattern
DIALECT = {
    r"\bcame\b": "expected X, got Y",
    r"\bwhole numbers?\b": "integer",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\btold\b": "reported, shown, known",
    r"\b(can|cannot|could|can be|does not) tell\b(?! apart| from)": "show, know, estimate",
    r"\bteeth\b": "negative control",
    r"\bwish(es|ed)?\b": "request, setting",
    r"\bdrown(s|ed)?\b": "dominate",
    r"\bdear(est)?\b": "costly",
    rf"{_NOT_OF_A_NUMBER}(?<!--)(?<![\"'\[])\bsigns?\b{_AFTER_SIGN}": "character, operator",
    r"\bstand(s|ing)? (here|there|once|twice|behind|together|alone)\b": "is listed, is",
    r"\b(person|key|level|cell|row|column|sum|name) stands in\b": "appears in, is in",
    r"\bsay --?\w": "pass --option",
    r"\btakes no new file\b": "cannot create a file in",
    r"\bkept for the intercept\b": "is a reserved name",
    r"\bnot hold together\b": "is inconsistent",
    r"\bis cut or not\b": "is truncated or",
    r"\btake an? (epsilon|delta|order|step)\b": "choose an epsilon",
    r"\b\d+ %|\bper cent\b": "95%",
    r"\ba next release\b": "the next release",
    r"\bwhole multiples?\b": "multiple",
    r"\bbeyond the five\b": "the papers cited",
    r"\bis no name for\b": "must end in",
    r"\bcounts only with\b": "applies only with",
    r"\bdoes not go with\b": "cannot be used with",
    r"\breach(es)? outside\b": "is not inside",
    r"\bused? it up\b": "use up all of X",
    r"\b(is|are) yours: ": "to change X, pass --option",
    r"\b(is|are) more than a released\b": "is not a released column",
    r"\bwas given with --": "cannot be used with --option",
    r"\bif that is meant\b": "if that is intended",
    r"\bbrings? its own\b": "has its own",
    r"P>\|t\|": "p",
    r"\bbeyond any use\b": "too large to be of any use",
}


def dialect(text: str) -> list[str]:
    """Words of the dialect in a text, each with what to write instead."""
    plain = " ".join(text.split())
    return [
        f"{found.group()!r}: write {instead!r}"
        for pattern, instead in DIALECT.items()
        for found in re.finditer(pattern, plain, re.IGNORECASE)
    ]


def spoken(source: str) -> Iterator[tuple[int, str]]:
    """Literals, docstrings and comments of a module with their lines; an expression inside a literal is left out."""
    tree = ast.parse(source)
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inner = {id(part) for node in joined for part in node.values}
    for node in joined:
        yield node.lineno, "".join(_words(part) for part in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in inner:
            yield node.lineno, _words(node)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _words(part: ast.expr) -> str:
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "{}"


def findings(file: Path) -> list[str]:
    source = file.read_text()
    lines = re.sub(r"\{[%{#].*?[%}#]\}", "{}", source).splitlines()
    texts = spoken(source) if file.suffix == ".py" else enumerate(lines, 1)
    # a literal without a blank is a key, not a sentence
    return [f"{file.name}:{line}: {word}" for line, text in texts if " " in text for word in dialect(text)]


@pytest.mark.no_cover
def test_no_text_of_the_package_is_in_dialect() -> None:
    assert len(FILES) > 200
    assert [found for file in FILES for found in findings(file)] == []


@pytest.mark.parametrize(
    "sentence",
    [
        "bounds are a pair; 3 came",
        "ids are text or whole numbers",
        "mend the line",
        "sampling errors cannot be told",
        "the release cannot tell how many rows",
        "the level has invisible signs",
        "choose one ASCII sign",
        "the one sign between two cells",
        "a key stands twice in the file",
        "each person stands in at most one row",
        "exists; say --force",
        "the folder takes no new file",
        "the name is kept for the intercept",
        "the file does not hold together",
        "it is cut or not JSON",
        "take an epsilon between 0.1 and 8",
        "the 95 % quantile",
        "half a per cent",
        "a next release could declare narrower bounds",
        "scaled values are whole multiples of a step",
        "'out.docx' is no name for a picture",
        "the setting 'bound' counts only with loss = squared",
        "'missing' does not go with a formula",
        "the bounds reach outside [0, 1]",
        "what rows do to the curvature would use it up",
        "The assumptions are yours: state others",
        "'log(age)' is more than a released column",
        "--rows was given with --from",
        "if that is meant, pass --allow-weak-privacy",
        "P>|t| comes from the score statistic",
    ],
)
def test_the_dialect_is_found(sentence: str) -> None:
    """Negative control: each message as it once was."""
    assert dialect(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "expected a pair of bounds, got 3",
        "the sign of the residual, and sign(r)",
        "where the function changes sign",
        "Sign with this key (extra 'sign'), a release that it did not sign, --sign KEY",
        "slopes of opposite signs",
        "each row stands for one person",
        "a standard error takes a design",
        "recommended",
        "95% intervals",
        "a share of 5%, {} rows",
    ],
)
def test_plain_english_passes(sentence: str) -> None:
    assert not dialect(sentence)


def test_literals_in_pieces_f_strings_docstrings_and_comments_are_all_read(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        '"""What came first."""\n'
        "# the whole number\n"
        "def told(came):\n"
        '    raise ValueError(f"{came} signs and " "whole "\n'
        '        f"numbers of {told!r} were told")\n'
        'KIND = "came"\n'
    )
    assert [found.split(":")[1] for found in findings(file)] == ["4", "4", "4", "1", "2"]
