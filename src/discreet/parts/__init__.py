"""PARTS: several curators who cannot pool their rows pool their sums, masked, and make one release.

Sees: in `making` the exact sums of one curator's rows, for as long as it takes to add noise and masks to them; in
`merging` masked sums of all of them.
Never: writes an exact sum, or two masked sums under one mask.
Hands on: parts that say nothing without all others, and from all of them a release.
"""
