"""Store what the components give now; read the difference before it is kept."""

from __future__ import annotations

from support.stored_fragments import FOLDER, STORED, fragment, path


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.html"):
        old.unlink()
    for case, name in STORED:
        path(case, name).write_text(fragment(case, name), encoding="utf-8")


if __name__ == "__main__":
    main()
