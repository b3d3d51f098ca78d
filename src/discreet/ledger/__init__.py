"""The ledger: what was spent on a data set, kept on disk, and a filter that refuses what would exceed its budget.

Sees: requests (declared numbers and names), keyed fingerprints of tables, the text of releases that were made.
Never: a row, noise; gives a release twice different or without its spend.
Hands on: receipts with anchors; what is spent and left.
"""

from __future__ import annotations
