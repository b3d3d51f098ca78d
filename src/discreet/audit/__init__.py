"""Attacks on mechanisms, primitives and user-defined methods, on synthetic or public tables.

An audit certifies lower bounds on epsilon and compares them with the claims. A membership attack measures the error
rates of the best possible attacker and compares them with those that the guarantee allows.

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
