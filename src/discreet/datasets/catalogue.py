"""Load data sets by name, and prepare a user's files by path."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from discreet.errors import OptionError, shown
from discreet.wording import LeaveOut

if TYPE_CHECKING:
    from discreet.datasets.tables import Dataset
    from discreet.design.design import Design

# module and function; imported when used, because a table takes time and memory
_PUBLISHED: Final = {
    "census2000": ("discreet.datasets.tables", "census_sample"),
    "randhie": ("discreet.datasets.tables", "randhie"),
    "cpssw8": ("discreet.datasets.tables", "cpssw8"),
    "acs12": ("discreet.datasets.tables", "acs12"),
}
_SIMULATED: Final = {
    "simulated-census": ("discreet.datasets.simulated_census", "simulated_census"),
    "simulated-clinical": ("discreet.datasets.simulated_clinical", "simulated_clinical"),
    "simulated-ipums": ("discreet.datasets.simulated_ipums", "simulated_ipums"),
}
_FILE_ENDS: Final = (".parquet", ".csv", ".arrow", ".feather", ".ipc")


def names() -> tuple[str, ...]:
    """Return the names of the available data sets.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> names()
    ('census2000', 'randhie', 'cpssw8', 'acs12', 'simulated-census', 'simulated-clinical', 'simulated-ipums')
    """
    return (*_PUBLISHED, *_SIMULATED)


def load(
    name: str | os.PathLike[str],
    *,
    design: Design | None = None,
    rows: int | None = None,
    seed: int | None = None,
) -> Dataset:
    """Load a data set by name, or prepare a user's files for a release.

    A `PathLike` is a path. Text is a path if it contains a separator or ends in `.parquet`, `.csv`, `.arrow`,
    `.feather` or `.ipc`. Write `./folder` for a folder in the working directory. The rows of these files are not read
    here. The attribute `data` of the result is the absolute path, and `discreet.release` reads the files in batches.

    Parameters
    ----------
    name : str or path-like
        Either one of `names()`, in upper or lower case, or the path of a file or of a folder of Parquet files, or a
        pattern such as `data/*.csv`.
    design : Design, optional
        Design of the files. It is required for a path, because only the owner knows what is public. Named data sets
        have their own design.
    rows, seed : int, optional
        Number of rows and random seed of a simulated table.

    Returns
    -------
    Dataset

    Raises
    ------
    SpecError
        If the name is unknown, the package with the table is not installed, the path does not exist, or an argument
        does not apply to this kind of data set.

    Examples
    --------
    >>> load("simulated-census").design.target
    'lweekinc'
    >>> load("simulated-clinical", rows=100, seed=7).table.num_rows
    100
    """
    folded = name.lower() if isinstance(name, str) else ""
    size_arguments = {key: value for key, value in (("rows", rows), ("seed", seed)) if value is not None}
    if size_arguments and folded not in _SIMULATED:
        raise OptionError(
            f"got {' and '.join(size_arguments)} with {shown(name)}, but rows and seed apply only to simulated data "
            f"sets: {', '.join(_SIMULATED)}",
            code="unused-option",
            option=next(iter(size_arguments)),
            remedy=f"leave out {' and '.join(size_arguments)}",
        )
    if _is_path(name):
        from discreet.datasets.tables import user_files

        return user_files(name, design)
    if folded not in (available := _PUBLISHED | _SIMULATED):
        raise OptionError.unknown_name("data set", name, available, option="name")
    if design is not None:
        raise OptionError(
            f"got a design for {name!r}, but this data set has its own design",
            code="unused-option",
            option="design",
            remedy=(LeaveOut("design"), f"write './{name}' for a folder of that name"),
        )
    module, function = available[folded]
    return cast("Dataset", getattr(import_module(module), function)(**size_arguments))


def _is_path(name: object) -> bool:
    if isinstance(name, os.PathLike):
        return True
    # "/" is a separator on every system
    return isinstance(name, str) and ("/" in name or os.sep in name or name.lower().endswith(_FILE_ENDS))
