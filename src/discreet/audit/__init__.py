"""AUDIT: what an attacker would try.

Sees: mechanisms and primitives as production runs them, a user's own method, synthetic tables.
Never: a sensitive table.
Hands on: certified lower bounds on epsilon beside claims, and errors of attackers beside what is allowed.

>>> from discreet.audit import audit
>>> audit(lambda table: len(table), [([1, 2], [1])], claimed=1.0, draws=1000).passed
False
"""

from __future__ import annotations

from discreet.audit.audit_result import AuditedCase, AuditResult
from discreet.audit.auditing import audit, run_audit
from discreet.audit.judging import Claim
from discreet.audit.membership import membership_attack
from discreet.audit.membership_result import Attack, MembershipResult
from discreet.audit.pairs import NeighbourPair, worst_pairs

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
