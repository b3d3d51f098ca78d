"""Record on disk what was spent on each data set, and refuse requests that would exceed its budget.

A ledger sees requests (declared numbers and names), keyed fingerprints of tables and the text of releases. It never
sees a row or noise. It never records a release without its spend, and never returns two different releases of one
request. It provides receipts with anchors (references to ledger events), and the spent and remaining budget.
"""

from __future__ import annotations
