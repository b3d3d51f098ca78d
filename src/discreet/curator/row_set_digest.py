"""A fingerprint of rows whose order nobody knows: of tables that an engine reads."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable
from typing import Final

import numpy as np

from discreet.curator.row_digest import digest_kind
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.exact.arrays import FloatArray

# sums of so many digests of 64 bits, in places so far apart that no number of parts carries from one to the next
_LANES: Final = 2
_APART: Final = 128


class RowSetDigest:
    """Rows on the grid in any order, and in any number of parts whose totals add up.

    A sum of digests finds any change that is made without knowing how they are computed; one that is made on purpose to
    keep the sum is not found, and gets the release that was made before: nothing is gained by it.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> one, two, three = (RowSetDigest(design, RowDomain.of(design)) for _ in range(3))
    >>> one.add(np.array([[8.0, 8.0], [1.0, 2.0]]))
    >>> two.add(np.array([[8.0], [2.0]]))
    >>> three.add(np.array([[8.0], [1.0]]))
    >>> two.take(two.total + three.total, (2, 2, 0))
    >>> one.take(one.total, (2, 2, 0))
    >>> one.keyed(b"key") == two.keyed(b"key")
    True
    """

    def __init__(self, design: Design, domain: RowDomain) -> None:
        self._kind = digest_kind(design, domain)
        self._counts: tuple[int, ...] = ()
        self.total = 0

    def add(self, chunk: FloatArray) -> None:
        """Take rows (1, x, y) in grid steps, one to a column; the ones are left out."""
        # only tables that an engine reads need it
        from discreet.curator.persons import row_digests

        values = chunk[1:].astype(np.int32)
        found = [row_digests(values, int(self._kind, 16) ^ lane).sum(dtype=np.uint64) for lane in range(_LANES)]
        lanes = [(before + int(more)) % 2**64 for before, more in zip(self._lanes(), found, strict=True)]
        self.total = sum(lane << (_APART * place) for place, lane in enumerate(lanes))

    def take(self, total: int, counts: Iterable[int]) -> None:
        """Take the total of all parts, and what was counted beside it, in place of what is here."""
        self.total = total
        self._counts = tuple(counts)

    def keyed(self, key: bytes) -> str:
        """The fingerprint under a secret key."""
        both = json.dumps([self._lanes(), self._counts]).encode()
        return f"row-set:{self._kind}:{hmac.new(key, both, hashlib.sha256).hexdigest()}"

    def _lanes(self) -> list[int]:
        return [(self.total >> (_APART * lane)) % 2**64 for lane in range(_LANES)]
