"""Read regular files only, and write files atomically, without replacing existing files unless requested."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from discreet.errors import DataError, OptionError, OutputError, shown
from discreet.wording import Call, Message, Option, SetOption

# short, so that a temporary file name is never too long
_PREFIX: Final = ".discreet-"
_LARGEST: Final = 1 << 30  # largest file that is read as a whole, in bytes
_LONGEST_PATH: Final = 4096  # bytes, as the system counts them
# first bytes of record files, and a string in every private key file of a curator
PART_RECORD: Final = b"discreet part record 1\n"
MERGE_RECORD: Final = b"discreet merge record 1 "
KEY_MARK: Final = "discreet-curator-key"
# first bytes of a part, and strings in every session and public key file
PART_MARK: Final = b"discreet part 1\n"
SESSION_MARK: Final = "discreet-session"
_PUBLIC_KEYS: Final = b"[[curators]]"
# files that are never replaced, by their first bytes, and strings near the beginning of private key files
_KEPT: Final = {
    b"SQLite format 3\0": "a database, such as a ledger,",
    PART_RECORD: "the record of a session",
    MERGE_RECORD: "the record of a session",
}
_SECRETS: Final = (KEY_MARK.encode(), b"PRIVATE KEY-----")
_HEAD: Final = 1024
_SHOWN: Final = 20  # number of characters shown of a long name


def checked_path(path: object) -> Path:
    """Convert text or a path object to a path.

    >>> checked_path(None)
    Traceback (most recent call last):
        ...
    discreet.errors.OptionError: expected a path such as 'out.json', got NoneType
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise OptionError(
            f"expected a path such as 'out.json', got {type(path).__name__}", code="not-a-path", allowed="a path"
        )
    return Path(path_text(path))


def path_text(path: str | os.PathLike[str] | os.PathLike[bytes]) -> str:
    r"""Return a path as text, and refuse a path that the system would not accept.

    >>> path_text("a\0b")
    Traceback (most recent call last):
        ...
    discreet.errors.OptionError: 'a\x00b' is not a path: it is too long, or has a NUL or an invalid character
    """
    try:
        text = os.fsdecode(path)
        usable = len(os.fsencode(text)) <= _LONGEST_PATH and "\0" not in text
    except Exception:
        # text that cannot be encoded, or an object that is not a path
        usable = False
    if not usable:
        raise OptionError(
            f"{shown(path)} is not a path: it is too long, or has a NUL or an invalid character",
            code="not-a-path",
            given=path,
            allowed="a path",
        )
    return text


def read_limited(path: object, largest: int = _LARGEST) -> bytes:
    """Read a file of limited size, such as a design or a release.

    Raises
    ------
    OSError
        If it cannot be read, is a device, or has more than `largest` bytes.
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
    """Read a file written by `write_once`. Return None if neither a file nor a link exists at `path`.

    Raises
    ------
    OSError
        If it cannot be read or is not a regular file.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a link, a folder or a device")
    return read_limited(path, largest)


def regular_state(path: Path) -> os.stat_result:
    """Return the status of a regular file, or raise an error for anything else before it is opened."""
    try:
        state = path.stat()
    except FileNotFoundError:
        problem = OptionError(f"there is no file {str(path)!r}", code="no-such-file", given=str(path))
    except OSError as error:
        problem = OptionError(f"{str(path)!r} cannot be read: {error.strerror}", code="cannot-read", given=str(path))
    else:
        if stat.S_ISREG(state.st_mode):
            return state
        what = "a folder" if stat.S_ISDIR(state.st_mode) else "a pipe, socket or device"
        problem = OptionError(
            f"{str(path)!r} is {what}",
            code="not-a-regular-file",
            given=str(path),
            allowed="a regular file",
            remedy="give a regular file",
        )
    raise problem


def check_unchanged(path: Path, before: os.stat_result) -> None:
    """Raise an error if a file has changed since `before`."""
    now = regular_state(path)
    if any(getattr(now, name) != getattr(before, name) for name in ("st_dev", "st_ino", "st_size", "st_mtime_ns")):
        raise DataError(
            f"the file {path.name!r} changed while it was read",
            code="changed-while-read",
            remedy="wait until it is complete",
        )


def check_output(path: str | Path, *, force: bool, stays: str = "") -> Path:
    """Check that a path can be written. Call this before anything is spent.

    Databases, private keys and records are never replaced. `stays` is the remedy for an existing file, if it must be
    kept.

    >>> check_output("no-such-folder/out.json", force=False)
    Traceback (most recent call last):
        ...
    discreet.errors.OutputError: the folder 'no-such-folder' does not exist; create it first
    """
    if isinstance(path, str) and path == "-":
        raise OutputError(
            "cannot write to standard output ('-')", given=path, allowed="a file", remedy="name a file such as out.json"
        )
    target = checked_path(path)
    folder = target.parent
    folder_mode, mode = _mode(folder, follow=True), _mode(target, follow=False)
    if folder_mode is None or not stat.S_ISDIR(folder_mode):
        raise OutputError(
            f"the folder {str(folder)!r} does not exist",
            code="no-such-folder",
            given=str(folder),
            remedy="create it first",
        )
    if mode is not None and not stat.S_ISREG(mode):
        what = "a link or a folder" if stat.S_ISLNK(mode) or stat.S_ISDIR(mode) else "a pipe, socket or device"
        raise OutputError(
            f"{str(target)!r} is {what}",
            code="not-a-plain-file",
            given=str(target),
            allowed="a plain file",
            remedy="name a plain file",
        )
    if mode is not None and not force:
        raise OutputError(
            f"{str(target)!r} already exists",
            code="file-exists",
            given=str(target),
            remedy=stays or ("choose another name", SetOption("force", True)),
        )
    if mode is not None and (what := _never_replaced(target)):
        # replacing a ledger would lose the record of the spent budget, and replacing a key would make it unusable
        raise OutputError(
            f"{str(target)!r} is {what} and is never replaced",
            code="never-replaced",
            given=str(target),
            remedy="choose another name",
        )
    temporary = _temporary(folder)
    try:
        # try it: permissions are not enough, because some system folders refuse even privileged users
        _create(temporary)
    except OSError as error:
        raise OutputError(
            f"cannot create a file in {str(folder)!r}: {error.strerror}",
            given=str(folder),
            remedy="choose another folder",
        ) from None
    finally:
        _discard(temporary)
    return target


