"""Masks of pairs of curators, which cancel when all parts are added modulo 2^128. Proof: parts.proof.md."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError
from discreet.parts.keys import CuratorKey
from discreet.parts.public_keys import mask_key_bytes
from discreet.parts.session import Session
from discreet.releases.canonical import canonical_json

# bytes of a masked number, and the modulus
WIDTH: Final = 16
MODULUS: Final = 1 << 8 * WIDTH
# pooled sums are below it in size
MOST: Final = 1 << 126
_KEY_BYTES: Final = 32
_SALT: Final = b"discreet part masks 1"
_STREAM: Final = b"discreet part mask stream 1\n"
# four limbs of 32 bits, of which 2^32 add up in 64 bits
_LIMBS: Final = 4
_LIMB_BITS: Final = 32


def pair_keys(session: Session, place: int, own: CuratorKey) -> list[bytes | None]:
    """The secret that this curator shares with each other one, for this session alone; none with itself."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    agreed = session.to_dict()
    keys: list[bytes | None] = []
    for other, curator in enumerate(session.curators):
        if other == place:
            keys.append(None)
            continue
        pair = [session.curators[index].to_dict() for index in sorted((place, other))]
        # the whole session, its id, all terms and all keys among it, and both of the pair
        info = canonical_json({"purpose": "mask of a pair", "session": agreed, "pair": pair})  # [P:mask-bound]
        shared = own.mask.exchange(X25519PublicKey.from_public_bytes(mask_key_bytes(curator.mask_key)))
        keys.append(HKDF(SHA256(), _KEY_BYTES, salt=_SALT, info=info).derive(shared))
    return keys


def masked(values: Sequence[int], keys: Sequence[bytes | None], place: int) -> bytes:
    """Numbers plus the masks of all pairs, modulo 2^128, 16 bytes each with the lowest first.

    Of a pair the curator who is listed first adds the mask, the other one takes it away.

    >>> key = bytes(32)
    >>> first, second = masked([5, -7], [None, key], 0), masked([1, 2], [key, None], 1)
    >>> unmasked([first, second])
    [6, -5]
    """
    more = np.zeros((len(values), _LIMBS), dtype=np.uint64)
    less = np.zeros((len(values), _LIMBS), dtype=np.uint64)
    for other, key in enumerate(keys):
        if key is not None:
            mask = _limbs(hashlib.shake_256(_STREAM + key).digest(WIDTH * len(values)))
            if place < other:
                more += mask
            else:
                less += mask  # [P:masks-cancel]
    sums = (value + up - down for value, up, down in zip(values, _joined(more), _joined(less), strict=True))
    return b"".join((total % MODULUS).to_bytes(WIDTH, "little") for total in sums)  # [P:masked]


def unmasked(parts: Sequence[bytes]) -> list[int]:
    """What the parts of all curators add up to, of the numbers that are that modulo 2^128 the one nearest to 0."""
    total = np.zeros((len(parts[0]) // WIDTH, _LIMBS), dtype=np.uint64)
    for part in parts:
        total += _limbs(part)
    found = (joined % MODULUS for joined in _joined(total))
    return [value - MODULUS if value >= MODULUS // 2 else value for value in found]


def check_range(values: Sequence[int], parts: int) -> None:
    """Refuse sums so large that those of all parts might not be read back; nothing is spent yet."""
    if any(abs(value) > MOST // parts for value in values):
        raise DataError(f"an exact sum is 2^126 or more with those of {parts} parts; lower grid_bits")  # [P:no-wrap]


def _limbs(content: bytes) -> npt.NDArray[np.uint64]:
    return np.frombuffer(content, dtype="<u4").reshape(-1, _LIMBS).astype(np.uint64)


def _joined(limbs: npt.NDArray[np.uint64]) -> list[int]:
    return [
        low + (second << _LIMB_BITS) + (third << 2 * _LIMB_BITS) + (high << 3 * _LIMB_BITS)
        for low, second, third, high in limbs.tolist()
    ]
