"""Implement the command line: parse arguments, call the library, print results.

Sees: arguments, file names and the results of the library.
Never: computes a statistic, prints a cell, or reports more about an unexpected failure than its type.
Hands on: text or one JSON document on stdout, notices and one `error:` line on stderr, an exit code.
"""
