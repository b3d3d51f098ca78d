"""Release files with some fields changed, and the schema that they are checked against."""

from __future__ import annotations

import json
from importlib.resources import files

from discreet.releases import Release
from discreet.releases.fields import digest_of

SCHEMA = json.loads(files("discreet").joinpath("release.schema.json").read_text())
DELETE = object()


def edited(release: Release, **changes) -> str:
    """The file with some fields changed and a digest that matches again."""
    body = json.loads(release.to_json())
    for path, value in changes.items():
        *parents, last = path.split("__")
        index = body
        for parent in parents:
            index = index[parent]
        if value is DELETE:
            index.pop(last)
        else:
            index[last] = value
    return json.dumps(body | {"digest": digest_of(body)})
