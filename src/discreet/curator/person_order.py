"""Rows in the order in which those of a person count, all of them in memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_KEY_BITS = 64


def ordered_rows(
    persons: npt.NDArray[np.int32],
    kept: npt.NDArray[np.bool_],
    digests: npt.NDArray[np.uint64],
    values: npt.NDArray[np.int32],
) -> npt.NDArray[np.intp]:
    """The places of rows sorted by person, kept ones first, then by digest, then by value; equal rows in any order.

    Parameters
    ----------
    persons
        The number of each row's person, from 0 on.
    kept, digests
        Of each row; rows of the same values have one digest.
    values
        Shape (values of a row, rows).

    Examples
    --------
    >>> digests, values = np.array([5, 3, 3, 9], dtype=np.uint64), np.array([[1, 8, 7, 0]], dtype=np.int32)
    >>> ordered_rows(np.array([1, 0, 0, 0], dtype=np.int32), np.ones(4, dtype=np.bool_), digests, values).tolist()
    [2, 1, 3, 0]
    """
    rows = len(persons)
    place_bits = rows.bit_length()
    # whatever bits are left; numbers of persons and of rows have at most 31, so there are some
    digest_bits = _KEY_BITS - 1 - place_bits - int(persons.max(initial=0)).bit_length()
    key = persons.astype(np.uint64)
    key <<= np.uint64(1)
    key |= ~kept
    key <<= np.uint64(digest_bits)
    key |= digests >> np.uint64(_KEY_BITS - digest_bits)
    key <<= np.uint64(place_bits)
    key |= np.arange(rows, dtype=np.uint64)
    # numbers that hold their own places sort faster than places do  [P:order-in-memory]
    key.sort()
    order = (key & np.uint64((1 << place_bits) - 1)).astype(np.intp)
    key >>= np.uint64(place_bits)
    _settle_ties(order, key, digests, values)
    return order


def _settle_ties(
    order: npt.NDArray[np.intp],
    key: npt.NDArray[np.uint64],
    digests: npt.NDArray[np.uint64],
    values: npt.NDArray[np.int32],
) -> None:
    """Sort rows with one key by their whole digest and their values, in place."""
    tied = np.flatnonzero(key[1:] == key[:-1])
    first, second = (np.take(values, order[places], axis=1) for places in (tied, tied + 1))
    unequal = tied[(first != second).any(axis=0)]
    if len(unequal) == 0:
        # rows with one key are equal, and a dropped row has no values
        return
    places = np.flatnonzero(np.isin(key, key[unequal]))
    rows = order[places]
    by = (*values[::-1, rows], digests[rows], key[places])
    order[places] = rows[np.lexsort(by)]  # [P:ties-in-memory]
