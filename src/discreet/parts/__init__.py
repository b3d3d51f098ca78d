"""Combine the masked sums of several curators who cannot pool their rows into one release.

`making` sees the exact sums of one curator's rows, until noise and masks are added. `merging` sees the masked sums of
all curators. The package never writes an exact sum, or two masked sums under one mask. It provides parts (masked sums),
which reveal nothing unless all are added, and a release made from all parts.
"""
