"""Text of a formula to its words, numbers and operators; every other character is refused with a reason."""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from dataclasses import dataclass
from typing import Final, Literal

from discreet.design.dates import day_of_text
from discreet.design.formulas.tree import LOGIC_WORDS, WORD
from discreet.errors import SpecError

MAX_LENGTH: Final = 500
NOT_PART: Final = "not part of the formula language"
_SHOWN: Final = 60
_BLANKS: Final = " \t\r\n"
_NUMBER: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9.])")
_QUOTED: Final = re.compile(r"`((?:[^`]|``)*)`")
_TEXT: Final = re.compile(r'"((?:[^"]|"")*)"|\'((?:[^\']|\'\')*)\'')
_SIGN: Final = re.compile(r"\*\*|<=|>=|==|!=|[-+*/<>(),=:]")
_OUTSIDE: Final = {
    ".": "attribute access is",
    "[": "square brackets are",
    "]": "square brackets are",
    "{": "braces are",
    "}": "braces are",
    "#": "comments are",
    ";": "semicolons are",
    "%": "remainders are",
    "^": "'^' is",
    "&": "'&' is",
    "|": "'|' is",
    "~": "'~' is",
    "!": "'!' is",
}
_INSTEAD: Final = {
    "^": "write a power as **",
    "&": "write 'and'",
    "|": "write 'or'",
    "~": "write 'not'",
    "!": "write 'not', or != for unequal",
}


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number, quoted name, text in quotes or operator, its position, and a number's value."""

    kind: Literal["word", "name", "number", "text", "sign", "end"]
    text: str
    position: int
    value: float = 0.0


def tokens_of(text: str) -> list[Token]:
    """Tokens of a formula, the last of kind "end".

    >>> [token.text for token in tokens_of("exper ** 2")]
    ['exper', '**', '2', '']
    """
    if not isinstance(text, str):
        raise SpecError(f"formula: expected text, got {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise SpecError(
            f"{shown(text)}: expected at most {MAX_LENGTH} characters, got {len(text)}; "
            "declare a part of it as a column of its own"
        )
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        if text[position] in _BLANKS:
            position += 1
            continue
        token, position = _token(text, position)
        tokens.append(token)
    if not tokens:
        raise SpecError(f"{shown(text)}: the formula is empty; write an expression such as age ** 2")
    return [*tokens, Token("end", "", position)]


def _token(text: str, position: int) -> tuple[Token, int]:
    """The token that starts here, and where it ends."""
    if match := WORD.match(text, position):
        word = match.group()
        if not word.isidentifier():
            raise misuse(text, position, f"{word!r}", "is not a plain name; write it in back quotes if it is a column")
        return Token("word", word, position), match.end()
    if match := _DATE.match(text, position):
        # a subtraction that nobody means
        day = day_of_text(match.group())
        here = "" if day is None else f", here {day}"
        verdict = f"is not a number; write the number of days since 1970-01-01{here}, or compare year(...) with a year"
        raise misuse(text, position, f"the date {match.group()}", verdict)
    if match := _NUMBER.match(text, position):
        return Token("number", match.group(), position, _value(text, match)), match.end()
    if match := _QUOTED.match(text, position):
        return Token("name", _column(text, position, match.group(1).replace("``", "`")), position), match.end()
    if match := _TEXT.match(text, position):
        quote = text[position]
        return Token("text", match.group()[1:-1].replace(2 * quote, quote), position), match.end()
    if match := _SIGN.match(text, position):
        return Token("sign", match.group(), position), match.end()
    sign = text[position]
    if sign == "`":
        raise misuse(text, position, "the back quote", "is never closed; write `column name`")
    if sign in "\"'":
        raise misuse(text, position, "the quotation mark", 'is never closed; write a level as "south"')
    if sign in _OUTSIDE:
        instead = f"; {_INSTEAD[sign]}" if sign in _INSTEAD else ""
        raise problem(text, position, f"unexpected {sign!r}", f"{_OUTSIDE[sign]} {NOT_PART}{instead}")
    raise problem(text, position, f"unexpected character U+{ord(sign):04X}", f"it is {NOT_PART}")


