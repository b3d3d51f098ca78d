"""Record on disk what was spent on each data set, and refuse requests that would exceed its budget.

Sees: requests (declared numbers and names), keyed fingerprints of tables, the text of releases.
Never: a row or noise. It never records a release without its spend, or returns two different releases of one request.
Provides: receipts with anchors (references to ledger events), and the spent and remaining budget.
"""

from __future__ import annotations
