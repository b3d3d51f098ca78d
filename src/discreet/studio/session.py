"""Who may talk to the studio: a token that works once, a cookie of random name, and a token against forged forms."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from threading import Lock


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass
class Keys:
    """The secrets of one run; none of them is on a command line or in a log.

    >>> keys = Keys()
    >>> token = keys.token
    >>> keys.redeem(token), keys.redeem(token)
    (True, False)
    """

    # cookies do not know ports, so two studios must not share a name
    cookie_name: str = field(default_factory=lambda: f"discreet_{secrets.token_hex(8)}")
    cookie: str = field(default_factory=_secret, repr=False)
    csrf: str = field(default_factory=_secret, repr=False)
    token: str | None = field(default_factory=_secret, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def redeem(self, given: str) -> bool:
        """Whether this is the token, which is gone afterwards."""
        with self._lock:
            right = self.token is not None and same(given, self.token)
            if right:
                self.token = None
            return right


def same(given: str, secret: str) -> bool:
    """Whether two texts are equal, in a time that does not depend on where they differ.

    >>> same("é", "e"), same("abc", "abc")
    (False, True)
    """
    return secrets.compare_digest(given.encode(), secret.encode())
