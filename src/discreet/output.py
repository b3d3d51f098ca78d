"""Writing result files: never half a file, never over an existing one without being told."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import OutputError


def check_output(path: str | Path, *, force: bool) -> Path:
    """Refuse a path that cannot be written; call it before anything is spent.

    >>> check_output("no-such-folder/out.json", force=False)
    Traceback (most recent call last):
        ...
    discreet.errors.OutputError: the folder 'no-such-folder' does not exist; make it first
    """
    target = Path(path)
    folder = target.parent
    if not folder.is_dir():
        raise OutputError(f"the folder {str(folder)!r} does not exist; make it first")
    if target.is_symlink() or target.is_dir():
        raise OutputError(f"{str(target)!r} is a link or a folder; name a plain file")
    if target.exists() and not force:
        raise OutputError(f"{str(target)!r} exists; choose another name or say --force (force=True)")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"the folder {str(folder)!r} is not writable")
    return target


@contextmanager
def replacing(path: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Give a temporary file beside `path` that takes its place only if the block ends well."""
    target = check_output(path, force=force)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {str(target)!r}: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: str | Path, content: bytes, *, force: bool = False) -> None:
    """Write a whole file at once."""
    with replacing(path, force=force) as temporary:
        temporary.write_bytes(content)
