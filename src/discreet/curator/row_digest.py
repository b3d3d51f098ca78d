"""A fingerprint of the rows as a release reads them, for tables that have no bytes of their own."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable

import numpy as np

from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.exact.arrays import FloatArray


class RowDigest:
    """Rows on the grid, in their order, however they were divided into batches.

    It depends on the design, so only fingerprints of one design can be compared, and each names its design. The digest
    of the rows stays inside: what it hands on is keyed.

    Examples
    --------
    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> one, two = (RowDigest(design, RowDomain.of(design)) for _ in range(2))
    >>> one.add(np.array([[8.0, 8.0], [1.0, 2.0]]))
    >>> two.add(np.array([[8.0], [1.0]]))
    >>> one.keyed(b"key") == two.keyed(b"key")
    False
    >>> two.add(np.array([[8.0], [2.0]]))
    >>> one.keyed(b"key") == two.keyed(b"key")
    True
    """

    def __init__(self, design: Design, domain: RowDomain) -> None:
        self._kind = digest_kind(design, domain)
        self._rows = hashlib.sha256()
        self._persons = hashlib.sha256()

    def add(self, chunk: FloatArray) -> None:
        """Take rows (1, x, y) in grid steps, one to a column; the ones are left out."""
        self._rows.update(np.ascontiguousarray(chunk[1:].T, dtype="<i4").data)

    def add_persons(self, persons: Iterable[str]) -> None:
        """Take the persons of rows."""
        texts = (person.encode() for person in persons)
        self._persons.update(b"".join(len(text).to_bytes(8, "big") + text for text in texts))

    def keyed(self, key: bytes) -> str:
        """The fingerprint under a secret key."""
        both = self._rows.digest() + self._persons.digest()
        return f"rows:{self._kind}:{hmac.new(key, both, hashlib.sha256).hexdigest()}"


def digest_kind(design: Design, domain: RowDomain) -> str:
    """Which fingerprints can be compared: those of one design on one grid.

    >>> design = Design("y", {"y": (0, 1), "x": (0, 1)})
    >>> len(digest_kind(design, RowDomain.of(design)))
    16
    """
    read = [design.to_dict(), list(design.columns), domain.grid_bits]
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()[:16]