def check_suffix(path: str | Path, *suffixes: str, example: str) -> None:
    """Refuse a file name without one of these suffixes. No table has them, so `force` cannot overwrite a table.

    >>> check_suffix("people.csv", ".html", ".htm", example="R.html")
    Traceback (most recent call last):
        ...
    discreet.errors.OutputError: the output 'people.csv' must end in .html; choose a name such as R.html
    """
    if Path(path).suffix.lower() not in suffixes:
        raise OutputError(
            f"the output {str(path)!r} must end in {suffixes[0]}",
            code="wrong-extension",
            given=str(path),
            allowed=suffixes,
            remedy=f"choose a name such as {example}",
        )


@contextmanager
def replacing(path: str | Path, *, force: bool = False, secret: bool = False) -> Iterator[Path]:
    """Yield a temporary file that replaces `path` only if the block succeeds.

    The temporary file is in the same folder. A secret file is readable by this user only.
    """
    target = check_output(path, force=force)
    # named before it is created, so that it is deleted even if a signal arrives in between
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
        raise OutputError(f"cannot write {str(target)!r}: {error.strerror}", given=str(target)) from None
    finally:
        _discard(temporary)


def write_bytes(path: str | Path, content: bytes, *, force: bool = False, secret: bool = False) -> None:
    """Write a whole file atomically. A secret file is readable by this user only."""
    with replacing(path, force=force, secret=secret) as temporary:
        temporary.write_bytes(content)


def write_once(path: Path, content: bytes) -> bool:
    """Write a secret file that is never replaced. Return False if a file with that name exists."""
    temporary = _temporary(path.parent)
    try:
        _create(temporary)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # unlike a replacement, a link fails if another process was first
        os.link(temporary, path)
        _flush_folder(path.parent)
    except FileExistsError:
        return False
    except OSError as error:
        raise OutputError(f"cannot write {str(path)!r}: {error.strerror}", given=str(path)) from None
    finally:
        _discard(temporary)
    return True


def no_room(reason: str | None = None) -> DataError:
    """Build the error for rows that cannot be written to the disk."""
    why = f" ({reason})" if reason else ""
    return DataError(f"rows could not be stored on disk{why}; free some space, or set TMPDIR to another folder")


def _flush_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, if the system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _temporary(folder: Path) -> Path:
    return folder / f"{_PREFIX}{secrets.token_hex(8)}"


def _create(path: Path) -> None:
    """Create a file that only this user can access."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _discard(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _never_replaced(path: Path) -> str:
    """Describe a file that must never be replaced. Return an empty string for other files."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return ""
    if any(mark in head for mark in _SECRETS):
        return "a private key"
    return next((what for mark, what in _KEPT.items() if head.startswith(mark)), "")


def of_several_curators(content: bytes) -> str:
    r"""Describe a file of a joint release and the function that reads it. Return an empty string for other files.

    >>> of_several_curators(b"discreet part 1\n...")
    "is a curator's part; pass it to discreet.merge, together with the parts of all other curators"
    """
    head = content[:_HEAD]
    if head.startswith(PART_MARK):
        merge = Call("discreet.merge")
        return Message("is a curator's part; pass it to ", merge, ", together with the parts of all other curators")
    if head.startswith((PART_RECORD, MERGE_RECORD)):
        return "is the record of a session; leave it where it is"
    if KEY_MARK.encode() in head:
        return Message(
            "is a curator's PRIVATE key, which nobody else may have; pass it to ",
            Call("discreet.part"),
            " as ",
            Option("key"),
        )
    if SESSION_MARK.encode() in head:
        return Message(
            "is a session of several curators; pass it to ",
            Call("discreet.part"),
            " and ",
            Call("discreet.merge"),
            " as ",
            Option("session"),
        )
    if _PUBLIC_KEYS in head:
        return Message("holds a curator's public keys; pass it to ", Call("Session.new"), " in ", Option("curators"))
    return ""


def _mode(path: Path, *, follow: bool) -> int | None:
    """Return the mode of a path, or None if the path does not exist."""
    try:
        return path.stat(follow_symlinks=follow).st_mode
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            # writing a file next to it will report any other problem
            return None
        raise OutputError(
            f"the name '{path.name[:_SHOWN]}...' is too long",
            code="name-too-long",
            given=path.name,
            remedy="choose a shorter name",
        ) from None
