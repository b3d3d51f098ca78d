"""Comparison of methods on tables that their owner declares public or simulated. NOT PRIVATE.

The results are prediction errors by table, method and epsilon, as a table, a plot and CSV. Nothing here is a release.
"""
