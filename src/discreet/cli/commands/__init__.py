"""One module for each command.

Sees: parsed options.
Never: another command's module, except what both print.
Hands on: text, JSON, files, an exit code.
"""
