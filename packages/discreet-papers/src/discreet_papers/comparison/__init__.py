"""Comparison of methods on tables that their owner declares public or simulated. NOT PRIVATE.

The results are prediction errors by table, method and epsilon. Nothing here is a release.
"""
