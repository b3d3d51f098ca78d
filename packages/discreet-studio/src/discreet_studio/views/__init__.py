"""Implement the screens. Each module reads a form, calls public functions of `discreet` and renders a template.

Views do not decide what is private. The functions that they call do.
"""
