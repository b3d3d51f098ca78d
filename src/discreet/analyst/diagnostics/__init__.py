"""What a careful reader should hear about a fit; warnings have their home here.

Sees: a release and a fit.
Never: a warning that needs more than what was released.
Hands on: numbered diagnostics and the sentences that summary and page print.
"""
