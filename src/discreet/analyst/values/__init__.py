"""Values that a reader gets: estimates by name, confidence sets, and what a release cannot give.

Sees: numbers.
Never: a release.
Hands on: `ByName`, `ConfidenceSet`, `NotEstimable`.
"""
