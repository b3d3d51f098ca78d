"""Markers planted in a table, and every place in which one could come to light.

A marker is searched for in many spellings. Places are searched as bytes. The number of rows is searched for as the
number of *all* rows, of which a third are dropped, so that a noisy count of the rows that count cannot equal it: it is
more than 30 standard deviations away.
"""

from __future__ import annotations

import base64
import contextlib
import io
import logging
import os
import pickle
import re
import struct
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from discreet.releases import Release

VALUE = 531417.862193
LEVEL = "ZQXVILLE"
PERSON = "PERSON-QZX-77113"
REMARK = "QZX-REMARK-90125"
ROWS, DROPPED = 1237, 400
# what a library might say of a cell
QUOTED = f"cell {VALUE!r} of {LEVEL} and {PERSON}, {REMARK}, in one of {ROWS} rows"
GRID_BITS = 24
BOUNDS = (0.0, 1_000_000.0)


# numbers that noise decides stand there, with so few digits that one could equal a marker by chance
ESTIMATES = ("fit", "report", "summary", "repr")
ON_DISK = "rows on disk"


@dataclass(frozen=True)
class Spelling:
    """One way to write a marker.

    Attributes
    ----------
    short
        Whether it is too short to be searched for where estimates are printed.
    on_grid
        Whether it is what rows that wait on disk are known to hold.
    """

    marker: str
    name: str
    pattern: re.Pattern[bytes]
    short: bool = False
    on_grid: bool = False

    def belongs(self, place: str) -> bool:
        return not (self.short and place in ESTIMATES) and not (self.on_grid and place == ON_DISK)


def _bare(text: str) -> re.Pattern[bytes]:
    """A number that is no part of a longer one."""
    return re.compile(rb"(?<![\w.])" + re.escape(text.encode()) + rb"(?!\.?\w)")


def _plain(text: str | bytes) -> re.Pattern[bytes]:
    return re.compile(re.escape(text.encode() if isinstance(text, str) else text))


def grid_value(bits: int = GRID_BITS) -> int:
    """The planted value in grid steps."""
    low, high = BOUNDS
    return round((VALUE - (low + high) / 2) / ((high - low) / 2) * 2**bits)


def _value_spellings() -> Iterator[Spelling]:
    for text in (repr(VALUE), f"{VALUE:.2f}", f"{VALUE:,.2f}", f"{VALUE:.11e}"):
        yield Spelling("value", f"text {text}", _plain(text))
    for text in ("531417", "531418", "531,417", "531,418"):
        yield Spelling("value", f"number {text}", _bare(text), short=True)
    yield Spelling("value", "hexadecimal", _plain(VALUE.hex()))
    for order, name in (("<", "little"), (">", "big")):
        packed = struct.pack(f"{order}d", VALUE)
        yield Spelling("value", f"bytes, {name} endian", _plain(packed))
        yield Spelling("value", f"bytes in hexadecimal, {name} endian", _plain(packed.hex()))
        yield Spelling("value", f"bytes in base64, {name} endian", _plain(base64.b64encode(packed).rstrip(b"=")))
    # rows that wait on disk are on the grid, as the page of limits says
    yield Spelling("value", "grid", _bare(str(grid_value())), short=True, on_grid=True)
    yield Spelling("value", "grid bytes", _plain(struct.pack("<q", grid_value())), on_grid=True)
    yield Spelling("value", "grid bytes of a double", _plain(struct.pack("<d", grid_value())), on_grid=True)


def _name_spellings() -> Iterator[Spelling]:
    for marker, text in (("level", LEVEL), ("person", PERSON), ("remark", REMARK)):
        for name, coded in (
            ("text", text.encode()),
            ("UTF-16", text.encode("utf-16-le")),
            ("hexadecimal", text.encode().hex().encode()),
            ("base64", base64.b64encode(text.encode())[: len(text)]),
        ):
            yield Spelling(marker, name, re.compile(re.escape(coded), re.IGNORECASE))


