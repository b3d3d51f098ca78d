"""A catalogue of bad inputs, numbered as in the design of the product, tried through the command line and Python."""

from support.bad_inputs import containers, environment, files, parameters, releases, texts, values

TABLES = (files, texts, values, containers, parameters, environment, releases)
CASES = [case for table in TABLES for case in table.CASES]
