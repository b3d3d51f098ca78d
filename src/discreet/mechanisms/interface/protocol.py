"""What a mechanism is: its card, the job it runs with, what it publishes, and its passes over the table."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from discreet.curator.sums.protocol import Sums, Totals
from discreet.design.domain import RowDomain
from discreet.design.model import Design
from discreet.losses.settings import Setting
from discreet.mechanisms.sampling.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget
from discreet.releases import Coefficients, NoiseLaw, ScalingPart, Settings


@dataclass(frozen=True, slots=True)
class MechanismInfo:
    """What the mechanism table says of a mechanism.

    Attributes
    ----------
    summary
        One line for people who choose.
    document
        Where the method is from.
    notion
        `pure`: epsilon alone, delta = 0 allowed; `approximate`: needs delta above 0; `both`: either.
    domain
        Which declared set of rows its noise makes use of.
    needs
        What a design must declare for it, in words; empty if nothing beyond bounds.
    numerics
        `exact` or `idealised`; see `Release.numerics`.
    references
        Author and year.
    settings
        Public settings by name.
    reads_again
        Whether it goes over the table more than once; or the setting and the value of it with which it does.
    main
        For coefficients: of several noisy statistics the one whose noise moves them most; none if there is one only.
    clip_counts
        Whether it can also release noisy counts of clipped rows.
    """

    summary: str
    document: str
    notion: Literal["pure", "approximate", "both"]
    numerics: Literal["exact", "idealised"]
    references: tuple[str, ...]
    domain: Literal["box", "ball", "box or ball"] = "box or ball"
    needs: tuple[str, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    reads_again: bool | tuple[str, str] = False
    main: str | None = None
    clip_counts: bool = False

    def rereads(self, settings: Settings) -> bool:
        """Whether it goes over the table more than once with these settings."""
        if isinstance(self.reads_again, bool):
            return self.reads_again
        name, value = self.reads_again
        return settings[name] == value


@dataclass(frozen=True, slots=True)
class RunContext:
    """Everything public that a mechanism runs with, and the source of its noise."""

    design: Design
    domain: RowDomain
    law: NoiseLaw
    settings: Settings
    sampler: Sampler


@dataclass(frozen=True, slots=True)
class NoisyMoments:
    """What a mechanism of kind `moments` publishes; none where an entry is not released."""

    totals: tuple[int | None, ...]
    scalars: Mapping[str, int] = field(default_factory=dict)
    # numbers of clipped rows in the order of `Design.clippable`, where they were asked for
    clipped: tuple[int, ...] = ()
    # by which numbers rows were scaled and weighted, where that was asked for
    scaling: ScalingPart | None = None


Published: TypeAlias = NoisyMoments | Coefficients
# asks for one pass over the table after another, gets exact sums, and gives what is published
Passes: TypeAlias = Generator[Sums, Totals, Published]


def clipped_by_name(design: Design, published: Published) -> dict[str, int]:
    """Published numbers of clipped rows by column; nothing where they were not asked for."""
    clipped = published.clipped if isinstance(published, NoisyMoments) else ()
    return dict(zip(design.clippable, clipped, strict=True)) if clipped else {}


class Mechanism(Protocol):
    """Privacy loss as a function of public quantities, and the randomised map."""

    @property
    def name(self) -> str:
        """Name on the command line and in the release."""
        ...

    @property
    def version(self) -> str:
        """Raised whenever the map or its noise changes."""
        ...

    @property
    def kind(self) -> Literal["moments", "coefficients"]:
        """What it publishes."""
        ...

    @property
    def info(self) -> MechanismInfo:
        """What the mechanism table says."""
        ...

    def noise_model(self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings) -> NoiseLaw:
        """The law of its noise, from public quantities alone; refuses what it cannot keep."""
        ...

    def passes(self, context: RunContext) -> Passes:
        """The randomised map. The first pass is asked for before any noise is drawn; the sums stay inside."""
        ...
