"""Files: what is read is a regular one; what is written is never half, nor over another unless asked to."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from discreet.errors import DataError, OutputError, SpecError, shown

# short and fixed, so that a name that the folder allows is never made too long by it
_PREFIX: Final = ".discreet-"
_LARGEST: Final = 1 << 30  # bytes of a file that is read as a whole
_LONGEST_PATH: Final = 4096  # bytes, as the system counts them
# how files of records begin, and what every file of a curator's private keys says
PART_RECORD: Final = b"discreet part record 1\n"
MERGE_RECORD: Final = b"discreet merge record 1 "
KEY_MARK: Final = "discreet-curator-key"
# how a part begins, and what every session and file of public keys says
PART_MARK: Final = b"discreet part 1\n"
SESSION_MARK: Final = "discreet-session"
_PUBLIC_KEYS: Final = b"[[curators]]"
# what is lost for good with a file that begins so; and with one that says so near its beginning
_KEPT: Final = {
    b"SQLite format 3\0": "a database, such as a ledger,",
    PART_RECORD: "the record of a session",
    MERGE_RECORD: "the record of a session",
}
_SECRETS: Final = (KEY_MARK.encode(), b"PRIVATE KEY-----")
_HEAD: Final = 1024
_SHOWN: Final = 20  # letters of a name that is too long


def checked_path(path: object) -> Path:
    """A path from text or a path object.

    >>> checked_path(None)
    Traceback (most recent call last):
        ...
    discreet.errors.SpecError: expected a path such as 'out.json', got NoneType
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise SpecError(f"expected a path such as 'out.json', got {type(path).__name__}")
    return Path(path_text(path))


def path_text(path: str | os.PathLike[str] | os.PathLike[bytes]) -> str:
    r"""The text of a path that the system can look for.

    >>> path_text("a\0b")
    Traceback (most recent call last):
        ...
    discreet.errors.SpecError: 'a\x00b' is not a path: it is too long, or has a NUL or an invalid character
    """
    try:
        text = os.fsdecode(path)
        usable = len(os.fsencode(text)) <= _LONGEST_PATH and "\0" not in text
    except Exception:
        # text that has no bytes, or an object that gives no path
        usable = False
    if not usable:
        raise SpecError(f"{shown(path)} is not a path: it is too long, or has a NUL or an invalid character")
    return text


def read_limited(path: object, largest: int = _LARGEST) -> bytes:
    """The content of a design or release file, which is never too long; a device may have no end.

    Raises
    ------
    OSError
        If it cannot be read, is a device, or is longer than any such file: than `largest` bytes.
    """
    with checked_path(path).open("rb") as file:
        state = os.fstat(file.fileno())
        if stat.S_ISCHR(state.st_mode):
            raise OSError(errno.ENODEV, "it is a device; give a regular file")
        content = b"" if state.st_size > largest else file.read(largest + 1)
    if max(len(content), state.st_size) > largest:
        most = "1 GiB, too long for a design or a release" if largest == _LARGEST else f"{largest:,} bytes"
        raise OSError(errno.EFBIG, f"it is longer than {most}")
    return content


