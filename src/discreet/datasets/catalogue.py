"""The data sets by name, and a user's own files by path."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from discreet.errors import SpecError, shown

if TYPE_CHECKING:
    from discreet.datasets.tables import Dataset
    from discreet.design.design import Design

# module and function; loaded on use, because a table costs time and memory
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
    """Names that `load` knows.

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
    """Load a data set by its name, or prepare a user's own files for a release by their path.

    A path is a `PathLike`, or text that holds a separator or ends like a file that can be read (`.parquet`, `.csv`,
    `.arrow`, `.feather`, `.ipc`); write `./folder` for a folder beside you. Its rows are not read here: `data` of the
    result is the absolute path, which `discreet.release` reads piece by piece.

    Parameters
    ----------
    name
        One of `names()`, in capitals or not, or the path of a file, of a folder of Parquet files, or a pattern such as
        `data/*.csv`.
    design
        Needed for a path, where nobody else can know what is public; the named data sets bring their own.
    rows, seed
        Size and seed of a simulated table; its own unless given.

    Returns
    -------
    Dataset

    Raises
    ------
    SpecError
        If the name is unknown, the package that holds the table is not installed, a path leads nowhere, or an
        argument does not belong to this kind of data set.

    Examples
    --------
    >>> load("simulated-census").design.target
    'lweekinc'
    >>> load("simulated-clinical", rows=100, seed=7).table.num_rows
    100
    """
    folded = name.lower() if isinstance(name, str) else ""
    sizes = {key: value for key, value in (("rows", rows), ("seed", seed)) if value is not None}
    if sizes and folded not in _SIMULATED:
        given = " and ".join(sizes)
        raise SpecError(f"got {given} with {shown(name)}; only {', '.join(_SIMULATED)} use them; leave them out")
    if _is_path(name):
        from discreet.datasets.tables import user_files

        return user_files(name, design)
    if folded not in (known := _PUBLISHED | _SIMULATED):
        raise SpecError.unknown_name("data set", name, known)
    if design is not None:
        raise SpecError(f"{name!r} has its own design; leave design out, or write './{name}' for a folder")
    module, function = known[folded]
    return cast("Dataset", getattr(import_module(module), function)(**sizes))


def _is_path(name: object) -> bool:
    if isinstance(name, os.PathLike):
        return True
    # "/" is a separator on every system
    return isinstance(name, str) and ("/" in name or os.sep in name or name.lower().endswith(_FILE_ENDS))
