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
from discreet.releases.fields import Coefficients, StagedPart
from discreet.tables.frames import Origin

# -- protocol ----------------------------------------------------------------------------------------------------------
# A mechanism has a description, a run context, passes over the table, and an output.


@dataclass(frozen=True, slots=True)
class MechanismInfo:
    """Description of a mechanism for the mechanism table.

    Attributes
    ----------
    summary
        One line that helps to choose a mechanism.
    document
        Source of the method.
    notion
        `pure` (delta = 0 is allowed), `approximate` (delta must be above 0), or `both`.
    domain
        Declared set of rows to which the noise is calibrated.
    needs
        Requirements on a design besides bounds, as phrases.
    numerics
        `exact` or `idealised`; see `Release.numerics`.
    references
        Author and year.
    settings
        Public settings by name.
    reads_again
        Whether the mechanism reads the table more than once, or a (setting, value) pair with which it does.
    main
        For coefficients: the noisy statistic that affects them most. None if there is only one.
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
    """Public inputs of a mechanism and the source of its noise."""

    design: Design
    domain: RowDomain
    distribution: NoiseDistribution
    settings: Settings
    sampler: Sampler


@dataclass(frozen=True, slots=True)
class NoisyMoments:
    """Output of a mechanism that publishes moments. A total is None if it is not released."""

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
    """Return the published numbers of clipped rows by column, or an empty dict if they were not requested."""
    clipped = published.clipped if isinstance(published, NoisyMoments) else ()
    return dict(zip(design.clippable, clipped, strict=True)) if clipped else {}


class Mechanism(Protocol):
    """A mechanism: a noise distribution computed from public quantities, and a randomised map that uses it."""

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
        """Return the noise distribution, from public quantities only. Reject an unsupported design or budget."""
        ...

    def passes(self, context: RunContext) -> Passes:
        """Run the randomised map. The first sums must be requested before any noise is drawn."""
        ...


# -- running -----------------------------------------------------------------------------------------------------------
# A mechanism requests sums, one pass after another, until it returns its output.


def run_passes(passes: Passes, totals: Totals, read: Callable[[Sums], Totals]) -> Published:
    """Run a mechanism to its end and return its output.

    `totals` are the sums of the first pass. `read` makes another pass over the table.
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
    """Add the condition that follows from where the rows come from.

    Rows of a query are people only if the query keeps people separate. In a file whose cells may hold line breaks, a
    misplaced quote in one person's row could merge another person's row into a cell. Spark may evaluate parts of a plan
    again after losing an executor, and must then get the same rows.
    """
    if origin is None:
        return guarantee
    condition = sentence_of(_CODES[origin], guarantee.unit)
    return replace(guarantee, conditions=(*guarantee.conditions, condition))


def with_curve(guarantee: Guarantee, distribution: NoiseDistribution) -> Guarantee:
    """Add mu or rho to the guarantee if it is proved for the noise.

    Pure DP noise has neither. Under other accounting rules, only (epsilon, delta) is proved.
    """
    if distribution.family != "discrete-gaussian":
        return guarantee
    if distribution.calibration == "gaussian":
        mu, gap = lattice_curve(guarantee.epsilon, guarantee.delta)
        return replace(guarantee, mu=mu, mu_gap=gap)
    if distribution.calibration == "discrete-zcdp":
        return replace(guarantee, rho=rho_from(guarantee.epsilon, guarantee.delta))
    return guarantee
