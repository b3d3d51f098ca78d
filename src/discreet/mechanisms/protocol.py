"""Define the mechanism protocol and run the passes of a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Protocol, TypeAlias

from discreet.accounting.noise_distribution import NoiseDistribution, Settings
from discreet.accounting.settings import Setting
from discreet.curator.sums.gram import Sums, Totals
from discreet.design.design import Design
from discreet.design.domain import RowDomain
from discreet.mechanisms.sampler import Sampler
from discreet.privacy.budget import PrivacyBudget
from discreet.privacy.gaussian_dp import rho_from
from discreet.privacy.guarantee import Guarantee, sentence_of
from discreet.privacy.lattice import lattice_curve
from discreet.releases.fields import Coefficients, ScalingPart, StagedPart
from discreet.tables.frames import Origin

# -- protocol ----------------------------------------------------------------------------------------------------------
# The parts of a mechanism: description, run context, output, and passes over the table.


@dataclass(frozen=True, slots=True)
class MechanismInfo:
    """Description of a mechanism for the mechanism table.

    Attributes
    ----------
    summary
        One line to choose by.
    document
        Source of the method.
    notion
        `pure` (delta = 0 is allowed), `approximate` (needs delta above 0), or `both`.
    domain
        The declared set of rows for which its noise is calibrated.
    needs
        What a design must declare in addition to bounds, as a phrase.
    numerics
        `exact` or `idealised`; see `Release.numerics`.
    references
        Author and year.
    settings
        Public settings by name.
    reads_again
        Whether it reads the table more than once, or the setting and the value with which it does.
    main
        For coefficients: the noisy statistic with the largest effect on them, None if there is only one.
    clip_counts
        Whether it can release noisy counts of clipped rows.
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
        """Return whether the mechanism reads the table more than once with these settings."""
        if isinstance(self.reads_again, bool):
            return self.reads_again
        name, value = self.reads_again
        return settings[name] == value


@dataclass(frozen=True, slots=True)
class RunContext:
    """Public inputs of a mechanism and the source of its noise."""

    design: Design
    domain: RowDomain
    distribution: NoiseDistribution
    settings: Settings
    sampler: Sampler


@dataclass(frozen=True, slots=True)
class NoisyMoments:
    """Output of a mechanism of kind `moments`; None for an entry that is not released."""

    totals: tuple[int | None, ...]
    scalars: Mapping[str, int] = field(default_factory=dict)
    # numbers of clipped rows in the order of `Design.clippable`, if requested
    clipped: tuple[int, ...] = ()
    # numbers by which rows were scaled and weighted, with private scaling
    scaling: ScalingPart | None = None
    # numbers that define the sums of `staged`
    staged: StagedPart | None = None


Published: TypeAlias = NoisyMoments | Coefficients
# yields a query for each pass over the table, receives exact sums, and returns the output
Passes: TypeAlias = Generator[Sums, Totals, Published]


def clipped_by_name(design: Design, published: Published) -> dict[str, int]:
    """Return published numbers of clipped rows by column, empty if they were not requested."""
    clipped = published.clipped if isinstance(published, NoisyMoments) else ()
    return dict(zip(design.clippable, clipped, strict=True)) if clipped else {}


class Mechanism(Protocol):
    """Privacy loss as a function of public quantities, and the randomised map."""

    @property
    def name(self) -> str:
        """Name of the mechanism, as in the release."""
        ...

    @property
    def version(self) -> str:
        """Version, which increases whenever the map or its noise changes."""
        ...

    @property
    def kind(self) -> Literal["moments", "coefficients"]:
        """Kind of output."""
        ...

    @property
    def info(self) -> MechanismInfo:
        """Description for the mechanism table."""
        ...

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Return the noise distribution from public quantities only. Reject what the mechanism does not support."""
        ...

    def passes(self, context: RunContext) -> Passes:
        """Run the randomised map. The first query is yielded before any noise is drawn."""
        ...


# -- running -----------------------------------------------------------------------------------------------------------
# A mechanism requests sums, one pass after another, until it returns its output.


def run_passes(passes: Passes, totals: Totals, read: Callable[[Sums], Totals]) -> Published:
    """Return the output of a mechanism.

    `passes` is a running mechanism, `totals` are the sums of its first pass, and `read` makes another pass over the
    table.
    """
    while True:
        try:
            wanted = passes.send(totals)
        except StopIteration as done:
            published: Published = done.value
            return published
        totals = read(wanted)


# -- promise -----------------------------------------------------------------------------------------------------------
# The guarantee that all mechanisms state in the same form: budget, unit and conditions.

_CODES: Final[dict[Origin, str]] = {
    "query": "query-rows",
    "stream": "stream-rows",
    "quoted": "quoted-cells",
    "spark": "spark-rows",
}


def with_origin(guarantee: Guarantee, origin: Origin | None) -> Guarantee:
    """Return the guarantee with the condition that follows from the source of the rows.

    The unit is then a row of that result, which is a person only if the query keeps people separate. In a file whose
    cells may hold line breaks, one wrong quote in the row of one person could merge the row of another person into a
    cell. A Spark plan is a query too, and parts of it may be evaluated again when an executor is lost: the rows must
    then be the same.
    """
    if origin is None:
        return guarantee
    condition = sentence_of(_CODES[origin], guarantee.unit)
    return replace(guarantee, conditions=(*guarantee.conditions, condition))


def with_curve(guarantee: Guarantee, distribution: NoiseDistribution) -> Guarantee:
    """Return the guarantee with mu or rho, where the noise is proved to satisfy it.

    Pure noise satisfies no more than its definition. For other accounting rules only (epsilon, delta) is proved.
    """
    if distribution.family != "discrete-gaussian":
        return guarantee
    if distribution.calibration == "gaussian":
        mu, gap = lattice_curve(guarantee.epsilon, guarantee.delta)
        return replace(guarantee, mu=mu, mu_gap=gap)
    if distribution.calibration == "discrete-zcdp":
        return replace(guarantee, rho=rho_from(guarantee.epsilon, guarantee.delta))
    return guarantee
