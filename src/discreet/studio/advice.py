"""What the library advises, in terms of screens: it names options of a command, and here there are boxes."""

from __future__ import annotations

import re
from typing import Final

#: options, commands and arguments as messages write them, and the box or the screen that does the same
BOXES: Final = {
    "pass --accept-changed-data (accept_changed_data=True)":
        "tick “The table is a newer state of the same data set” on the release page",
    "leave out refuse_shared_table=True to accept the sum":
        "tick “This table was released under another data set too” on the release page",
    "raise the budget: discreet ledger grant": "raise the budget on the ledger page",
    "raise its budget with: discreet ledger grant": "raise its budget on the ledger page",
    "with: discreet ledger init": "on the ledger page",
    "make one with: discreet ledger init (Ledger.create)": "make one on the ledger page",
    "see: discreet ledger history": "the ledger page shows all of them",
    "if that is intended, pass --allow-weak-privacy or allow_weak_privacy=True": "the studio makes no such release",
    "leave the key out to get that release again, or ask for a new release, which is paid for (--new-release)":
        "choose “no signature” to get that release again",
    "give the encoding of the file with --encoding": "write it under “Encoding” on the table page",
    "give its encoding with --encoding": "write it under “Encoding” on the table page",
    "pass --encoding utf-16": "write utf-16 under “Encoding” on the table page",
    "give the delimiter with --delimiter": "write it under “Between cells” on the table page",
    "need --decimal and --thousands": "need “Decimal character” and “Thousands character” on the table page",
    "pass --quoted-line-breaks": "tick “Quoted cells may hold line breaks” on the table page",
    "; leave the plot out": "",
    " (discreet check counts them before anything is spent)": " (the check page counts them)",
    "`discreet check`": "the check page",
    'release with moments "robust" (--robust)': "tick “Also pay for robust standard errors” on the plan page",
    'moments "robust" (--robust)': "“Also pay for robust standard errors” on the plan page",
}  # fmt: skip
# an option in brackets repeats in the command's words what was said before it
_REPEATED: Final = re.compile(r" \(--[a-z][^()]*\)")


def said(message: object) -> str:
    """An error or a note as a page says it.

    >>> said('use the penalty "bayes" (--penalty bayes)')
    'use the penalty "bayes"'
    >>> said("ask for less, or raise the budget: discreet ledger grant")
    'ask for less, or raise the budget on the ledger page'
    """
    text = str(message)
    for words, here in sorted(BOXES.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(words, here)
    return _REPEATED.sub("", text)
