"""Combine the masked sums of several curators who cannot pool their rows into one release.

Sees: in `making` the exact sums of one curator's rows, until noise and masks are added; in `merging` the masked sums
of all curators.
Never: writes an exact sum, or two masked sums under one mask.
Provides: parts (masked sums) that reveal nothing unless all are added, and a release made from all parts.
"""