def _value(text: str, match: re.Match[str]) -> float:
    value = float(match.group())
    if not math.isfinite(value) or (value == 0 and match.group(1).strip("0.")):
        raise misuse(text, match.start(), "the number", "does not fit double precision; write one that does")
    if following := WORD.match(text, match.end()):
        raise problem(
            text, match.end(), f"unexpected {following.group()!r}", "an operator is missing; write 2 * x, not 2x"
        )
    return value


def _column(text: str, position: int, name: str) -> str:
    if not name or name != name.strip() or any(unicodedata.category(sign) in ("Cc", "Cf", "Cs") for sign in name):
        raise misuse(text, position, "the quoted name", "has invisible characters, or blanks at its ends; correct it")
    return name


class Cursor:
    """A walk over the tokens of one text that knows how to report an error at its position."""

    def __init__(self, text: str) -> None:
        self.tokens = iter(tokens_of(text))
        self.token = next(self.tokens)
        self.text = text

    def at_word(self, *words: str) -> bool:
        """Whether the token here is one of these bare words."""
        return self.token.kind == "word" and self.token.text in words

    def at_sign(self, *signs: str) -> bool:
        """Whether the token here is one of these operators; a column quoted as an operator is none."""
        return self.token.kind == "sign" and self.token.text in signs

    def at_end(self) -> bool:
        """Whether the text is used up."""
        return self.token.kind == "end"

    def advance(self) -> Token:
        """Step over the token here."""
        token = self.token
        self.token = next(self.tokens)
        return token

    def accept(self, sign: str) -> bool:
        """Step over an operator if it is here."""
        if self.at_sign(sign):
            self.advance()
            return True
        return False

    def expect(self, sign: str, advice: str) -> None:
        """Step over an operator that must be here."""
        if not self.accept(sign):
            raise self.unexpected(advice)

    def unexpected(self, advice: str) -> SpecError:
        """The error for the token here."""
        token = self.token
        if self.at_end():
            return problem(self.text, token.position, "the formula ends", advice)
        if self.at_sign("="):
            advice = f"assignment is {NOT_PART}; compare with =="
        elif token.kind == "word" and keyword.iskeyword(token.text) and token.text not in LOGIC_WORDS:
            advice = f"it is {NOT_PART}"
        return problem(self.text, token.position, f"unexpected {token.text!r}", advice)

    def misused(self, token: Token, what: str, verdict: str) -> SpecError:
        """The error for a token already passed."""
        return misuse(self.text, token.position, what, verdict)


def problem(text: str, position: int, what: str, advice: str) -> SpecError:
    """The error for a position in a formula: what is there, where, after which text, and what to do."""
    before = _escaped(text[:position].rstrip())
    after = f", after {_last(before)!r}" if before else ""
    return SpecError(f"{shown(text)}: {what} at position {position}{after}; {advice}")


def misuse(text: str, position: int, what: str, verdict: str) -> SpecError:
    """The error for a part of a formula: what it is, where, and the rest of the sentence about it."""
    return SpecError(f"{shown(text)}: {what} at position {position} {verdict}")


def shown(text: str) -> str:
    """How messages show a formula: cut to a line, invisible characters spelled out."""
    escape_control = _escaped(text[: _SHOWN + 1])
    return f'formula "{escape_control if len(escape_control) <= _SHOWN else escape_control[: _SHOWN - 3] + "..."}"'


def _escaped(text: str) -> str:
    return "".join(sign if sign.isprintable() else f"<U+{ord(sign):04X}>" for sign in text)


def _last(text: str) -> str:
    return text if len(text) <= 20 else f"...{text[-17:]}"