def read_kept(path: Path, largest: int = _LARGEST) -> bytes | None:
    """The content of a file that `write_once` wrote; none where nothing has its name, not even a link.

    Raises
    ------
    OSError
        If it cannot be read, or is anything but a file.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a link, a folder or a device")
    return read_limited(path, largest)


def regular_state(path: Path) -> os.stat_result:
    """What the system knows of a regular file; anything else is refused before it is opened."""
    try:
        state = path.stat()
    except FileNotFoundError:
        problem = SpecError(f"there is no file {str(path)!r}")
    except OSError as error:
        problem = SpecError(f"{str(path)!r} cannot be read: {error.strerror}")
    else:
        if stat.S_ISREG(state.st_mode):
            return state
        what = "a folder" if stat.S_ISDIR(state.st_mode) else "a pipe, socket or device"
        problem = SpecError(f"{str(path)!r} is {what}; give a regular file")
    raise problem


def check_unchanged(path: Path, before: os.stat_result) -> None:
    """Refuse a file that is not as it was."""
    now = regular_state(path)
    if any(getattr(now, name) != getattr(before, name) for name in ("st_dev", "st_ino", "st_size", "st_mtime_ns")):
        raise DataError(f"the file {path.name!r} changed while it was read; wait until it is complete")


def check_output(path: str | Path, *, force: bool, stays: str = "") -> Path:
    """Refuse a path that cannot be written; call it before anything is spent.

    Databases, private keys and records are never replaced. `stays` says why a file stays whatever it is, in place of
    how to replace it.

    >>> check_output("no-such-folder/out.json", force=False)
    Traceback (most recent call last):
        ...
    discreet.errors.OutputError: the folder 'no-such-folder' does not exist; create it first
    """
    if isinstance(path, str) and path == "-":
        raise OutputError("the output '-' would not be printed; name a file such as out.json")
    target = checked_path(path)
    folder = target.parent
    folder_mode, mode = _mode(folder, follow=True), _mode(target, follow=False)
    if folder_mode is None or not stat.S_ISDIR(folder_mode):
        raise OutputError(f"the folder {str(folder)!r} does not exist; create it first")
    if mode is not None and not stat.S_ISREG(mode):
        known = stat.S_ISLNK(mode) or stat.S_ISDIR(mode)
        what = "a link or a folder" if known else "a pipe, socket or device"
        raise OutputError(f"{str(target)!r} is {what}; name a plain file")
    if mode is not None and not force:
        how = stays or "choose another name or pass --force (force=True)"
        raise OutputError(f"{str(target)!r} exists; {how}")
    if mode is not None and (what := _never_replaced(target)):
        # a ledger that is replaced takes with it what was spent, and a key what it opens
        raise OutputError(f"{str(target)!r} is {what} and is never replaced; choose another name")
    temporary = _temporary(folder)
    try:
        # permissions alone do not show it: some folders of the system refuse even those who may write everywhere
        _create(temporary)
    except OSError as error:
        raise OutputError(f"cannot create a file in {str(folder)!r}: {error.strerror}; choose another folder") from None
    finally:
        _discard(temporary)
    return target


def check_suffix(path: str | Path, *suffixes: str, example: str) -> None:
    """Refuse a name that does not end as results of its kind do: no table does, so `force` cannot destroy one.

    >>> check_suffix("people.csv", ".html", ".htm", example="R.html")
    Traceback (most recent call last):
        ...
    discreet.errors.OutputError: the output 'people.csv' does not end in .html; choose a name such as R.html
    """
    if Path(path).suffix.lower() not in suffixes:
        raise OutputError(f"the output {str(path)!r} does not end in {suffixes[0]}; choose a name such as {example}")


@contextmanager
def replacing(path: str | Path, *, force: bool = False, secret: bool = False) -> Iterator[Path]:
    """Give a temporary file beside `path` that takes its place only if the block ends well.

    A secret file stays readable by this user alone.
    """
    target = check_output(path, force=force)
    # named before it is there, so that no moment is left in which a signal would leave it
    temporary = _temporary(target.parent)
    try:
        _create(temporary)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        if not secret:
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        temporary.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {str(target)!r}: {error.strerror}") from None
    finally:
        _discard(temporary)


def write_bytes(path: str | Path, content: bytes, *, force: bool = False, secret: bool = False) -> None:
    """Write a whole file at once; a secret one is readable by this user alone."""
    with replacing(path, force=force, secret=secret) as temporary:
        temporary.write_bytes(content)


def write_once(path: Path, content: bytes) -> bool:
    """Write a whole secret file that nobody replaces; False if there is one of this name, however it got there."""
    temporary = _temporary(path.parent)
    try:
        _create(temporary)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # unlike a replacement it fails where another process was first
        os.link(temporary, path)
        _flush_folder(path.parent)
    except FileExistsError:
        return False
    except OSError as error:
        raise OutputError(f"cannot write {str(path)!r}: {error.strerror}") from None
    finally:
        _discard(temporary)
    return True


def _flush_folder(folder: Path) -> None:
    """Make the names in a folder last, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _temporary(folder: Path) -> Path:
    return folder / f"{_PREFIX}{secrets.token_hex(8)}"


def _create(path: Path) -> None:
    """Make a new file for this user alone."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _discard(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _never_replaced(path: Path) -> str:
    """What a file is that no output may replace, in words; empty for any other."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return ""
    found = next((what for mark, what in _KEPT.items() if head.startswith(mark)), "")
    return "a private key" if any(mark in head for mark in _SECRETS) else found


def of_several_curators(content: bytes) -> str:
    r"""What a file of several curators is and who reads it, in words; empty for any other.

    >>> of_several_curators(b"discreet part 1\n...")
    "is a curator's part; `discreet merge` reads it, with those of all others"
    """
    head = content[:_HEAD]
    if head.startswith(PART_MARK):
        return "is a curator's part; `discreet merge` reads it, with those of all others"
    if head.startswith((PART_RECORD, MERGE_RECORD)):
        return "is the record of a session; leave it where it is"
    if KEY_MARK.encode() in head:
        return "is a curator's PRIVATE key, which nobody else may have; `discreet part --key` reads it"
    if SESSION_MARK.encode() in head:
        return "is a session of several curators; `discreet part` and `discreet merge` read it as --session"
    if _PUBLIC_KEYS in head:
        return "holds the public keys of a curator; `discreet part --new-session` reads them as --curator"
    return ""


def _mode(path: Path, *, follow: bool) -> int | None:
    """What a path is, or nothing where there is none."""
    try:
        return path.stat(follow_symlinks=follow).st_mode
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            # whatever else keeps it from being seen, the attempt to write beside it will show it
            return None
        raise OutputError(f"the name '{path.name[:_SHOWN]}...' is too long; choose a shorter one") from None
