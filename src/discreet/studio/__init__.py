"""STUDIO: the way from a table to a published page in a local browser.

Sees: names and types of a table, what a curator types, and what the public functions of `discreet` give.
Never: shows a cell, computes a statistic, listens to another machine, or proposes a bound.
Hands on: files in the curator's folder: a design, a release, a page, and what repeats them.
"""
