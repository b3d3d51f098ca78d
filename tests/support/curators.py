"""Several curators with keys, a session and tables of their own."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.design.design import Design
from discreet.parts.agreement import Session
from discreet.parts.keys import CuratorKey
from discreet.parts.making import part_with
from discreet.parts.part_file import Part

DESIGN = Design("y", {"y": (0, 10), "x": (0, 5), "g": ["a", "b", "c"]})
NAMES = ("north", "süd", "west")
TERMS = {"epsilon": 1.0, "delta": 1e-6}


class NoNoise:
    """NOT PRIVATE: the exact sums."""

    private = False

    def draw(self, sigmas: Any) -> list[int]:
        return [0] * len(sigmas)

    laplace = draw

    def bits(self, how_many: int) -> int:
        return 0


@dataclass(frozen=True)
class Curators:
    """A session and where its curators keep their keys."""

    folder: Path
    session: Session
    keys: tuple[CuratorKey, ...]

    def path(self, place: int) -> Path:
        return self.folder / f"{place}.key"

    def part(self, place: int, table: object, sampler: Any = None, design: Design = DESIGN, **more: Any) -> Part:
        made = NoNoise() if sampler is None else sampler
        return part_with(made, table, design, self.session, key=self.path(place), **more)

    def parts(self, tables: Any, sampler: Any = None, design: Design = DESIGN) -> list[Part]:
        return [self.part(place, table, sampler, design) for place, table in enumerate(tables)]


def curators(folder: Path, design: Design = DESIGN, names: tuple[str, ...] = NAMES, **terms: Any) -> Curators:
    """New keys in a folder, and a session."""
    keys = tuple(CuratorKey.new(name) for name in names)
    made = Curators(folder, Session.new(design, [one.public for one in keys], **(TERMS | terms)), keys)
    folder.mkdir(parents=True, exist_ok=True)
    for place, one in enumerate(keys):
        one.save(made.path(place))
    return made


def rows(seed: int, how_many: int = 20, **more: Any) -> dict[str, list[Any]]:
    """A table of one curator, with ids where asked for."""
    drawn = random.Random(seed)
    x = [drawn.uniform(0, 5) for _ in range(how_many)]
    made: dict[str, list[Any]] = {
        "x": x,
        "y": [1 + 1.5 * one + drawn.gauss(0, 0.5) for one in x],
        "g": [drawn.choice("abc") for _ in x],
    }
    if "persons" in more:
        made["person"] = [drawn.randrange(more["persons"]) for _ in x]
    return made


def joined(tables: list[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    """The pooled table."""
    return {name: [cell for one in tables for cell in one[name]] for name in tables[0]}
