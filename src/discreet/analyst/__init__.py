"""Inference from a release, at no privacy cost.

The analyst sees a release and new rows to predict, never the sensitive table. Nothing here imports `curator` or
`mechanisms`. The results are a `Fit`, or a `Path` of fits.
"""
