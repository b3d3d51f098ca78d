"""Implement the screens, each as a module that reads a form, calls public functions and renders a template.

Sees: the workspace of one curator.
Never: decides what is private, which is left to the functions it calls.
Hands on: pages.
"""
