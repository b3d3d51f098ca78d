"""Command line: parse arguments, call the library and print results.

Commands see arguments, file names and the results of the library. They never compute a statistic, print a cell, or
report more about an unexpected failure than its type. They print text or one JSON document on stdout, and notices and
one `error:` line on stderr. They end with an exit code.
"""
