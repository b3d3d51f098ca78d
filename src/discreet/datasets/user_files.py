"""A user's own files, prepared for a release without reading a row."""

from __future__ import annotations

import os

from discreet.datasets.dataset import Dataset
from discreet.design.model import Design
from discreet.errors import SpecError
from discreet.tables.files.opening import open_source


def user_files(path: str | os.PathLike[str], design: Design | None) -> Dataset:
    """Prepare a file, a folder of Parquet files or a pattern; it must exist, and its rows stay unread.

    >>> user_files("people.parquet", None)
    Traceback (most recent call last):
    ...
    discreet.errors.SpecError: got the path 'people.parquet' without a design; declare one before you look at the \
data: load(path, design=Design(...))
    """
    name = os.fsdecode(path)
    if design is None:
        raise SpecError(
            f"got the path {name!r} without a design; declare one before you look at the data: "
            "load(path, design=Design(...))"
        )
    if not isinstance(design, Design):
        raise SpecError(f"expected a Design, got {type(design).__name__}; use Design(...) or Design.load(path)")
    # looks at names and at the first and last bytes of the files: a wrong path is reported now, not an hour later
    open_source(name)
    return Dataset(
        name=name,
        title=f"{design.target} on {', '.join(design.regressors)}",
        # still the same files when the working folder changes
        data=os.path.abspath(name),
        design=design,
        reasons={},
        note="A user's own files, not read yet. Who may see their rows is for their owner to say.",
        simulated=False,
    )
