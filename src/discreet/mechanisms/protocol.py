"""Define the mechanism protocol, and run the passes of a mechanism."""

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
from discreet.releases.fields import Coefficients, StagedPart
from discreet.tables.frames import Origin

# -- protocol ----------------------------------------------------------------------------------------------------------
# A mechanism has a description, a run context, passes over the table, and an output.


@dataclass(frozen=True, slots=True)
class MechanismInfo:
    """Description of a mechanism, as shown in the table of mechanisms.

    Attributes
    ----------
    summary
        One-line summary that helps to choose a mechanism.
    document
        Source of the method.
    notion
        `pure` (delta = 0 is allowed), `approximate` (delta must be above 0), or `both`.
    domain
        Declared set of possible rows for which the noise is calibrated.
    needs
        Phrases for what the mechanism requires of a design in addition to bounds.
    numerics
        `exact` or `idealised`; see `Release.numerics`.
    references
        Author and year of each paper.
    settings
        Public settings by name.
    reads_again
        Whether the mechanism reads the table more than once. If this depends on a setting, the (setting, value) pair
        with which it does.
    main
        Block whose noise affects published coefficients most. None if there is only one block, or for moments.
    clip_counts
        Whether the mechanism can release noisy counts of clipped rows.
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
    """Public inputs of a mechanism, and the sampler that draws its noise."""

    design: Design
    domain: RowDomain
    distribution: NoiseDistribution
    settings: Settings
    sampler: Sampler


@dataclass(frozen=True, slots=True)
class NoisyMoments:
    """Output of a mechanism that publishes moments. Totals that are not released are None."""

    totals: tuple[int | None, ...]
    scalars: Mapping[str, int] = field(default_factory=dict)
    # noisy numbers of clipped rows in the order of `Design.clippable`, if requested
    clipped: tuple[int, ...] = ()
    # numbers that define the sums of `staged`
    staged: StagedPart | None = None


Published: TypeAlias = NoisyMoments | Coefficients
# generator that yields the sums it needs, receives their exact totals, and returns the output
Passes: TypeAlias = Generator[Sums, Totals, Published]


def clipped_by_name(design: Design, published: Published) -> dict[str, int]:
    """Return the published number of clipped rows of each column, or an empty dictionary if none was requested."""
    clipped = published.clipped if isinstance(published, NoisyMoments) else ()
    return dict(zip(design.clippable, clipped, strict=True)) if clipped else {}


class Mechanism(Protocol):
    """Noise distribution computed from public quantities, and a randomised algorithm that uses it."""

    @property
    def name(self) -> str:
        """Name of the mechanism, as in a release."""
        ...

    @property
    def version(self) -> str:
        """Version, which changes whenever the algorithm or its noise changes."""
        ...

    @property
    def kind(self) -> Literal["moments", "coefficients"]:
        """Whether the mechanism publishes moments or coefficients."""
        ...

    @property
    def info(self) -> MechanismInfo:
        """Description for the table of mechanisms."""
        ...

    def noise_model(
        self, design: Design, domain: RowDomain, budget: PrivacyBudget, settings: Settings
    ) -> NoiseDistribution:
        """Return the noise distribution, from public quantities only. Reject an unsupported design or budget."""
        ...

    def passes(self, context: RunContext) -> Passes:
        """Run the randomised algorithm. It must request its first sums before it draws any noise."""
        ...


# -- running -----------------------------------------------------------------------------------------------------------
# A mechanism requests sums, one pass after another, until it returns its output.


def run_passes(passes: Passes, totals: Totals, read: Callable[[Sums], Totals]) -> Published:
    """Run a mechanism to its end and return its output.

    `totals` holds the sums of the first pass, and `read` makes another pass over the table.
    """
    while True:
        try:
            wanted = passes.send(totals)
        except StopIteration as done:
            published: Published = done.value
            return published
        totals = read(wanted)


# -- promise -----------------------------------------------------------------------------------------------------------
# Conditions and additional measures of the guarantee of a release.

_CODES: Final[dict[Origin, str]] = {
    "query": "query-rows",
    "stream": "stream-rows",
    "quoted": "quoted-cells",
    "spark": "spark-rows",
}


def with_origin(guarantee: Guarantee, origin: Origin | None) -> Guarantee:
    """Add the condition of the guarantee that follows from the origin of the rows.

    The rows of a query correspond to people only if the query keeps people separate. In a file whose cells may hold
    line breaks, a misplaced quotation mark in one person's row could merge another person's row into a cell. Spark may
    evaluate parts of a plan again after it has lost an executor, and must then get the same rows.
    """
    if origin is None:
        return guarantee
    condition = sentence_of(_CODES[origin], guarantee.unit)
    return replace(guarantee, conditions=(*guarantee.conditions, condition))


def with_curve(guarantee: Guarantee, distribution: NoiseDistribution) -> Guarantee:
    """Add mu or rho to a guarantee if the noise is proved to satisfy it.

    Noise under pure DP gets neither. Under other accounting rules, only (epsilon, delta) is proved.
    """
    if distribution.family != "discrete-gaussian":
        return guarantee
    if distribution.calibration == "gaussian":
        mu, gap = lattice_curve(guarantee.epsilon, guarantee.delta)
        return replace(guarantee, mu=mu, mu_gap=gap)
    if distribution.calibration == "discrete-zcdp":
        return replace(guarantee, rho=rho_from(guarantee.epsilon, guarantee.delta))
    return guarantee
