"""The screens: each a module that reads a form, calls public functions and renders a template.

Sees: the workspace of one curator.
Never: decides what is private; that is for the functions it calls.
Hands on: pages.
"""
