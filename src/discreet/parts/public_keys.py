"""Public keys as text, one text for one key; what was never drawn as a key is refused. Proof: parts.proof.md."""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from typing import Final

from discreet.errors import SpecError, shown

MASK_SCHEME: Final = "x25519:"
SIGN_SCHEME: Final = "ed25519:"
_KEY_BYTES: Final = 32
# both curves are over the integers modulo this prime [RFC 7748, 4.1; RFC 8032, 5.1]
_PRIME: Final = 2**255 - 19
_SIGN_BIT: Final = 1 << 255
# -x^2 + y^2 = 1 + D x^2 y^2
_D: Final = -121665 * pow(121666, -1, _PRIME) % _PRIME
# u of all points of Curve25519 and of its twist whose order divides 8: any secret times one of them is known
_LOW_ORDER: Final = frozenset((
    0,
    1,
    _PRIME - 1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
))  # fmt: skip
_ORDER_8: Final = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
# y of all points of Edwards25519 whose order divides 8: such a key takes signatures that nobody made
_SMALL_ORDER: Final = frozenset((0, 1, _PRIME - 1, _ORDER_8, _PRIME - _ORDER_8))
_NOT_DRAWN: Final = "it is not a key that was drawn; ask its curator for another"


def mask_key_bytes(text: object) -> bytes:
    r"""The bytes of a public key for masks; one that gives everybody the same secret is refused.

    >>> mask_key_bytes("x25519:" + "CQ" + "A" * 41 + "=")[:2]
    b'\t\x00'
    """
    key = _bytes(text, MASK_SCHEME)
    # beyond the prime, or with the highest bit, one point would have several texts
    place = int.from_bytes(key, "little")
    if place >= _PRIME:
        raise SpecError(f"the mask key {shown(text)} is not written as RFC 7748 has it; {_NOT_DRAWN}")  # [P:one-text]
    if place in _LOW_ORDER:
        raise SpecError(f"the mask key {shown(text)} gives no secret; {_NOT_DRAWN}")  # [P:no-low-order]
    return key


def sign_key_bytes(text: object) -> bytes:
    """The bytes of a public key for signatures; one that is no point, or takes signatures of nobody, is refused.

    >>> sign_key_bytes("ed25519:WGZm" + "ZmZm" * 9 + "ZmY=")[:2]
    b'Xf'
    """
    key = _bytes(text, SIGN_SCHEME)
    y = int.from_bytes(key, "little") & ~_SIGN_BIT
    if y >= _PRIME or not _is_point(y):
        raise SpecError(f"the signature key {shown(text)} is not written as RFC 8032 has it; {_NOT_DRAWN}")
    if y in _SMALL_ORDER:
        problem = "takes signatures that nobody made"
        raise SpecError(f"the signature key {shown(text)} {problem}; {_NOT_DRAWN}")  # [P:no-small-order]
    return key


@lru_cache(maxsize=4096)
def _is_point(y: int) -> bool:
    """Whether a point has this y: x^2 is the quotient of two numbers, and a square where their product is."""
    product = (y * y - 1) * (_D * y * y + 1) % _PRIME
    return pow(product, (_PRIME - 1) // 2, _PRIME) != _PRIME - 1


def key_text(key: bytes, scheme: str) -> str:
    """The text of a public key."""
    return scheme + base64.b64encode(key).decode()


def _bytes(text: object, scheme: str) -> bytes:
    found = b""
    if isinstance(text, str) and text.startswith(scheme):
        try:
            found = base64.b64decode(text.removeprefix(scheme), validate=True)
        except (binascii.Error, ValueError):
            found = b""
    # base64 leaves bits of its last character unused
    if len(found) != _KEY_BYTES or text != key_text(found, scheme):
        raise SpecError(f"a public key is {shown(text)}; expected {scheme} and 32 bytes in base64")
    return found
