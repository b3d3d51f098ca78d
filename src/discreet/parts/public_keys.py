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
# of the base point of Edwards25519, whose private key everybody knows: it is 1
_BASE_Y: Final = 4 * pow(5, -1, _PRIME) % _PRIME
_NOT_DRAWN: Final = "it is not a key that was drawn; ask its curator for another"


def mask_key_bytes(text: object) -> bytes:
    r"""The bytes of a public key for masks; one whose secrets everybody knows is refused.

    >>> mask_key_bytes("x25519:" + "EA" + "A" * 41 + "=")[:2]
    b'\x10\x00'
    """
    key = _bytes(text, MASK_SCHEME)
    # beyond the prime, or with the highest bit, one point would have several texts
    place = int.from_bytes(key, "little")
    if place >= _PRIME:
        raise SpecError(f"the mask key {shown(text)} is not written as RFC 7748 has it; {_NOT_DRAWN}")  # [P:one-text]
    if place in _LOW_ORDER:
        raise SpecError(f"the mask key {shown(text)} gives no secret; {_NOT_DRAWN}")  # [P:no-low-order]
    if place in known_places():
        problem = "gives secrets that everybody knows"
        raise SpecError(f"the mask key {shown(text)} {problem}; {_NOT_DRAWN}")  # [P:no-base-mask]
    return key


def sign_key_bytes(text: object) -> bytes:
    """The bytes of a public key for signatures; one that is no point, or takes signatures of nobody, is refused.

    >>> from discreet import CuratorKey
    >>> len(sign_key_bytes(CuratorKey.new("north").public.sign_key))
    32
    """
    key = _bytes(text, SIGN_SCHEME)
    y = int.from_bytes(key, "little") & ~_SIGN_BIT
    if y >= _PRIME or not _is_point(y):
        raise SpecError(f"the signature key {shown(text)} is not written as RFC 8032 has it; {_NOT_DRAWN}")
    if y in _SMALL_ORDER:
        problem = "takes signatures that nobody made"
        raise SpecError(f"the signature key {shown(text)} {problem}; {_NOT_DRAWN}")  # [P:no-small-order]
    if y in known_points():
        problem = "takes signatures that anybody can make"
        raise SpecError(f"the signature key {shown(text)} {problem}; {_NOT_DRAWN}")  # [P:no-base-signature]
    return key


@lru_cache(maxsize=1)
def known_points() -> frozenset[int]:
    """The y of the base point and its negative plus every point whose order divides 8.

    >>> len(known_points())
    8
    """
    step = (_x(_ORDER_8), _ORDER_8)
    found = [(_x(_BASE_Y), _BASE_Y)]
    while len(found) < 8:
        found.append(_added(found[-1], step))
    return frozenset(y for _, y in found)


@lru_cache(maxsize=1)
def known_places() -> frozenset[int]:
    """The u of the same points on Curve25519 [RFC 7748, 4.1]; 9 is that of the base point.

    >>> 9 in known_places()
    True
    """
    return frozenset((1 + y) * pow(1 - y, -1, _PRIME) % _PRIME for y in known_points())


def _x(y: int) -> int:
    """One of the two x of the points with this y."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _PRIME) % _PRIME
    root = pow(square, (_PRIME + 3) // 8, _PRIME)
    return root if root * root % _PRIME == square else root * pow(2, (_PRIME - 1) // 4, _PRIME) % _PRIME


def _added(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """The sum of two points [RFC 8032, 5.1.4, in affine coordinates]."""
    (a, b), (c, e) = one, other
    cross = _D * a * b * c * e
    return (
        (a * e + b * c) * pow(1 + cross, -1, _PRIME) % _PRIME,
        (b * e + a * c) * pow(1 - cross, -1, _PRIME) % _PRIME,
    )


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
