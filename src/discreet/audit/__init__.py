"""AUDIT: what an attacker would try.

Sees: mechanisms and primitives as production runs them, a user's own method, made-up tables.
Never: a sensitive table.
Hands on: certified lower bounds on epsilon beside claims, and errors of attackers beside what is allowed.

>>> from discreet.audit import audit
>>> audit(lambda table: len(table), [([1, 2], [1])], claimed=1.0, draws=1000).passed
False
"""

from __future__ import annotations

from discreet.audit.auditing import audit
from discreet.audit.membership.attacking import membership_attack
from discreet.audit.membership.result import Attack, MembershipResult
from discreet.audit.pairs.catalogue import worst_pairs
from discreet.audit.pairs.pair import NeighbourPair
from discreet.audit.result import AuditedCase, AuditResult
from discreet.audit.running import run_audit
from discreet.audit.statistics.claims import Claim

__all__ = [
    "Attack",
    "AuditResult",
    "AuditedCase",
    "Claim",
    "MembershipResult",
    "NeighbourPair",
    "audit",
    "membership_attack",
    "run_audit",
    "worst_pairs",
]
