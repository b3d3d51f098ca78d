"""Public keys: one text for one key, and none that anybody's secret, or anybody's signature, would fit."""

from __future__ import annotations

import pytest

from discreet.errors import SpecError
from discreet.parts.keys import MASK_SCHEME, SIGN_SCHEME, CuratorKey, key_text, mask_key_bytes, sign_key_bytes

PRIME = 2**255 - 19
HIGH = 1 << 255
ZERO = "A" * 43 + "="


def text(number, scheme):
    return key_text(number.to_bytes(32, "little"), scheme)


@pytest.mark.parametrize(
    "given",
    [None, "", "x25519:", ZERO, f"ed25519:{ZERO}", "x25519:AAAA", f"x25519:{'A' * 42}B=", f"x25519: {ZERO}", []],
)  # fmt: skip
def test_a_text_that_is_no_key_is_refused(given):
    with pytest.raises(SpecError, match="expected a public key as x25519: and 32 bytes in base64"):
        mask_key_bytes(given)


def test_keys_that_were_drawn_are_read_back():
    for _ in range(20):
        public = CuratorKey.new("north").public
        assert key_text(mask_key_bytes(public.mask_key), MASK_SCHEME) == public.mask_key
        assert key_text(sign_key_bytes(public.sign_key), SIGN_SCHEME) == public.sign_key


def low_order():
    """Points to which X25519 gives 0: found by the library itself among all that are known, and their other texts."""
    eighth = (
        325606250916557431795983626356110631294008115727848805560023387167927233504,
        39382357235489614581723060781553021112529911719440698176882885853963445705823,
    )
    return [0, 1, PRIME - 1, *eighth]


@pytest.mark.parametrize("place", low_order())
def test_a_mask_key_of_low_order_is_refused_and_would_give_everybody_zero(place):
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    with pytest.raises(SpecError, match="gives no secret; it was not generated at random"):
        mask_key_bytes(text(place, MASK_SCHEME))
    with pytest.raises(ValueError, match="shared key"):
        X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(place.to_bytes(32, "little")))


def test_a_mask_key_has_one_text():
    """The library takes a key with its highest bit set, and one beyond the prime, for the key without."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    own, base = X25519PrivateKey.generate(), 16
    secrets = {
        own.exchange(X25519PublicKey.from_public_bytes(one.to_bytes(32, "little"))) for one in (base, base + HIGH)
    }
    assert len(secrets) == 1
    assert mask_key_bytes(text(base, MASK_SCHEME))
    for other in (base + HIGH, base + PRIME, PRIME, PRIME + 1, HIGH, PRIME + HIGH, 2**256 - 1):
        with pytest.raises(SpecError, match="is not encoded as in RFC 7748"):
            mask_key_bytes(text(other, MASK_SCHEME))


D = -121665 * pow(121666, -1, PRIME) % PRIME


def added(one, other):
    """The distribution of addition of Edwards25519 [RFC 8032, 5.1.4]."""
    (a, b), (c, e) = one, other
    cross = D * a * b * c * e
    return (
        (a * e + b * c) * pow(1 + cross, -1, PRIME) % PRIME,
        (b * e + a * c) * pow(1 - cross, -1, PRIME) % PRIME,
    )


def root(square):
    """A square root modulo the prime, if there is one."""
    found = pow(square, (PRIME + 3) // 8, PRIME)
    if found * found % PRIME != square % PRIME:
        found = found * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    return found if found * found % PRIME == square % PRIME else None


def point(y):
    x = root((y * y - 1) * pow(D * y * y + 1, -1, PRIME))
    return None if x is None else (x, y)


def times(number, start):
    total = (0, 1)
    for bit in bin(number)[2:]:
        total = added(total, total)
        total = added(total, start) if bit == "1" else total
    return total


def small_order():
    """All points whose order divides 8: multiples of one of order 8, which a multiple of half of all points is."""
    large = 2**252 + 27742317777372353535851937790883648493
    some = (times(large, point(y)) for y in range(2, 60) if point(y) is not None)
    one = next(found for found in some if times(4, found) != (0, 1))
    return {times(number, one) for number in range(8)}


def test_signature_keys_of_small_order_are_refused():
    points = small_order()
    assert len(points) == 8
    for x, y in points:
        for sign in (0, HIGH):
            with pytest.raises(SpecError, match="accepts forged signatures"):
                sign_key_bytes(text(y + sign, SIGN_SCHEME))
        assert x * x % PRIME == (PRIME - x) ** 2 % PRIME


def known():
    """The base point plus every point whose order divides 8, by the distribution of addition."""
    base = point(4 * pow(5, -1, PRIME) % PRIME)
    return [added(base, one) for one in small_order()]


def test_mask_keys_of_the_base_point_are_refused_and_would_give_everybody_the_other_key():
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    places = {(1 + y) * pow(1 - y, -1, PRIME) % PRIME for _, y in known()}
    assert len(places) == 8
    assert {9, pow(9, -1, PRIME)} <= places
    for place in places:
        own = X25519PrivateKey.generate()
        secret = own.exchange(X25519PublicKey.from_public_bytes(place.to_bytes(32, "little")))
        assert secret == own.public_key().public_bytes_raw()
        with pytest.raises(SpecError, match="is unsafe: anyone can compute its secrets"):
            mask_key_bytes(text(place, MASK_SCHEME))


def test_signature_keys_of_the_base_point_are_refused():
    for _, y in known():
        for sign in (0, HIGH):
            with pytest.raises(SpecError, match="accepts signatures that anyone can make"):
                sign_key_bytes(text(y + sign, SIGN_SCHEME))


def test_the_library_takes_a_signature_that_anybody_made_for_the_base_point():
    """Negative control: its private key is 1, so the secret part of a signature is public."""
    import hashlib

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    order = 2**252 + 27742317777372353535851937790883648493
    base = bytes.fromhex("58" + "66" * 31)
    hashed = int.from_bytes(hashlib.sha512(base + base + b"any part").digest(), "little")
    # the nonce is 1, too
    signature = base + ((1 + hashed) % order).to_bytes(32, "little")
    Ed25519PublicKey.from_public_bytes(base).verify(signature, b"any part")


def test_the_library_takes_a_signature_of_nobody_for_such_a_key():
    """Negative control: with the identity as its key any message has the signature of the identity and 0."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    identity = (1).to_bytes(32, "little")
    Ed25519PublicKey.from_public_bytes(identity).verify(identity + bytes(32), b"any part")


@pytest.mark.parametrize("y", [PRIME, PRIME + 1, 2**255 - 1, HIGH + PRIME])
def test_a_signature_key_has_one_text(y):
    with pytest.raises(SpecError, match="is not encoded as in RFC 8032"):
        sign_key_bytes(text(y, SIGN_SCHEME))


def test_a_signature_key_that_is_no_point_is_refused():
    off = next(y for y in range(2, 60) if point(y) is None)
    on = next(y for y in range(2, 60) if point(y) is not None)
    assert sign_key_bytes(text(on, SIGN_SCHEME))
    with pytest.raises(SpecError, match="is not encoded as in RFC 8032"):
        sign_key_bytes(text(off, SIGN_SCHEME))
