"""What attacks on membership found, beside what promises allow: in a table, as JSON and as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from discreet.audit.membership.curves import allowed_area, allowed_power, gaussian_area, own_power
from discreet.audit.membership.roc import Roc
from discreet.audit.statistics.claims import Claim

NOT_PRIVATE: Final = "least squares, NOT PRIVATE"
ONE_PERCENT: Final = 0.01
MEMBERSHIP_HEADERS: Final = (
    "published",
    "row",
    "area",
    "Gaussian",
    "allowed",
    "found at 1%",
    "Gaussian",
    "allowed",
    "verdict",
)


@dataclass(frozen=True)
class Attack:
    """One attacker: something that was published, and a row that may be in the table.

    Attributes
    ----------
    published
        What was published.
    row
        Which row the attacker asks about.
    claim
        What is promised; none for what is NOT PRIVATE.
    mu
        Distance of the two tables in standard deviations of the noise, exactly; none without noise.
    digits
        For coefficients without noise: digits from which on they differ; none for a release.
    roc
        How the attacker did.
    draws
        Releases of each of the two tables.
    """

    published: str
    row: str
    claim: Claim | None
    mu: float | None
    digits: int | None
    roc: Roc
    draws: int

    @property
    def violations(self) -> tuple[str, ...]:
        """What contradicts the promise, one sentence each."""
        return tuple(self._violations())

    @property
    def verdict(self) -> str:
        """`pass`, `violation`, or `no promise` for what is NOT PRIVATE."""
        if self.claim is None:
            return "no promise"
        return "violation" if self.violations else "pass"

    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        areas, found = self._areas(), self._found()
        numbers = [("" if one is None else f"{one:.3f}") for one in (*areas, *found)]
        return (self.published, self.row, *numbers, self.verdict)

    def to_dict(self) -> dict[str, object]:
        """The attack as plain values."""
        areas, found = self._areas(), self._found()
        claim, roc = self.claim, self.roc
        return {
            "published": self.published,
            "row": self.row,
            "private": claim is not None,
            "claimed": None if claim is None else {"epsilon": claim.epsilon, "delta": claim.delta, "mu": claim.mu},
            "mu": self.mu,
            "digits": self.digits,
            "area": dict(zip(("measured", "gaussian", "allowed"), areas, strict=True)),
            "found_at_one_percent": dict(zip(("measured", "gaussian", "allowed"), found, strict=True)),
            "false_alarms": roc.false_alarms.tolist(),
            "found": roc.found.tolist(),
            "false_alarms_limits": [roc.false_alarms_low.tolist(), roc.false_alarms_high.tolist()],
            "found_limits": [roc.found_low.tolist(), roc.found_high.tolist()],
            "draws": self.draws,
            "verdict": self.verdict,
            "violations": list(self.violations),
        }

    def _areas(self) -> tuple[float, float | None, float | None]:
        claim = self.claim
        if claim is None:
            return self.roc.area, None, None
        return self.roc.area, None if claim.mu is None else gaussian_area(claim.mu), allowed_area(claim)

    def _found(self) -> tuple[float, float | None, float | None]:
        claim = self.claim
        if claim is None:
            return self.roc.found_at_one_percent, None, None
        own = None if claim.mu is None else float(own_power(ONE_PERCENT, claim)[0])
        return self.roc.found_at_one_percent, own, float(allowed_power(ONE_PERCENT, claim)[0])

    def _violations(self) -> Iterator[str]:
        claim, roc = self.claim, self.roc
        if claim is None:
            return
        if self.mu is not None and claim.mu is not None and self.mu > claim.mu:
            yield f"the row moves the sums by {self.mu:.6g} standard deviations of the noise, claimed {claim.mu:.6g}"
        excess = roc.certified_above(claim)
        if excess.any():
            at = int(np.argmax(excess))
            allowed = float(own_power(roc.false_alarms_high[at], claim)[0])
            yield (
                f"the row is found in at least {roc.found_low[at]:.2%} of the releases at "
                f"{roc.false_alarms_high[at]:.2%} false alarms or fewer; the promise allows {allowed:.2%}"
            )


@dataclass(frozen=True)
class MembershipResult:
    """All attacks on membership.

    Attributes
    ----------
    attacks
        Without noise, NOT PRIVATE, first; then releases by epsilon; each for every row that was asked about.
    table
        Name of the public table, with a note where it is simulated.
    confidence
        All limits together are right with this probability.
    seconds
        CPU time.
    """

    attacks: tuple[Attack, ...]
    table: str
    confidence: float
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether no promise was refuted."""
        return not any(attack.violations for attack in self.attacks)

    def sentences(self) -> tuple[str, ...]:
        """Violations, what the columns say, and what a pass says."""
        wrong = [
            f"VIOLATION  {one.published}, {one.row}: {sentence}" for one in self.attacks for sentence in one.violations
        ]
        digits = [
            f"{NOT_PRIVATE}: the {one.row} shows from {one.digits} significant digits of the coefficients on."
            for one in self.attacks
            if one.digits is not None
        ]
        return (
            *wrong,
            *digits,
            f"Table: {self.table}. The attacker knows all other rows, the row itself and the law of the noise, and "
            "uses the exact likelihood ratio of what is published. Area 0.5 is guessing. Found at 1%: how often a row "
            "that is there is found, with 1% false alarms. Gaussian: the most that the mechanism's own curve allows. "
            "Allowed: the most that epsilon and delta allow.",
            f"False alarms of this audit: at most {1 - self.confidence:.2g} for all attacks together. A pass is not a "
            "proof.",
        )

    def summary(self) -> str:
        """Table, violations and explanations, as text."""
        rows = [MEMBERSHIP_HEADERS, *(attack.cells() for attack in self.attacks)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, "", *self.sentences(), ""])

    def to_dict(self) -> dict[str, object]:
        """All of it as plain values."""
        return {
            "passed": self.passed,
            "confidence": self.confidence,
            "seconds": self.seconds,
            "table": self.table,
            "attacks": [attack.to_dict() for attack in self.attacks],
            "note": self.sentences()[-1],
        }
