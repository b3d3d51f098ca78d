"""Commands that other installed packages add to `discreet`.

A package adds a command with an entry point of the group `discreet.commands` that refers to a `click.Command`. Entry
points are looked up only for the help and for a command that is not built in. A package is imported only when its
command runs, so a broken package cannot affect other commands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "discreet.commands"
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")
# commands of the other packages of this repository, which the help lists even if they are not installed
PACKAGED: Final = {
    "studio": ("discreet-studio", "Do all of this in your browser, on a local page."),
    "reproduce": ("discreet-papers", "Reproduce the figures of the source documents."),
    "compare-methods": ("discreet-papers", "Compare methods on public data, NOT PRIVATE."),
}


@dataclass(frozen=True)
class Offer:
    """A command that an installed package offers."""

    package: str
    summary: str
    entry_point: EntryPoint


@cache
def offers() -> Mapping[str, tuple[Offer, ...]]:
    """Return the offers of all installed packages by command name, without importing a package."""
    from importlib.metadata import distributions

    collected: dict[str, dict[str, Offer]] = {}
    for distribution in distributions():
        try:
            if GROUP not in (distribution.read_text("entry_points.txt") or ""):
                continue
            entry_points = list(distribution.entry_points.select(group=GROUP))
            package = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
            summary = " ".join(str(distribution.metadata["Summary"] or "").split())
        except Exception:  # unreadable metadata must not stop a command
            continue
        for entry_point in entry_points:
            offer = Offer(package, summary or f"A command of {package}.", entry_point)
            # of two copies of a package on the path, the first is imported
            collected.setdefault(entry_point.name, {}).setdefault(package, offer)
    return {name: tuple(by_package.values()) for name, by_package in sorted(collected.items())}


def plugin_names(built_in: tuple[str, ...]) -> list[str]:
    """Return the names of the commands that are not built in."""
    others = [name for name in offers() if _NAME.fullmatch(name) and name not in (*built_in, *PACKAGED)]
    return [*PACKAGED, *others]


class PluginCommand(click.Command):
    """A command of another package, which is imported only when the command is called."""

    def __init__(self, name: str) -> None:
        self.offers = offers().get(name, ())
        if name in PACKAGED:
            package, summary = PACKAGED[name]
            # no other package can replace one of ours
            self.offers = tuple(offer for offer in self.offers if offer.package == package)
            summary = summary if self.offers else f"{summary.rstrip('.')} (not installed)."
        else:
            summary = self.offers[0].summary
        super().__init__(name, short_help=summary)

    def load(self) -> click.Command:
        """Import the command, or raise an error that explains what to do."""
        if not self.offers:
            package, _ = PACKAGED[str(self.name)]
            raise click.UsageError(
                f"the command {self.name!r} is in the package {package}, which is not installed; from the root of the "
                f"repository run: pip install . ./packages/{package}"
            )
        if len(self.offers) > 1:
            packages = " and ".join(sorted(offer.package for offer in self.offers))
            raise click.UsageError(f"the packages {packages} both add the command {self.name!r}; uninstall one of them")
        (offer,) = self.offers
        try:
            command = offer.entry_point.load()
        except (Exception, SystemExit) as error:
            # the text of a foreign exception is never shown
            missing = f": {error.name}" if isinstance(error, ImportError) and error.name else ""
            kind = f"{type(error).__name__}{missing}"
            raise click.UsageError(
                f"the command {self.name!r} of the package {offer.package} cannot be loaded ({kind}); install the "
                "package again, or uninstall it"
            ) from None
        if not isinstance(command, click.Command):
            raise click.UsageError(
                f"the command {self.name!r} of the package {offer.package} is of type {type(command).__name__}, "
                "expected click.Command; uninstall the package, or report it to its authors"
            )
        return command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401  # settings of a context have several types
    ) -> click.Context:
        """Load the command and let it parse its arguments."""
        return self.load().make_context(info_name, args, parent, **extra)