def _count_spellings() -> Iterator[Spelling]:
    for text in (str(ROWS), f"{ROWS:,}"):
        yield Spelling("count", f"number {text}", _bare(text), short=True)
    either = f"(?:{ROWS}|{ROWS:,})"
    named = rf"(?:rows|count|people|units|observations)\W{{0,12}}{either}\b|\b{either}\W{{1,3}}(?:rows|units|obs)"
    yield Spelling("count", "number with a name", re.compile(named.encode(), re.IGNORECASE))
    for count, which in ((ROWS, "all rows"), (ROWS - DROPPED, "rows that count")):
        for bits in (16, GRID_BITS):
            yield Spelling("count", f"{which} on the grid of {bits} bits", _bare(str(count << 2 * bits)))


SPELLINGS: tuple[Spelling, ...] = (*_value_spellings(), *_name_spellings(), *_count_spellings())
MARKERS = tuple(dict.fromkeys(spelling.marker for spelling in SPELLINGS))


@dataclass
class Places:
    """What was found in each place, as bytes."""

    contents: dict[str, bytes] = field(default_factory=dict)
    error: BaseException | None = None
    result: object = None

    def add(self, place: str, content: str | bytes) -> None:
        raw = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
        self.contents[place] = self.contents.get(place, b"") + raw + b"\n"

    def add_folder(self, place: str, folder: Path) -> None:
        """Names and bytes of all files below a folder."""
        for path in sorted(folder.rglob("*")):
            self.add(place, str(path.relative_to(folder)))
            if path.is_file():
                self.add(place, path.read_bytes())

    def found(self) -> list[str]:
        """Every place in which a marker is, with the spelling."""
        return [
            f"{spelling.marker} as {spelling.name} in {place}"
            for place, content in self.contents.items()
            for spelling in SPELLINGS
            if spelling.belongs(place) and spelling.pattern.search(content)
        ]


def recorded(run: Callable[[], object], scratch: Path) -> Places:
    """Run something, and keep all that it says, raises, gives and leaves behind."""
    places, log = Places(), io.StringIO()
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    level, levels = root.level, {name: logging.getLogger(name).level for name in ("discreet", "py.warnings")}
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    said, told = io.StringIO(), io.StringIO()
    try:
        with warnings.catch_warnings(record=True) as heard, redirected(said, told):
            warnings.simplefilter("always")
            try:
                places.result = run()
            except BaseException as error:  # an interrupt is one of the things that are tried
                places.error = error
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        for name, before in levels.items():
            logging.getLogger(name).setLevel(before)
    places.add("log", log.getvalue())
    places.add("stdout", said.getvalue())
    places.add("stderr", told.getvalue())
    for warning in heard:
        places.add("warnings", f"{warning.message!r} {warning.filename}")
    if places.error is not None:
        add_error(places, places.error)
    else:
        add_result(places, places.result)
    places.add_folder("temporary folder afterwards", scratch)
    return places


@contextlib.contextmanager
def redirected(said: io.StringIO, told: io.StringIO) -> Iterator[None]:
    """Neither stream is a terminal."""
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
        yield


def add_error(places: Places, error: BaseException) -> None:
    """Text, arguments and attributes of an exception and of all that it hangs on to, and the trace as it is printed."""
    seen: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.append(one)
        where = "exception" if one is error else "chained exception"
        places.add(where, f"{one} {one!r} {one.args!r} {vars(one)!r} {getattr(one, '__notes__', '')!r}")
        waiting += [link for link in (one.__cause__, one.__context__) if link is not None]
    places.add("printed trace", "".join(traceback.format_exception(error)))


def add_result(places: Places, result: object) -> None:
    """What a caller gets, in every form that it has."""
    places.add("repr", f"{result!r} {result!s}")
    if isinstance(result, Release):
        places.add("release", result.to_json())
    if result is not None:
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            # text and numbers stand in a pickle as they are
            with contextlib.suppress(TypeError, AttributeError, pickle.PicklingError):
                places.add("pickle", pickle.dumps(result, protocol))
    for name in ("summary", "_repr_html_"):
        shown = getattr(result, name, None)
        if callable(shown):
            places.add("summary", str(shown()))


def rows_on_disk(scratch: Path) -> bytes:
    """What waits in the temporary folder at this moment, also in files without a name."""
    places = Places()
    places.add_folder("rows", scratch)
    content = places.contents.get("rows", b"")
    for entry in Path("/proc/self/fd").iterdir() if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):
            if os.readlink(entry).startswith(str(scratch)):
                content += entry.read_bytes()
    return content
