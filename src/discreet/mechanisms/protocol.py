"""Define the mechanism protocol and run the passes of a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Protocol, TypeAlias

from discreet.accounting.noise_distribution import NoiseLaw, Settings
from discreet.accounting.settings import Setting
from discreet.curator.sums.gram import Sums, Totals
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.mechanisms.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import rho_from
from discreet.privacy.guarantee import Guarantee, sentence_of
from discreet.privacy.lattice import lattice_curve
from discreet.releases.fields import Coefficients, ScalingPart
from discreet.tables.frames import Origin

# -- protocol ----------------------------------------------------------------------------------------------------------
# What a mechanism is: its card, the job it runs with, what it publishes, and its passes over the table.


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


# -- running -----------------------------------------------------------------------------------------------------------
# A mechanism asks for sums, one pass after another, until it publishes.


def run_passes(passes: Passes, totals: Totals, read: Callable[[Sums], Totals]) -> Published:
    """What a mechanism publishes in the end.

    Parameters
    ----------
    passes
        A mechanism that runs and has asked for its first sums.
    totals
        These sums.
    read
        Goes over the table once more.
    """
    while True:
        try:
            wanted = passes.send(totals)
        except StopIteration as done:
            published: Published = done.value
            return published
        totals = read(wanted)


# -- promise -----------------------------------------------------------------------------------------------------------
# The promise that every mechanism makes in the same words: budget, unit, and the conditions it holds under.

_CODES: Final[dict[Origin, str]] = {
    "query": "query-rows",
    "stream": "stream-rows",
    "quoted": "quoted-cells",
    "spark": "spark-rows",
}


def with_origin(guarantee: Guarantee, origin: Origin | None) -> Guarantee:
    """The same promise, with one more condition where the rows may be the result of a query, or rest on quotes.

    What is hidden is a row of that result. It is a person only if the query keeps persons apart. In a file whose cells
    may hold line breaks, one wrong quote of one person could make another person's row a part of a cell. A plan of
    Spark is a query too, and parts of it may be evaluated again, where an executor is lost: rows must be the same then.
    """
    if origin is None:
        return guarantee
    condition = sentence_of(_CODES[origin], guarantee.unit)
    return replace(guarantee, conditions=(*guarantee.conditions, condition))


def with_curve(guarantee: Guarantee, law: NoiseLaw) -> Guarantee:
    """The promise with what its noise is proved to keep beyond (epsilon, delta), if anything.

    Pure noise keeps no more than its definition; for other accounts nothing but (epsilon, delta) is proved.
    """
    if law.family != "discrete-gaussian":
        return guarantee
    if law.calibration == "gaussian":
        mu, gap = lattice_curve(guarantee.epsilon, guarantee.delta)
        return replace(guarantee, mu=mu, mu_gap=gap)
    if law.calibration == "discrete-zcdp":
        return replace(guarantee, rho=rho_from(guarantee.epsilon, guarantee.delta))
    return guarantee
