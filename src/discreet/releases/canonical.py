"""The format of a release file: its name, its version, and its digest, SHA-256 over its canonical JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final

import rfc8785

from discreet.errors import ReleaseFileError

FORMAT: Final = "discreet-release"
SCHEMA_VERSION: Final = 6
# from this version on a file does not list products that are 0 in every row
LEAVES_OUT_ZEROS: Final = 5
# what is added to the content and so takes no part in its digest
SEALS: Final = frozenset(("digest", "signature"))
# integers beyond it are doubles in JSON, as RFC 8785 reads them
_LARGEST_INTEGER: Final = 2**53 - 1


def digest_of(body: Mapping[str, object]) -> str:
    """Digest of the content of a release file, by the rule of its version of the format.

    Version 2: RFC 8785. Version 1: JSON with sorted keys, without spaces, in ASCII.

    >>> digest_of({"schema": 2, "b": 1.0, "a": "ü"}) == digest_of({"a": "ü", "b": 1, "schema": 2, "digest": "x"})
    True
    """
    content = {name: value for name, value in body.items() if name not in SEALS}
    if body.get("schema") == 1:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
    else:
        text = canonical_json(content)
    return "sha256:" + hashlib.sha256(text).hexdigest()


def canonical_json(value: object) -> bytes:
    """JSON in the canonical form of RFC 8785.

    >>> canonical_json({"b": [1e21, 0.1], "a": None})
    b'{"a":null,"b":[1e+21,0.1]}'
    """
    try:
        try:
            return rfc8785.dumps(value)  # type: ignore[arg-type]
        except rfc8785.IntegerDomainError:
            return rfc8785.dumps(_as_doubles(value))  # type: ignore[arg-type]
    except (rfc8785.CanonicalizationError, OverflowError, RecursionError, UnicodeEncodeError):
        raise ReleaseFileError("a value of the release file has no canonical JSON, so it has no digest") from None


def _as_doubles(value: object) -> object:
    if isinstance(value, dict):
        return {name: _as_doubles(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_as_doubles(one) for one in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST_INTEGER:
        return float(value)
    return value
