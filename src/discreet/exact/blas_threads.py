"""One thread for products of matrices.

They are small: with several threads most of the time goes into waiting for one another, and beside other busy programs
nearly all of it. The number of threads belongs to the whole process, so one of several that sum at once sets it, and
the same one sets it back.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_WITH_ITS_OWN: Final = ("scipy.linalg", "scipy.special")  # these load a matrix library beside that of NumPy
_set_by_somebody: Final = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the matrix library to one thread inside the block.

    >>> with one_blas_thread():
    ...     pass
    """
    if not _set_by_somebody.acquire(blocking=False):
        # two that set it would set back what the other one found
        yield
        return
    try:
        with _controller(*(name in sys.modules for name in _WITH_ITS_OWN)).limit(limits=1, user_api="blas"):
            yield
    finally:
        _set_by_somebody.release()


@cache
def _controller(*_loaded: bool) -> ThreadpoolController:
    """The libraries that are loaded by now; looking for them takes longer than setting them."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
