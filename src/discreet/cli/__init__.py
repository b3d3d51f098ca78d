"""The command line: parse, call, print.

Sees: arguments, file names and what the library hands back.
Never: computes a statistic, prints a cell, or says more about an unexpected failure than its type.
Hands on: text or one JSON document on stdout, notices and one `error:` line on stderr, an exit code.
"""
