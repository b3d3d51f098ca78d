"""Files of an audit, or of attacks on membership: the JSON document and the picture."""

from __future__ import annotations

import json
from pathlib import Path

from discreet.analyst.pictures.saving import figure_bytes
from discreet.audit.membership.picture import membership_picture
from discreet.audit.membership.result import MembershipResult
from discreet.audit.pictures import claimed_against_certified
from discreet.audit.result import AuditResult
from discreet.errors import OutputError, shown
from discreet.files import checked_path, write_bytes


def prepared_folder(output: object) -> Path:
    """The folder to write to, made inside one that is there; refused before minutes are spent on an audit."""
    folder = checked_path(output)
    if not str(output).strip():
        raise OutputError(f"expected the name of a folder such as 'findings', got {shown(output)}")
    if not folder.parent.is_dir():
        raise OutputError(f"the folder {str(folder.parent)!r} does not exist; create it first")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {shown(str(folder))}: {error.strerror}; choose another") from None
    # a missing library is found now, too
    claimed_against_certified(AuditResult((), 0.99))
    return folder


def write_result(result: AuditResult | MembershipResult, folder: Path) -> tuple[Path, ...]:
    """Write the document and the picture as PNG and SVG, over those of an earlier run; give their paths."""
    if isinstance(result, MembershipResult):
        stem, picture = "membership", membership_picture(result)
    else:
        stem, picture = "audit", claimed_against_certified(result)
    contents = {f"{stem}.json": (json.dumps(result.to_dict(), indent=1) + "\n").encode()}
    contents |= {f"{stem}.{ending}": figure_bytes(picture, ending) for ending in ("png", "svg")}
    for name, content in contents.items():
        write_bytes(folder / name, content, force=True)
    return tuple(folder / name for name in contents)
