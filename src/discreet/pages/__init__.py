"""OUTSIDE, for people: a release and a fit as one page that anybody can open.

Sees: a release and what the analyst made of it.
Never: rows; no import from `curator` or `mechanisms`; nothing fetched, no script, nothing unescaped.
Hands on: a `ReportView` of plain values, and the page made from it.
"""
