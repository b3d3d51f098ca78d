"""Render a release and a fit as one HTML page.

Sees a release and what the analyst computed from it, never rows. The page fetches nothing and runs no script.
"""
